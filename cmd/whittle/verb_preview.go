package main

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"whittle"
	"whittle/carve/config"
	"whittle/carve/gateway/preview"
	"whittle/cmdline"
)

type previewVerb struct {
	Route  string        `arg:"" help:"The route, as the config names it: \"POST /Count\"."`
	For    time.Duration `default:"1h" placeholder:"DURATION" help:"How long the token is valid (${default}), at most 720h."`
	Config string        `short:"c" default:"whittle.yaml" placeholder:"FILE" help:"The config with the route and its key (${default})."`
}

// Help gives the examples.
func (previewVerb) Help() string {
	return `Signs a token with the key of the route's rollout.preview. A request that carries the token goes to the
candidate at any share, in shadow too. Its response has the header X-Whittle-Preview: candidate. The token is a secret
until it expires: whoever has it can use it. A new key in the config ends all tokens.

Examples:
  whittle preview "POST /Count" --for 1h
  whittle preview "GET /users/{id}" --for 15m -c staging.yaml`
}

// maxPreview is the longest time for which a token is signed.
const maxPreview = 30 * 24 * time.Hour

// Run prints the header, the cookie and a command that uses it.
func (v *previewVerb) Run(s cmdline.Streams) error {
	f, err := readConfig(v.Config)
	if err != nil {
		return err
	}
	if v.For < time.Second || v.For > maxPreview {
		return whittle.Errorf(whittle.Invalid, "--for %s is out of range: from 1s to 720h", v.For)
	}
	route, err := previewed(f, v.Route)
	if err != nil {
		return err
	}
	p := route.Rollout.Preview
	until := time.Now().Add(v.For).Truncate(time.Second)
	token := preview.Sign(p.Key, route.Name, until)
	fmt.Fprintf(s.Out, "header   %s: %s\n", preview.Field, token)
	fmt.Fprintf(s.Out, "cookie   %s=%s; Path=%s; Max-Age=%d; SameSite=Lax\n", preview.Cookie, token, cookiePath(route.Match.Pattern), int(v.For.Seconds()))
	fmt.Fprintf(s.Out, "until    %s\n", until.Local().Format("2006-01-02 15:04:05 MST"))
	fmt.Fprintf(s.Out, "curl     %s\n", curl(f, route, preview.Field+": "+token))
	return nil
}

// previewed finds a route that has previews.
func previewed(f *config.File, name string) (*whittle.Route, error) {
	var with []string
	for i := range f.Routes {
		r := &f.Routes[i]
		switch {
		case r.Name == name && r.Rollout.Preview != nil:
			return r, nil
		case r.Name == name:
			return nil, whittle.Errorf(whittle.FailedPrecondition, "%s has no preview", name).
				WithHint("write rollout: {preview: {key_file: FILE}} into " + f.Path)
		case r.Rollout.Preview != nil:
			with = append(with, r.Name)
		}
	}
	return nil, whittle.Errorf(whittle.NotFound, "%s has no route %q", f.Path, name).
		WithHint("routes with a preview: " + cmp.Or(strings.Join(with, ", "), "none"))
}

// cookiePath is the longest path that all of a pattern's begin with.
func cookiePath(pattern string) string {
	if i := strings.IndexByte(pattern, '{'); i >= 0 {
		return pattern[:i]
	}
	return pattern
}

// curl is a command that asks the gateway, as its config says where it is.
func curl(f *config.File, r *whittle.Route, header string) string {
	served := slices.IndexFunc(f.Listen, func(l config.Listener) bool { return l.Unix == "" && l.Redirect == nil })
	if served < 0 {
		return "" // none that curl can reach by a URL
	}
	l := &f.Listen[served]
	host, port, err := net.SplitHostPort(l.Address)
	if err != nil {
		return "" // the config was checked
	}
	if host == "" || net.ParseIP(host).IsUnspecified() {
		host = "127.0.0.1"
	}
	scheme := "http"
	if l.TLS != nil {
		scheme = "https"
	}
	args := []string{"curl", "-i", "-H", quoted(header)}
	if r.Match.HeaderName != "" {
		args = append(args, "-H", quoted(r.Match.HeaderName+": "+r.Match.HeaderValue))
	}
	if r.Match.Method != "" && r.Match.Method != http.MethodGet {
		args = append(args, "-X", r.Match.Method)
	}
	target := strings.TrimSuffix(r.Match.Pattern, "{$}")
	if strings.ContainsAny(target, "{}[]") {
		args = append(args, "--globoff") // or curl asks for what it makes of the braces
	}
	return strings.Join(append(args, quoted(scheme+"://"+net.JoinHostPort(host, port)+target)), " ")
}

// quoted is a word for a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
