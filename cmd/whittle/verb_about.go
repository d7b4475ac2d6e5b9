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
)

type versionVerb struct{}

// Run prints the module's version and the Go release it was built with.
func (versionVerb) Run(s cmdline.Streams) error {
	_, err := fmt.Fprintln(s.Out, version())
	return err
}

func version() string { return cmdline.Version("whittle") }

type schemaVerb struct {
	Include bool `help:"Of a file that include: names, which has only routes:."`
}

// Help gives the examples.
func (schemaVerb) Help() string {
	return `Prints the JSON Schema of whittle.yaml, or with --include that of the files it includes. Editors use it to
complete keys, show what they are for, and mark mistakes. How keys relate to each other, only "whittle check" says.

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

type healthVerb struct {
	remote
	URL     string        `arg:"" optional:"" placeholder:"URL" help:"Ask this URL of any service instead: 200 means ready."`
	Timeout time.Duration `default:"3s" help:"How long the gateway may take to respond (${default})."`
}

// Help gives the examples.
func (healthVerb) Help() string {
	return `Asks the admin address of a running gateway (--admin, or the config's) for /readyz. It needs neither a token nor a shell, so a container without a shell can check itself.

Exit status: 0 ready; 3 not ready yet, leaving, or nothing responds.

With a URL it asks that page instead, so a service in the same image needs no health check of its own.

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
		return whittle.Errorf(whittle.Invalid, "health: give either %s or the URL %s", flag, v.URL)
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
			WithHint("to ask a gateway, write --admin HOST:PORT")
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
