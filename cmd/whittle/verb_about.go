package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/alecthomas/kong"

	"whittle"
	"whittle/carve/config"
	"whittle/cmdline"
	"whittle/cmdline/manual"
)

type versionVerb struct{}

// Run prints the module's version and the Go release it was built with.
func (versionVerb) Run(s cmdline.Streams) error {
	_, err := fmt.Fprintln(s.Out, version())
	return err
}

func version() string { return cmdline.Version("whittle") }

type schemaVerb struct {
	Include bool `help:"Of a file that include: names, which has routes: and nothing else."`
}

// Help gives the examples.
func (schemaVerb) Help() string {
	return `Prints the JSON Schema of whittle.yaml, or with --include of the files that it includes. By it editors complete keys, show what each is for, and mark what is wrong while it is typed. What relates one key to another is left to "whittle check".

Examples:
  whittle schema > whittle.schema.json
  sed -i '1i # yaml-language-server: $schema=whittle.schema.json' whittle.yaml
  whittle schema --include > routes.schema.json
  sed -i '1i # yaml-language-server: $schema=routes.schema.json' routes.yaml`
}

// Run prints the schema.
func (v *schemaVerb) Run(s cmdline.Streams) error {
	schema := config.Schema
	if v.Include {
		schema = config.IncludedSchema
	}
	_, err := s.Out.Write(schema())
	return err
}

type manVerb struct{}

// Help gives the examples.
func (manVerb) Help() string {
	return `Prints the manual page of section 1 with every verb and flag, made of what --help shows.

Examples:
  whittle man | man -l -
  whittle man > /usr/local/share/man/man1/whittle.1`
}

// Run prints the page.
func (manVerb) Run(s cmdline.Streams, c *kong.Context) error {
	return manual.Man(s.Out, c.Model, version(), cmdline.BuiltOn())
}

type completionVerb struct {
	Shell   string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
	Command string `default:"whittle" placeholder:"NAME" help:"The name that the program is called by (${default}), where it is another one."`
}

// Help gives the examples.
func (completionVerb) Help() string {
	return `Prints what completes verbs, flags, and the words and files that flags take.

Examples:
  source <(whittle completion bash)
  whittle completion zsh > "${fpath[1]}/_whittle"
  whittle completion fish > ~/.config/fish/completions/whittle.fish
  source <(whittle-fleet completion bash --command whittle-fleet)`
}

// Run prints the shell's script.
func (v *completionVerb) Run(s cmdline.Streams, c *kong.Context) error {
	if err := manual.Completion(s.Out, v.Shell, v.Command, c.Model); err != nil {
		return whittle.Errorf(whittle.Invalid, "--command: %w", err)
	}
	return nil
}

type healthVerb struct {
	remote
	URL     string        `arg:"" optional:"" placeholder:"URL" help:"Ask this page of any service instead: a status of 200 is ready."`
	Timeout time.Duration `default:"3s" help:"How long the gateway may take to respond (${default})."`
}

// Help gives the examples.
func (healthVerb) Help() string {
	return `Asks the admin address of a running gateway, by --admin or its config, for /readyz. It needs no token and no shell, so a container without one can check itself.

Exit status: 0 ready; 3 not ready yet, leaving, or nothing responds.

With a URL it asks that page, so a service next to it in an image needs no health check of its own.

Examples:
  whittle health --admin 127.0.0.1:8081
  whittle health http://127.0.0.1:8091/readyz
  HEALTHCHECK CMD ["/usr/bin/whittle", "health", "--admin", "127.0.0.1:8081"]`
}

// Run asks once.
func (v *healthVerb) Run(ctx context.Context, s cmdline.Streams, c *kong.Context) error {
	if v.Timeout <= 0 {
		return whittle.Errorf(whittle.Invalid, "--timeout %s is not above 0", v.Timeout)
	}
	if flag := cmdline.GivenOf(c, "admin", "token", "config"); flag != "" && v.URL != "" {
		return whittle.Errorf(whittle.Invalid, "health: either the gateway is asked, by %s, or the page %s", flag, v.URL)
	}
	ctx, cancel := context.WithTimeout(ctx, v.Timeout)
	defer cancel()
	if v.URL != "" {
		return v.page(ctx, s)
	}
	client, err := v.dial()
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.Ready(ctx); err != nil {
		return err
	}
	fmt.Fprintln(s.Out, "ready")
	return nil
}

// page asks a page once, without going where it redirects to.
func (v *healthVerb) page(ctx context.Context, s cmdline.Streams) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.URL, nil)
	if err != nil || req.URL.Host == "" || req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return whittle.Errorf(whittle.Invalid, "%q is not a URL such as http://127.0.0.1:8091/readyz", v.URL).
			WithHint("a gateway is asked by --admin HOST:PORT")
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return whittle.Errorf(whittle.Unavailable, "no service responds at %s: %w", v.URL, errors.Unwrap(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return whittle.Errorf(whittle.Unavailable, "%s responds with %s", v.URL, resp.Status)
	}
	fmt.Fprintln(s.Out, "ready")
	return nil
}

type demoVerb struct{}

// Help says why the demos are elsewhere.
func (demoVerb) Help() string {
	return `The demos need a checkout of whittle's repository: they build and start its worked systems. This binary does not hold them.

Examples:
  make demo            # carve the count endpoint: flaws refused, shift, break, rollback, live
  make demo-fleet      # the same with three gateways, the one that leads killed in the middle
  make demo-emojify    # profile a service, name the line, take it out, guard against its return
  make demo-ingest     # events onto a stream, Go next to Node.js, every one read back`
}

// Run prints where the demos are.
func (v demoVerb) Run(s cmdline.Streams) error {
	fmt.Fprintln(s.Out, v.Help())
	return nil
}
