package scaffold

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"whittle"
	"whittle/carve/compare"
	"whittle/carve/config"
	"whittle/carve/transcode"
	"whittle/contract"
	"whittle/internal/httpfield"
)

// gatewayConfig is the project's whittle.yaml, safe to run unchanged.
func (v *view) gatewayConfig() []byte {
	return fmt.Appendf(nil, `# The gateway in front of the monolith and of this service:
#   whittle check -c whittle.yaml    every route in words
#   whittle run -c whittle.yaml      users then ask port 8080
# It is written once: what you change here stays.
listen: 127.0.0.1:8080
admin: 127.0.0.1:8081
monolith: %s
include: %s
`, quoted(v.Monolith), routesName)
}

// gatewayRoutes is the project's routes.yaml: a route for each method.
func (v *view) gatewayRoutes() []byte {
	var b strings.Builder
	b.WriteString(`# This service's routes. A gateway that has routes already includes this file:
#   include: services/*/routes.yaml
# It is written once: what you change here stays.
routes:
`)
	for i := range v.Methods {
		v.route(&b, &v.Methods[i])
	}
	return []byte(b.String())
}

func (v *view) route(b *strings.Builder, m *method) {
	match := m.HTTP.Method + " " + m.HTTP.Pattern
	if strings.ContainsAny(match, ":#&*!|>'\"%@") {
		match = quoted(match) // these mean something in YAML
	}
	fmt.Fprintf(b, "  - match: %s\n", match)
	fmt.Fprintf(b, "    candidate:\n      url: http://127.0.0.1:%d\n", servicePort)
	fmt.Fprintf(b, "      rpc:\n        protocol: twirp\n        descriptor: %s.binpb\n        method: %s/%s\n", v.Name, v.FullService, m.Proto)
	if len(m.Words) > 0 {
		b.WriteString("        words:\n")
		for _, w := range m.Words {
			fmt.Fprintf(b, "          %s: %s\n", w.Name, quoted(w.JSON))
		}
	}
	v.routeRequest(b, m)
	v.response(b, m)
	v.promises(b, m)
}

// routeRequest is written where names or bodies are not the gateway's defaults.
func (v *view) routeRequest(b *strings.Builder, m *method) {
	var s strings.Builder
	switch m.HTTP.Body.Form {
	case contract.Whole, contract.Text:
		fmt.Fprintf(&s, "        body: %s\n", quoted(m.HTTP.Body.Field))
	case contract.Form:
		s.WriteString("        content: form\n")
	}
	for _, names := range []struct {
		key string
		of  []contract.Parameter
	}{{"query", m.HTTP.Query}, {"path", m.HTTP.Path}, {"form", m.HTTP.Body.Pairs}} {
		lines := ""
		for _, p := range names.of {
			// A named parameter is read with a body too, and no body says it.
			if p.Name != p.Field || names.key == "query" && (m.HTTP.Body.Form != contract.NoBody || !httpfield.IsSafe(m.HTTP.Method)) {
				lines += fmt.Sprintf("          %s: %s\n", quoted(p.Name), quoted(p.Field))
			}
		}
		if lines != "" {
			s.WriteString("        " + names.key + ":\n" + lines)
		}
	}
	// What the contract has no field for would not reach the monolith through
	// the service.
	b.WriteString("      request:\n" + s.String() + "        unknown: refuse\n        loss: refuse\n")
	writeUnset(b, &m.HTTP.Body.Unset)
}

func (v *view) response(b *strings.Builder, m *method) {
	a := &m.HTTP.Response
	b.WriteString("      response:\n")
	if a.Form == contract.Text {
		fmt.Fprintf(b, "        template: %s\n", quoted(templateOf(a.Parts)))
	}
	switch {
	case a.Form == contract.Whole:
		fmt.Fprintf(b, "        body: %s\n", quoted(a.Field))
	case a.Form == contract.NoBody && a.Status != 204 && a.Status != 205:
		b.WriteString("        template: '{{\"\"}}'   # nothing\n")
	}
	switch {
	case a.ContentType != "":
		fmt.Fprintf(b, "        content_type: %s\n", quoted(a.ContentType))
	case a.Status != 204 && a.Status != 205:
		fmt.Fprintf(b, "        content_type: %s\n", whittle.NoContentType)
	}
	if a.Status != 0 && a.Status != 200 {
		fmt.Fprintf(b, "        status: %d\n", a.Status)
	}
	writeUnset(b, &a.Unset)
	b.WriteString("        failures: verbatim\n")
}

func writeUnset(b *strings.Builder, u *contract.Unset) {
	for _, l := range []struct {
		key   string
		paths []string
	}{{"nulls", u.Nulls}, {"absent", u.Omits}} {
		if len(l.paths) > 0 {
			fmt.Fprintf(b, "        %s: [%s]\n", l.key, quotedAll(l.paths))
		}
	}
}

// promises are what the gateway may mirror and how it compares.
func (v *view) promises(b *strings.Builder, m *method) {
	switch {
	case httpfield.IsSafe(m.HTTP.Method):
	case m.Safe:
		b.WriteString("    safe: true                        # it changes nothing, so it may be mirrored\n")
	default:
		fmt.Fprintf(b, `    # %s may change something, so nothing is mirrored and no evidence comes. Say
    #   safe: true                        if it changes nothing after all, or
    #   dry_run: {X-Dry-Run: "yes"}       once the service has logic of its own
    #                                     that does not mean a request with it
`, m.HTTP.Method)
	}
	c := m.Compare
	if c.Kind == "" {
		c.Kind = whittle.JSON
		if m.HTTP.Response.Form == contract.Text || m.HTTP.Response.Form == contract.NoBody {
			c.Kind = whittle.Exact
		}
	}
	fmt.Fprintf(b, "    compare:\n      kind: %s\n", c.Kind)
	if c.Kind == whittle.Statistical {
		if c.Value != "" {
			fmt.Fprintf(b, "      value: %s\n", quoted(c.Value))
		}
		if c.Per != "" {
			fmt.Fprintf(b, "      per: %s\n", quoted(c.Per))
		}
	}
	if len(c.Ignore) > 0 {
		fmt.Fprintf(b, "      ignore: [%s]   # they differed between responses to one request\n", quotedAll(c.Ignore))
	}
	if c.Kind == whittle.JSON && len(c.Unordered) > 0 {
		fmt.Fprintf(b, "      unordered: [%s]\n", quotedAll(c.Unordered))
	}
	b.WriteString(`    rollout:
      steps: [1, 5, 25, 50, 100]
      hold: 30s
      sticky_by: header:X-User        # what distinguishes users; name your own header or cookie
    guard:
      errors: 1%
      p99: off                        # while the monolith responds through the service, each response
                                      # takes two ways; 1.5x once there is logic of its own
      mismatch: 0.1%
`)
}

// templateOf writes a text's parts for text/template.
func templateOf(parts []contract.Part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Field != "" {
			b.WriteString("{{." + p.Field + "}}")
			continue
		}
		b.WriteString(opening.ReplaceAllString(p.Literal, `{{"$0"}}`))
	}
	return b.String()
}

// opening finds the braces of a literal that would begin an action, or would
// together with those of the action behind it.
var opening = regexp.MustCompile(`\{\{+|\{$`)

// quoted is a value of the config: JSON's strings are YAML's, and a dollar
// before a brace is doubled, since it would name a variable.
func quoted(s string) string {
	text, err := jsonText(s)
	if err != nil {
		return `""`
	}
	return strings.ReplaceAll(printable(text), "${", "$${")
}

// printable escapes, in a JSON string, what YAML does not have in a text.
func printable(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r >= 0x7f && r < 0xa0 || r == 0xfeff || r == 0xfffe || r == 0xffff {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func quotedAll(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = quoted(s)
	}
	return strings.Join(out, ", ")
}

const (
	configName = "whittle.yaml"
	routesName = "routes.yaml"
)

// readConfig reads a project's config as the gateway does when it starts: the
// file, its routes' contracts, templates and comparisons.
func readConfig(dir string) (*config.File, error) {
	f, err := config.Load(filepath.Join(dir, configName))
	if err != nil {
		return nil, err
	}
	for _, r := range f.Routes {
		if r.RPC != nil {
			if _, err := transcode.New(*r.RPC, transcode.Pattern(r.Match.Pattern)); err != nil {
				return nil, whittle.Errorf(whittle.CodeOf(err), "%s: %w", r.Name, err)
			}
		}
		if _, err := compare.NewJudge(r.Compare); err != nil {
			return nil, whittle.Errorf(whittle.CodeOf(err), "%s: %w", r.Name, err)
		}
	}
	return f, nil
}

// holdConfig reads the config that was made, so that a project is not called
// good whose gateway does not start. What a person has changed is theirs.
func (p *Project) holdConfig() error {
	if slices.Contains(p.Kept, configName) || slices.Contains(p.Kept, routesName) {
		return nil
	}
	if _, err := readConfig(p.Dir); err != nil {
		return whittle.Errorf(whittle.Internal, "read the %s that was made: %w", configName, err).
			WithHint("this is a mistake of whittle new: please report it. Fix the file by hand and run the same command again; it then stays as you made it")
	}
	return nil
}
