package main

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"
	"google.golang.org/protobuf/reflect/protoreflect"

	"whittle"
	"whittle/cmdline"
	"whittle/contract"
	"whittle/contract/infer"
	"whittle/contract/scaffold"
	"whittle/contract/source"
)

type newVerb struct {
	From string `arg:"" placeholder:"SOURCE" help:"A folder that whittle record wrote, a .har file, an OpenAPI 3 document (.yaml, .json) or a .proto file."`
	To   string `required:"" placeholder:"DIR" help:"The project's folder: new, empty, or of an earlier run, whose field numbers and changed files stay."`

	Route []string `group:"The contract" sep:"none" placeholder:"ROUTE" help:"Only this endpoint, such as 'POST /Count' or 'GET /users/{id}'. Repeatable."`
	Safe  []string `group:"The contract" sep:"none" placeholder:"ROUTE" help:"This endpoint changes nothing, although its method could: it may be mirrored. Repeatable."`

	Package   string `group:"The contract" placeholder:"NAME" help:"The proto package, such as shop.v1 (from the service's name)."`
	Service   string `group:"The contract" placeholder:"NAME" help:"The service, such as ShopService (from the paths); of a .proto file, the one to use (the first)."`
	ProtoPath string `group:"The contract" name:"proto-path" placeholder:"DIR" help:"The folder in which a .proto file's imports are looked up (its own)."`

	Module   string `group:"The project" placeholder:"PATH" help:"The Go module, such as example.com/shop (the folder's name)."`
	Monolith string `group:"The project" default:"http://127.0.0.1:3000" placeholder:"URL" help:"What responds until the service has logic of its own (${default})."`
	NoBuild  bool   `group:"The project" name:"no-build" help:"Write the project without building and testing it."`
	JSON     string `group:"The project" name:"json" placeholder:"FILE" help:"Write what was inferred and made as JSON (\"-\": standard output)."`
}

// Help gives the examples.
func (newVerb) Help() string {
	return `Infers a contract from recorded exchanges, or reads it from a document, and makes a project of it: the
.proto file, a Go service over Connect, gRPC and Twirp, tests of the recorded exchanges, a Dockerfile, a config for
the gateway with routes that another config can include, and a load plan. Each guess is printed with its evidence and
kept in CONTRACT.md.

Until you write its logic, the service lets the monolith respond, so it is right from its first minute. The project does not depend on whittle. Go must be installed.

Exit status: 0 the project builds and passes its tests; 1 it does not, or the folder is somebody else's; 2 the source makes no contract; 3 could not run.

Examples:
  whittle new recorded --to shop
  whittle new recorded --to count --route 'POST /Count' --safe 'POST /Count' --monolith http://127.0.0.1:3000
  whittle new session.har --to shop --module example.com/shop --package shop.v1 --service ShopService
  whittle new openapi.yaml --to shop --no-build
  whittle new proto/shop.proto --to shop --service ShopService
  cd shop && make run          # then, in another terminal: whittle run -c whittle.yaml`
}

// Run makes the project and says what comes next.
func (v *newVerb) Run(ctx context.Context, s cmdline.Streams, flags *kong.Context) error {
	screen := cmdline.NewScreen(s, v.JSON)
	proto := strings.EqualFold(filepath.Ext(v.From), ".proto")
	if flag := cmdline.GivenOf(flags, "package"); flag != "" && proto {
		return whittle.Errorf(whittle.Invalid, "%s is not for a .proto file: %s says itself what it is called", flag, v.From)
	}
	if v.ProtoPath != "" && !proto {
		return whittle.Errorf(whittle.Invalid, "--proto-path goes with a .proto file, and %s is not one", v.From)
	}
	if u, err := url.Parse(v.Monolith); err != nil || u.Hostname() == "" || strings.HasSuffix(u.Host, ":") || u.Scheme != "http" && u.Scheme != "https" {
		return whittle.Errorf(whittle.Invalid, "--monolith %q is not a URL such as http://127.0.0.1:3000", v.Monolith)
	}
	for _, name := range []struct {
		flag, value, example string
		dots                 bool
	}{{"--package", v.Package, "shop.v1", true}, {"--service", v.Service, "ShopService", false}} {
		if name.value != "" && (!protoreflect.FullName(name.value).IsValid() || !name.dots && strings.Contains(name.value, ".")) {
			return whittle.Errorf(whittle.Invalid, "%s %q is not a name of proto: letters, digits and _, such as %s", name.flag, name.value, name.example)
		}
	}
	// A folder of somebody's, or a module that is none, is refused before a long log is read.
	before, err := scaffold.Before(v.To, v.Module)
	if err != nil {
		return err
	}
	from, err := source.Open(v.From, v.ProtoPath, v.Route)
	if err != nil {
		return err
	}
	c, err := from.Contract(ctx, screen, infer.Options{Package: v.Package, Service: v.Service, Before: before})
	if err != nil {
		return err
	}
	if err := v.amend(c); err != nil {
		return err
	}
	source.Say(screen, c, from)
	screen.Heading("Making %s", v.To)
	screen.Say("writing files, generating code")
	p, err := scaffold.Make(ctx, c, from.Entries(ctx), scaffold.Options{
		Dir: v.To, Module: v.Module, Monolith: v.Monolith, Source: from.Words(),
	})
	if err != nil {
		return err
	}
	source.SayMade(screen, p)
	if !v.NoBuild {
		err = p.Build(ctx, func(what string) { screen.Say("%s", what) })
	}
	if bad := cmdline.WriteJSON(s, v.JSON, source.NewReport(p, !v.NoBuild && err == nil)); bad != nil {
		return bad
	}
	if err != nil {
		return whittle.Errorf(whittle.FallsShort, "build the project: %w", err).
			WithHint("the project is written; go test ./... in " + v.To + " says more")
	}
	v.next(screen, p)
	return nil
}

// amend puts what a person said over what was inferred.
func (v *newVerb) amend(c *contract.Contract) error {
	for _, safe := range v.Safe {
		found := false
		for i := range c.Methods {
			if c.Methods[i].Endpoint() == safe {
				c.Methods[i].Safe, found = true, true
			}
		}
		if !found {
			return whittle.Errorf(whittle.NotFound, "--safe %q is not an endpoint of the contract", safe).
				WithHint("it has: " + strings.Join(c.Endpoints(), ", "))
		}
	}
	return nil
}

// next says how to go on.
func (v *newVerb) next(screen *cmdline.Screen, p *scaffold.Project) {
	users := "users, as they were recorded"
	if p.Exchanges == 0 {
		users = "a request of each method, made up"
	}
	screen.Heading("Next")
	steps := []struct{ do, why string }{
		{"cd " + v.To + " && make run", "the service; " + v.Monolith + " responds through it"},
		{"whittle run -c " + filepath.Join(v.To, "whittle.yaml"), "the gateway on 127.0.0.1:8080, in another terminal"},
		{"whittle load " + filepath.Join(v.To, "load.yaml"), users},
		{"include: " + filepath.Join(v.To, "routes.yaml"), "in the config of a gateway that you have already"},
		{filepath.Join(v.To, "CONTRACT.md"), "the guesses, to be read"},
		{filepath.Join(v.To, "internal", "service"), "a file for each method, for its own logic"},
	}
	width := 0
	for _, step := range steps {
		width = max(width, len(step.do))
	}
	for _, step := range steps {
		screen.Say("%-*s  %s", width, step.do, step.why)
	}
	for i := range p.Contract.Methods {
		if m := &p.Contract.Methods[i]; !m.Safe {
			screen.Say("%s may change something, so it is not mirrored: give --safe '%[1]s' if it changes nothing", m.Endpoint())
		}
	}
}
