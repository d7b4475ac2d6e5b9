package config

import (
	"fmt"
	"io"
	"strings"

	"whittle"
	"whittle/carve/rollout"
	"whittle/internal/units"
)

// Describe writes what is in force for the gateway and for every route, with all defaults, in
// the words of a config; what follows of it, in sentences; and the warnings. Secrets are left
// out. The first error of w ends it.
func (f *File) Describe(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", f.Path)
	describe(&b, f.config())
	for _, s := range f.sources[min(1, len(f.sources)):] {
		line(&b, "include", "%s", s.name)
	}
	if f.behind() && !f.sinks() && !f.observes() {
		line(&b, "proxies", "every promise holds behind a proxy that repeats no write, keeps idle connections for less than %s, and %s", units.Span(f.Limits.IdleTimeout), f.checkedBy())
	} else if !f.behind() {
		line(&b, "proxies", "none trusted: behind a proxy, all clients would have its address, and the application would not see HTTPS; name the proxy: forwarded: {trust: [127.0.0.1]}")
	}
	if f.sinks() || f.observes() {
		line(&b, "otherwise", "requests without a route are ignored: the proxy has already served them")
	} else {
		line(&b, "otherwise", "every request without a route passes to the monolith untouched")
	}
	for i := range f.Routes {
		t := &f.Routes[i]
		fmt.Fprintf(&b, "\n%s\n", t.Name)
		describe(&b, f.route(t))
		f.describeTreatment(&b, t)
	}
	for i, text := range f.Warnings {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "warning: %s\n", text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// checkedBy says what the checks of a proxy in front have to keep to.
func (f *File) checkedBy() string {
	switch {
	case f.Admin == "":
		return "fails over by itself when whittle ends: with admin off there is no /readyz to check"
	case f.Drain.LameDuck == 0:
		return "fails over by itself when whittle ends: drain.lame_duck leaves its checks no time"
	}
	return fmt.Sprintf("notices within %s that GET /readyz of %s fails", units.Span(f.Drain.LameDuck), f.Admin)
}

func line(b *strings.Builder, name, format string, args ...any) {
	fmt.Fprintf(b, "  %-10s ", name)
	fmt.Fprintf(b, format, args...)
	b.WriteByte('\n')
}

// describe writes a line for each key of a block.
func describe(b *strings.Builder, v value) {
	block := v.block()
	for _, k := range block.keys {
		text := k.value.shown()
		if text != "" && (block.idle == nil || !block.idle(k.name)) {
			line(b, k.name, "%s", text)
		}
	}
}

// shown is what is in force as a config has it; empty: nothing is. A block comes without its
// braces.
func (v value) shown() string {
	switch {
	case v.absent != nil && v.absent():
		return ""
	case v.show != nil:
		return v.show()
	case v.block == nil:
		return ""
	}
	b := v.block()
	var all []string
	for _, k := range b.keys {
		if text := k.value.shown(); text != "" && (b.idle == nil || !b.idle(k.name)) {
			all = append(all, k.name+": "+braced(k.value, text))
		}
	}
	return strings.Join(all, ", ")
}

// braced puts braces around what a block shows.
func braced(v value, text string) string {
	if v.show == nil && v.block != nil {
		return "{" + text + "}"
	}
	return text
}

// describeTreatment says what follows from a route's keys.
func (f *File) describeTreatment(b *strings.Builder, t *whittle.Route) {
	if t.Candidate == nil {
		line(b, "treated", "no candidate: passes to the monolith untouched")
		return
	}
	why, evidence := mirrored(t)
	line(b, "mirrored", "%s", why)
	p := &t.Rollout
	if f.sinks() {
		line(b, "asked", "both sides by whittle, in random order: twice the monolith's load for what is sampled")
	}
	if p.Sink {
		line(b, "holds", "%s", rollout.AtSink)
		return
	}
	if p.Observed {
		line(b, "asked", "the side that has not served, by whittle")
		line(b, "holds", "%s", rollout.AtObserver)
	}
	switch {
	case !p.Auto:
		line(b, "shifted", "by hand")
	case evidence:
		line(b, "shifted", "by itself on evidence")
	default:
		line(b, "shifted", "by hand, since nothing is mirrored and no evidence comes")
	}
	if t.Steer != nil {
		line(b, "users", "sent to the candidate by %s, at the share that whittle sets there", steeredBy(t.Steer))
		if !p.Observed {
			line(b, "holds", "%s", rollout.AtProxy)
			return
		}
	}
	if p.Harm > 0 {
		line(b, "steps", "%s", harmSteps(t))
	} else {
		line(b, "steps", "no harm budget: EQUIVALENT is enough for each step")
	}
	if p.Sticky.By == "address" && len(f.Forwarded.Trust) == 0 {
		line(b, "users", "told apart by the connection's address: behind a proxy, or from one load generator, all are one user; name the proxy under forwarded.trust, or a header or cookie in sticky_by")
	}
}

// mirrored says why a route's requests are mirrored, or why none is.
func mirrored(t *whittle.Route) (why string, evidence bool) {
	switch {
	case t.Mirror.Sample == 0:
		return "never: the sample is 0%", false
	case t.Safe:
		return "yes: the route says safe: true", true
	case isSafe(t):
		return "yes: " + t.Match.Method + " changes nothing", true
	case t.DryRun != nil:
		return fmt.Sprintf("with %s: %s, which tells the candidate not to carry it out", t.DryRun.Header, t.DryRun.Value), true
	case t.Match.Method == "":
		return "GET, HEAD and OPTIONS only; other methods may change something", true
	}
	return "never: the method may change something, and the route says neither safe nor dry_run", false
}
