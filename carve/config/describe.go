package config

import (
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"whittle"
	"whittle/internal/units"
)

// Describe writes in words how every route will be treated, with all defaults
// in force, and the warnings. The first error of w ends it.
func (f *File) Describe(w io.Writer) error {
	var b strings.Builder
	f.describeServer(&b)
	for i := range f.Routes {
		b.WriteByte('\n')
		f.describeRoute(&b, &f.Routes[i])
		if r := &f.Routes[i]; f.Record != nil && r.Record != f.Record.Sample {
			line(&b, "recorded", "%s", recorded(r.Record))
		}
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

func line(b *strings.Builder, name, format string, args ...any) {
	fmt.Fprintf(b, "  %-10s ", name)
	fmt.Fprintf(b, format, args...)
	b.WriteByte('\n')
}

func (f *File) describeServer(b *strings.Builder) {
	fmt.Fprintf(b, "%s\n", f.Path)
	for i := range f.Listen {
		l := &f.Listen[i]
		line(b, [...]string{"listen", ""}[min(i, 1)], "%s, %s", l.Address, l.describe())
	}
	switch {
	case f.Admin == "":
		line(b, "admin", "off")
	case f.AdminToken != "":
		line(b, "admin", "%s, with a token", f.Admin)
	default:
		line(b, "admin", "%s, without a token", f.Admin)
	}
	line(b, "monolith", "%s", describeUpstream(&f.Monolith))
	describeInstances(b, &f.Monolith)
	line(b, "state", "%s", f.State)
	f.describeFleet(b)
	for _, s := range f.sources[min(1, len(f.sources)):] {
		line(b, "include", "%s", s.name)
	}
	l := f.Limits
	body := "any length"
	if l.BodyBytes >= 0 {
		body = "at most " + size(l.BodyBytes)
	}
	buffers := "off"
	if l.BuffersBytes >= 0 {
		buffers = size(l.BufferBytes) + " each and " + size(l.BuffersBytes) + " in all"
	}
	line(b, "limits", "%d connections, header %s in %s, body %s and never still for %s, idle %s, %d streams, upgraded and silent %s, copies %s, buffers %s, %s to finish at the end",
		l.Connections, size(int64(l.HeaderBytes)), units.Span(l.HeaderTimeout), body, units.Span(l.StallTimeout), units.Span(l.IdleTimeout), l.Streams, units.Span(l.UpgradeIdle), size(l.CopyBytes), buffers, units.Span(l.Grace))
	leave := "new connections are refused at once"
	if f.Drain.LameDuck > 0 {
		leave = fmt.Sprintf("for %s /readyz fails and new connections are still served", units.Span(f.Drain.LameDuck))
	}
	line(b, "drain", "%s; upgraded connections have %s", leave, units.Span(f.Drain.Upgraded))
	line(b, "clients", "%s", describeClients(&f.Clients))
	trust := "believed from nobody"
	if len(f.Forwarded.Trust) > 0 {
		trust = "believed from"
		for _, p := range f.Forwarded.Trust {
			trust += " " + p.String()
		}
	}
	line(b, "forwarded", "%s", trust)
	if f.Underscores {
		line(b, "headers", "names with an underscore are passed on")
	}
	if f.Trace.Endpoint == "" {
		line(b, "trace", "context passed on, nothing exported")
	} else {
		line(b, "trace", "%s of requests to %s", percent(f.Trace.Sample.Percent()/100), f.Trace.Endpoint)
	}
	line(b, "log", "%s and above, as %s", strings.ToLower(f.Log.Level.String()), f.Log.Format)
	f.describeNotices(b)
	f.describeAccess(b)
	f.describePrometheus(b)
	f.describeRecord(b)
	line(b, "otherwise", "every request without a route passes to the monolith untouched")
}

func (f *File) describeAccess(b *strings.Builder) {
	a := f.Access
	if a == nil {
		return
	}
	where, which := "into the log", "each request"
	if a.File != "" {
		where = "into " + a.File
	}
	if a.Sample > 1 {
		which = fmt.Sprintf("each request that failed and 1 in %d others", a.Sample)
	}
	line(b, "access", "%s %s: %s", which, where, strings.Join(a.Fields, ", "))
	if a.RequestID != "" {
		also := ""
		if a.Respond {
			also = ", in responses too"
		}
		line(b, "", "named by %s%s", a.RequestID, also)
	}
}

// describe says what a listener speaks.
func (l *Listener) describe() string {
	s := "plain HTTP/1.1 and HTTP/2"
	switch {
	case l.Redirect != nil:
		s = fmt.Sprintf("requests are sent to HTTPS on port %d by %d", l.Redirect.Port, l.Redirect.Status)
	case l.TLS != nil:
		s = "TLS with " + l.TLS.Cert
		if l.TLS.Cert == "" {
			s = "TLS with the certificates in " + l.TLS.Folder
		} else if l.TLS.Folder != "" {
			s += ", and by host those in " + l.TLS.Folder
		}
		if l.TLS.MinVersion == tls.VersionTLS13 {
			s += ", 1.3 or later"
		}
		if l.TLS.ClientCA != "" {
			show := ", clients show a certificate of "
			if l.TLS.ClientOptional {
				show = ", clients may show a certificate of "
			}
			s += show + l.TLS.ClientCA
		}
	}
	for i, p := range l.Proxies {
		s += [...]string{", after a PROXY protocol header of ", " "}[min(i, 1)] + p.String()
	}
	if l.Mode != 0 {
		s += fmt.Sprintf(", mode %04o", l.Mode)
	}
	return s
}

func (f *File) describeRoute(b *strings.Builder, r *whittle.Route) {
	fmt.Fprintf(b, "%s\n", r.Name)
	if r.Rate.PerSecond > 0 {
		line(b, "rate", "of each client %s", describeRate(&r.Rate))
	}
	if r.Timeout > 0 {
		line(b, "timeout", "%s for the monolith's first byte", units.Span(r.Timeout))
	}
	if r.Candidate == nil {
		line(b, "candidate", "none: passes to the monolith untouched")
		return
	}
	line(b, "candidate", "%s, %s for a mirrored call, responses held up to %s", describeUpstream(r.Candidate), units.Span(r.Candidate.Timeout), size(r.Candidate.MaxResponse))
	describeInstances(b, r.Candidate)
	if r.RPC != nil {
		describeRPC(b, r.RPC)
	}
	describeMirror(b, r)
	describeCompare(b, &r.Compare)
	describeHarm(b, r)
	describeRollout(b, &r.Rollout, r.Mirror.Sample > 0 && mirrored(r) != notMirrored)
	describeGates(b, &r.Rollout)
	describePreview(b, r.Rollout.Preview)
	if r.Rollout.Sticky.By == "address" {
		line(b, "users", "%s", f.addresses())
	}
	g := &r.Guard
	p99 := "latency is not guarded"
	if g.P99 > 0 {
		p99 = fmt.Sprintf("p99 at most %sx the monolith's", number(g.P99))
	}
	line(b, "guard", "bad responses at most %s above the monolith's; %s; mismatches at most %s", percent(g.Errors), p99, percent(g.Mismatch))
	if g.CPU > 0 {
		line(b, "", "CPU per request at most %sx the monolith's, by %s", number(g.CPU), r.Candidate.Metrics)
	}
	line(b, "", "confidence %s; %d bad responses in a row, or %d requests with no good response since, are a hard breach",
		percent(g.Confidence), g.Consecutive, g.Exposure)
	describeQueries(b, r)
}

func describeRPC(b *strings.Builder, rpc *whittle.RPC) {
	line(b, "rpc", "%s %s%s", rpc.Protocol, rpc.Method, prefix(rpc.Prefix))
	request := ""
	switch {
	case rpc.Content == whittle.BodyForm:
		request = "its body is a form"
	case rpc.Content == whittle.BodyIgnored:
		request = "its body is not looked at"
	case rpc.Body != "":
		request = "its body is the field " + rpc.Body
	}
	for _, names := range []struct {
		what string
		of   map[string]string
	}{{"query parameter", rpc.Query}, {"wildcard", rpc.Path}, {"form value", rpc.Form}} {
		for _, name := range slices.Sorted(maps.Keys(names.of)) {
			if request != "" {
				request += "; "
			}
			request += fmt.Sprintf("%s %s is %s", names.what, name, names.of[name])
		}
	}
	if request != "" {
		line(b, "request", "%s", request)
	}
	if rpc.Strict {
		line(b, "unknown", "requests with names that the message has no field for are the monolith's")
	}
	if rpc.Lossless {
		line(b, "loss", "requests that the message cannot hold as they are are the monolith's")
	}
	response := "JSON"
	switch {
	case rpc.Template != "":
		response = fmt.Sprintf("template %q", rpc.Template)
	case rpc.Response != "":
		response = "the field " + rpc.Response
	}
	if len(rpc.Nulls) > 0 {
		response += ", null where unset: " + strings.Join(rpc.Nulls, ", ")
	}
	if len(rpc.Absent) > 0 {
		response += ", left out where empty: " + strings.Join(rpc.Absent, ", ")
	}
	contentType := rpc.ContentType
	if contentType == whittle.NoContentType {
		contentType = "without a content type"
	}
	line(b, "response", "%d %s, %s", rpc.Status, contentType, response)
	if rpc.Verbatim {
		line(b, "failures", "word for word, where an error carries them; else by the error's code")
	}
	if len(rpc.Words) > 0 {
		line(b, "words", "%d enum values have words of their own", len(rpc.Words))
	}
}

func prefix(p string) string {
	if p == "" || p == "/" {
		return ""
	}
	return " under " + p
}

func describeMirror(b *strings.Builder, r *whittle.Route) {
	m := &r.Mirror
	why := mirrored(r)
	if m.Sample == 0 || why == notMirrored {
		if m.Sample == 0 {
			why = "never: the sample is 0%"
		}
		line(b, "mirrored", "%s", why)
		return
	}
	line(b, "mirrored", "%s of the users, %s", percent(m.Sample.Percent()/100), why)
	shed := "never shed for the monolith's latency"
	if m.ShedAbove > 0 {
		shed = fmt.Sprintf("shed while the monolith is above %sx its usual latency", number(m.ShedAbove))
	}
	line(b, "", "bodies up to %s, %s in all, %d at once, %d waiting; %s", size(m.MaxBody), size(m.MaxMemory), m.Concurrency, m.Queue, shed)
	repeat := "no repeats"
	switch {
	case m.Once:
		repeat = "nothing is sent to the monolith a second time"
	case m.RepeatEvery > 0:
		repeat = fmt.Sprintf("1 in %d repeated to the monolith to learn what changes by itself", m.RepeatEvery)
	}
	line(b, "", "%s of what the candidate serves is watched against the monolith; %s", percent(m.Watch.Percent()/100), repeat)
}

const notMirrored = "never: the method may change something, and the route says neither safe nor dry_run"

// mirrored says why a route's requests are mirrored, or why not.
func mirrored(r *whittle.Route) string {
	switch {
	case r.Safe:
		return "since the route says that nothing is changed"
	case isSafe(*r):
		return "since " + r.Match.Method + " changes nothing"
	case r.DryRun != nil:
		return fmt.Sprintf("with %s: %s, which tells the candidate not to mean it", r.DryRun.Header, r.DryRun.Value)
	case r.Match.Method == "":
		return "GET, HEAD and OPTIONS only; other methods may change something"
	}
	return notMirrored
}

func describeCompare(b *strings.Builder, c *whittle.Comparison) {
	switch c.Kind {
	case whittle.Statistical:
		per := ""
		if c.Per != "" {
			per = " per " + c.Per
		}
		line(b, "compared", "statistical: %s%s, the same distribution", c.Value, per)
		line(b, "", "margins: mean %s, spread %sx, distribution %s", percent(c.Margin.Mean), number(c.Margin.Spread), number(c.Margin.Distribution))
	case whittle.JSON:
		line(b, "compared", "json: the same structure and values%s", jsonRules(c))
	default:
		line(b, "compared", "exact: the same bytes%s", ignoredTexts(c))
	}
	line(b, "", "headers: %s", comparedHeaders(c))
	differ := ""
	if c.Kind != whittle.Statistical {
		differ = ", none of which may differ unexplained"
		if c.MaxDiffer > 0 {
			differ = fmt.Sprintf(", fewer than %s of which may differ", percent(c.MaxDiffer))
		}
	}
	line(b, "", "EQUIVALENT after at least %d exchanges%s, at confidence %s", c.MinCompared, differ, percent(c.Confidence))
	for _, e := range c.Expect {
		line(b, "", "expected: %s", expected(e))
	}
}

// comparedHeaders says which headers are compared.
func comparedHeaders(c *whittle.Comparison) string {
	switch {
	case !c.AllHeaders && len(c.Headers) == 0:
		return "none"
	case !c.AllHeaders:
		return strings.Join(c.Headers, ", ")
	}
	s := "all but those that servers add by themselves"
	if len(c.ExceptHeaders) > 0 {
		s = "all but " + strings.Join(c.ExceptHeaders, ", ") + " and those that servers add by themselves"
	}
	if len(c.Headers) > 0 {
		s += "; also " + strings.Join(c.Headers, ", ")
	}
	return s
}

func jsonRules(c *whittle.Comparison) string {
	s := ""
	if len(c.Ignore) > 0 {
		s += ", but " + strings.Join(c.Ignore, ", ")
	}
	if len(c.Unordered) > 0 {
		s += "; in any order: " + strings.Join(c.Unordered, ", ")
	}
	if c.Tolerance > 0 {
		s += "; numbers within " + percent(c.Tolerance)
	}
	if c.LearnNoise {
		s += "; what the monolith changes by itself is learned and compared by form"
	}
	s += ignoredTexts(c)
	for i, f := range c.Forms {
		s += [...]string{"; by form: ", ", "}[min(i, 1)] + f.Path + " " + f.Form
	}
	return s
}

// ignoredTexts says which parts of texts are not compared.
func ignoredTexts(c *whittle.Comparison) string {
	if len(c.IgnoreText) == 0 {
		return ""
	}
	return "; of texts not what matches " + strings.Join(c.IgnoreText, " or ")
}

// addresses says which address distinguishes users.
func (f *File) addresses() string {
	if len(f.Forwarded.Trust) == 0 {
		return "distinguished by the connection's address, so that behind a proxy all are one; name the proxy under forwarded.trust, or a header or cookie in sticky_by"
	}
	return "distinguished by the connection's address, or by the one that a proxy in forwarded.trust has the request from"
}

func describeRollout(b *strings.Builder, p *whittle.Rollout, evidence bool) {
	steps := make([]string, len(p.Steps))
	for i, s := range p.Steps {
		steps[i] = number(s.Percent())
	}
	when := "by hand"
	switch {
	case p.Auto && evidence:
		when = "by itself on evidence"
	case p.Auto:
		when = "by hand, since nothing is mirrored and no evidence comes"
	}
	by := p.Sticky.By
	if p.Sticky.Name != "" {
		by += " " + p.Sticky.Name
	}
	line(b, "shifted", "%s: %s %%, each for at least %s and %d requests; a user stays by %s", when, strings.Join(steps, " → "), units.Span(p.Hold), p.MinRequests, by)
	if p.Auto && evidence && p.Soak > 0 && len(p.Steps) > 1 {
		line(b, "", "it rises above %s %% after responses were compared in %d different seconds", steps[0], int(p.Soak.Seconds()))
	}
	again := "only by hand"
	if p.Retry > 0 {
		again = "by itself after " + units.Span(p.Retry)
	}
	line(b, "", "after a rollback it shifts again %s", again)
}
