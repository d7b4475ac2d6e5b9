package config

import (
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"whittle"
	"whittle/internal/http1"
)

const (
	maxRoutes = 1000
	maxSteps  = 100
)

// route reads one entry of routes:. It reports false where the entry is not
// even a mapping; its other faults are in r.problems.
func (r *reader) route(n *node, path string, f *File, files folder) (whittle.Route, bool) {
	o, ok := r.object(n, path, "match: and candidate:")
	if !ok {
		return whittle.Route{}, false
	}
	route := withDefaults()
	r.match(o, &route)
	o.duration("timeout", &route.Timeout, time.Millisecond, day)
	r.candidate(o, &route, files)
	o.flag("safe", &route.Safe)
	r.dryRun(o, &route)
	r.compare(o, &route.Compare)
	r.checkHeaders(o.sub("compare"), &route)
	if route.Compare.Kind == whittle.Statistical {
		// A repeat shows what the monolith changes by itself. Where responses are random,
		// the pairs show that.
		route.Mirror.RepeatEvery = 0
	}
	r.mirror(o, &route.Mirror)
	r.rollout(o, &route.Rollout, files)
	r.guard(o, &route)
	r.checkExcuses(o, &route)
	r.checkCPU(o, &route, &f.Monolith)
	r.routeRecord(o, f, &route)
	r.rate(o, &route.Rate)
	o.done()
	if route.Candidate == nil && !r.failed(o.sub("candidate")) {
		o.useless("on a route without a candidate; add candidate: URL, or leave it out", "safe", "dry_run", "mirror", "compare", "rollout", "guard")
		return whittle.Route{Name: route.Name, Match: route.Match, Timeout: route.Timeout, Record: route.Record, Rate: route.Rate}, true
	}
	return route, true
}

// withDefaults is a route about which the config says nothing.
func withDefaults() whittle.Route {
	return whittle.Route{
		Mirror: whittle.Mirror{
			Sample: whittle.All, Watch: whittle.Percent(5), Queue: 1024, Concurrency: 32,
			MaxBody: 256 * kib, MaxMemory: 64 * mib, ShedAbove: 3, RepeatEvery: 20,
		},
		Compare: whittle.Comparison{
			Kind: whittle.JSON, AllHeaders: true, LearnNoise: true, Value: "number in the body",
			Margin:     whittle.Margin{Mean: 0.005, Spread: 1.25, Distribution: 0.1},
			Confidence: 0.99, MinCompared: 300,
		},
		Rollout: whittle.Rollout{
			Auto: true, Steps: []whittle.Share{100, 500, 2500, 5000, whittle.All},
			Hold: 30 * time.Second, MinRequests: 50, Soak: soak, Sticky: whittle.Sticky{By: "address"},
			Harm: 0.005, Unseen: whittle.UnseenMonolith,
		},
		Guard: whittle.Guard{
			Errors: 0.01, P99: 1.5, Mismatch: 0.001, Confidence: 0.99, Consecutive: 5, Exposure: 50,
		},
	}
}

// A rollout's soak is this long by default, but at most this many times its hold.
const (
	soak      = 5 * time.Minute
	soakSteps = 10
)

// match reads "POST /Count" and the header condition, and names the route.
func (r *reader) match(o *object, route *whittle.Route) {
	o.need(read(o, "match", "a method and a path such as POST /Count", &route.Match, parseMatch), "match", "write match: POST /Count")
	route.Name = strings.TrimSpace(route.Match.Method + " " + route.Match.Pattern)
	var header [2]string
	if read(o, "header", "a header condition such as X-Beta=1", &header, parseHeader) {
		route.Match.HeaderName, route.Match.HeaderValue = header[0], header[1]
		route.Name += " " + header[0] + "=" + header[1]
	}
}

// parseMatch reads "POST /Count" or "/Count".
func parseMatch(s string) (whittle.Match, error) {
	m := whittle.Match{Pattern: strings.TrimSpace(s)}
	if !strings.HasPrefix(m.Pattern, "/") {
		if i := strings.IndexAny(m.Pattern, " \t\r\n"); i > 0 {
			m.Method, m.Pattern = m.Pattern[:i], strings.TrimSpace(m.Pattern[i:])
		}
	}
	if err := foreignPattern(m.Pattern); err != nil {
		return m, err
	}
	switch {
	case strings.ContainsFunc(m.Pattern, isUnseen):
		return m, fmt.Errorf("%s has a character in it that nobody sees: leave it out, or write it as clients send it, such as %%C2%%AD", quote(s))
	case m.Pattern == "" || len(strings.Fields(m.Pattern)) > 1:
		return m, fmt.Errorf("%s is not a match: write POST /Count, or /Count for every method", quote(s))
	case hostBefore(m.Pattern) != "":
		return m, fmt.Errorf("%s: the path does not begin with /, and a route goes by method and path, whatever the host: write %s", quote(s), strings.TrimSpace(m.Method+" "+hostBefore(m.Pattern)))
	case !strings.HasPrefix(m.Pattern, "/"):
		return m, fmt.Errorf("%s: the path does not begin with /: write POST /Count, or /Count for every method", quote(s))
	case m.Method == "*" || strings.EqualFold(m.Method, "ANY") || strings.EqualFold(m.Method, "ALL"):
		return m, fmt.Errorf("%s: %s is not a method: write %s alone for every method", quote(s), quote(m.Method), m.Pattern)
	case m.Method != "" && strings.Trim(m.Method, plainLetters) != "":
		return m, fmt.Errorf("%s: %s is not a method: a route has one, or none for every method; write two routes for two methods", quote(s), quote(m.Method))
	case m.Method == http.MethodConnect:
		return m, fmt.Errorf("%s: %s is not a method that can be routed", quote(s), quote(m.Method))
	case m.Method != strings.ToUpper(m.Method):
		return m, fmt.Errorf("%s: methods are upper case: write %s %s", quote(s), strings.ToUpper(m.Method), m.Pattern)
	case strings.ContainsAny(m.Pattern, "?#"):
		return m, fmt.Errorf("%s: a path pattern has no query and no fragment", quote(s))
	}
	if _, err := url.PathUnescape(m.Pattern); err != nil {
		return m, fmt.Errorf("%s: a percent sign begins an escape such as %%20, and is itself written %%25", quote(s))
	}
	if err := tryPattern(m.Pattern); err != nil {
		return m, fmt.Errorf("%s is not a path pattern: %w", quote(m.Pattern), err)
	}
	return m, nil
}

// isUnseen reports whether a character is invisible.
func isUnseen(c rune) bool { return unicode.IsControl(c) || unicode.Is(unicode.Cf, c) }

// hostBefore gives the path behind a host, as in example.com/a and http://example.com/a; "":
// there is no host.
func hostBefore(pattern string) string {
	_, rest, url := strings.Cut(pattern, "://")
	if !url {
		rest = pattern
	}
	host, path, ok := strings.Cut(rest, "/")
	if name, _, _ := strings.Cut(host, ":"); !ok || !url && !strings.Contains(name, ".") || name == "" || hostFault(name) != "" {
		return ""
	}
	return "/" + path
}

// plainLetters are those of every registered method, and of a host's name. A token may have others,
// but "GET|POST" is one as well, and no request has that method.
const plainLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// parseHeader reads "X-Beta=1" into a canonical name and a value.
func parseHeader(s string) ([2]string, error) {
	name, value, ok := strings.Cut(s, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok || !http1.IsToken(name) || value == "" || !http1.IsValue(value) {
		return [2]string{}, fmt.Errorf("%s is not a header condition: write NAME=VALUE, such as X-Beta=1", quote(s))
	}
	if strings.ContainsAny(name[len(name)-1:], "!~^$*") || value[0] == '=' {
		return [2]string{}, fmt.Errorf("%s: a condition is that a header has a value: write NAME=VALUE, such as X-Beta=1", quote(s))
	}
	if strings.ContainsFunc(value, isUnseen) {
		return [2]string{}, fmt.Errorf("%s has a character in it that nobody sees: leave it out", quote(s))
	}
	name = textproto.CanonicalMIMEHeaderKey(name)
	if slices.Contains(unseen, name) {
		return [2]string{}, fmt.Errorf("%s: %s is none of the fields that a route sees, so no request has it; routes go by method, path and the other fields", quote(s), name)
	}
	return [2]string{name, value}, nil
}

// unseen are the fields that are taken out of a request's header as it is read.
var unseen = []string{"Host", "Transfer-Encoding", "Expect"}

// ofConnections are the fields that never reach an upstream as they are given: they belong to
// a connection, or are written anew.
var ofConnections = append([]string{
	"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authorization", "Te", "Trailer", "Upgrade", "Content-Length",
}, unseen...)

// ofUsers are the fields that a header on a mirrored request had better not replace.
var ofUsers = []string{"Accept", "Accept-Encoding", "Accept-Language", "Authorization", "Content-Encoding", "Content-Type", "Cookie", "Forwarded", "Origin", "Range", "Referer", "User-Agent"}

// dryRun reads a mapping of one header to its value.
func (r *reader) dryRun(o *object, route *whittle.Route) {
	const want = "one header and its value, such as {X-Dry-Run: yes}"
	c, ok := o.child("dry_run", want)
	if !ok {
		return
	}
	if len(c.n.entries) != 1 {
		r.fail(c.n.at, c.path, "is not a header; write %s", want)
		return
	}
	e := c.n.entries[0]
	value, ok := r.scalar(e.value, c.sub(e.key), want)
	if !ok {
		return
	}
	if !http1.IsToken(e.key) || value == "" || !http1.IsValue(value) {
		r.fail(e.at, o.sub("dry_run"), "%s is not a header; write %s", quote(e.key+": "+value), want)
		return
	}
	name := textproto.CanonicalMIMEHeaderKey(e.key)
	if slices.Contains(ofConnections, name) {
		r.fail(e.at, o.sub("dry_run"), "%s never reaches the candidate, which would mean every mirrored request; write %s", name, want)
		return
	}
	route.DryRun = &whittle.DryRunHeader{Header: name, Value: value}
}

func (r *reader) mirror(o *object, m *whittle.Mirror) {
	c, ok := o.child("mirror", "{sample: 100%, watch: 5%}")
	if !ok {
		return
	}
	c.share("sample", &m.Sample)
	c.share("watch", &m.Watch)
	c.count("queue", &m.Queue, 1, maxNum)
	c.count("concurrency", &m.Concurrency, 1, 10_000)
	c.size("max_body", &m.MaxBody, 1, 64*mib)
	c.size("max_memory", &m.MaxMemory, mib, 64*gib)
	c.multiple("shed_above", &m.ShedAbove, true)
	c.count("repeat_every", &m.RepeatEvery, 0, maxNum)
	m.Once = c.given("repeat_every") && m.RepeatEvery == 0
	c.done()
	if m.MaxBody > m.MaxMemory {
		r.failField(c.sub("max_memory"), "%s holds not even one body of max_body: %s", size(m.MaxMemory), size(m.MaxBody))
	}
}

func (r *reader) rollout(o *object, p *whittle.Rollout, files folder) {
	c, ok := o.child("rollout", "{steps: [1, 5, 25, 50, 100], hold: 30s}")
	if !ok {
		return
	}
	c.flag("auto", &p.Auto)
	var steps []whittle.Share
	if c.list("steps", "[1, 5, 25, 50, 100]", maxSteps, func(n *node, path string) {
		var s whittle.Share
		if !readNode(r, n, path, "a share in percent", &s, func(s string) (whittle.Share, error) { return parseShare(s, true) }) {
			return
		}
		switch {
		case s == 0:
			r.fail(n.at, path, "a step of 0%% shifts nothing; the shadow phase comes before the first step by itself")
		case len(steps) > 0 && s <= steps[len(steps)-1]:
			r.fail(n.at, path, "%s does not rise above the step before it, %s; steps go up", percent(s.Percent()/100), percent(steps[len(steps)-1].Percent()/100))
		}
		steps = append(steps, s)
	}) {
		if p.Steps = steps; len(steps) == 0 && !r.failed(c.sub("steps")) {
			r.failField(c.sub("steps"), "is empty; write [100] to shift all at once, or leave it out for [1, 5, 25, 50, 100]")
		}
	}
	c.duration("hold", &p.Hold, 0, 30*day)
	p.Soak = min(soak, soakSteps*p.Hold)
	c.duration("soak", &p.Soak, 0, 30*day)
	c.count("min_requests", &p.MinRequests, 0, 1_000_000_000)
	read(c, "harm", "a percentage such as 0.5%, or off", &p.Harm, orOff(parseHarm))
	choose(c, "unseen", &p.Unseen, []string{"monolith", "shift"}, whittle.UnseenMonolith, whittle.UnseenShift)
	read(c, "sticky_by", "header:NAME, cookie:NAME or address", &p.Sticky, parseSticky)
	if p.Sticky.By == "header" {
		p.Sticky.Name = textproto.CanonicalMIMEHeaderKey(p.Sticky.Name)
	}
	read(c, "retry", "a duration such as 1h, or off", &p.Retry, orOff(func(s string) (time.Duration, error) {
		return parseDuration(s, time.Second, 30*day)
	}))
	r.gates(c, p, files)
	r.preview(c, p, files)
	c.done()
}

func (r *reader) guard(o *object, route *whittle.Route) {
	g := &route.Guard
	c, ok := o.child("guard", "{errors: 1%, p99: 1.5x, mismatch: 0.1%}")
	if !ok {
		return
	}
	c.percent("errors", &g.Errors)
	c.multiple("p99", &g.P99, true)
	c.percent("mismatch", &g.Mismatch)
	c.multiple("cpu", &g.CPU, true)
	c.confidence("confidence", &g.Confidence)
	c.count("consecutive", &g.Consecutive, 1, 1000)
	c.count("exposure", &g.Exposure, 1, 100_000)
	r.queries(c, route)
	c.done()
}

func jsonPath(s string) error {
	if s == "$" || strings.HasPrefix(s, "$.") || strings.HasPrefix(s, "$[") {
		return nil
	}
	if s == "" {
		return errors.New("is empty; write a JSON path such as $.id")
	}
	path := strings.TrimLeft(s, ".$")
	if strings.HasPrefix(s, "/") { // JSON Pointer
		path = strings.ReplaceAll(s[1:], "/", ".")
	}
	return fmt.Errorf("%s is not a JSON path: write $.%s", quote(s), path)
}

// Where a preview token is looked for by default.
const (
	previewHeader = "X-Whittle-Preview"
	previewCookie = "whittle_preview"
)

// preview reads how testers' requests go to the candidate.
func (r *reader) preview(o *object, p *whittle.Rollout, files folder) {
	c, ok := o.child("preview", "{key_file: FILE} or {key_env: NAME}")
	if !ok {
		return
	}
	v := &whittle.Preview{Header: previewHeader, Cookie: previewCookie}
	if !r.secret(c, "key", &v.Key, files) {
		r.fail(c.n.at, c.path, "has no key to sign with: write key_file: FILE or key_env: NAME; whoever has the key can send requests to the candidate")
	}
	read(c, "header", "the name of a header", &v.Header, parsePreviewHeader)
	read(c, "cookie", "the name of a cookie", &v.Cookie, func(s string) (string, error) {
		switch {
		case !http1.IsToken(s):
			return "", fmt.Errorf("%s is not the name of a cookie: write one such as %s", quote(s), previewCookie)
		case p.Sticky.By == "cookie" && p.Sticky.Name == s:
			return "", fmt.Errorf("%s keeps users on one side (sticky_by), and the cookie of a preview is removed: write another name", quote(s))
		}
		return s, nil
	})
	c.flag("after_rollback", &v.AfterRollback)
	c.done()
	if p.Sticky.By == "header" && p.Sticky.Name == v.Header {
		r.failField(c.sub("header"), "%s keeps users on one side (sticky_by), and the header of a preview is removed: write another name", quote(v.Header))
	}
	p.Preview = v
}

// parsePreviewHeader reads the name of a header that has no other sense, since it is
// removed from every request.
func parsePreviewHeader(s string) (string, error) {
	name := textproto.CanonicalMIMEHeaderKey(s)
	switch {
	case !http1.IsToken(s):
		return "", fmt.Errorf("%s is not the name of a header: write one such as %s", quote(s), previewHeader)
	case strings.Contains(s, "_"):
		return "", fmt.Errorf("%s has an underscore, and many servers drop such headers: write one such as %s", quote(s), previewHeader)
	case slices.Contains([]string{"Authorization", "Cookie", "Host", "Connection", "Expect", "Upgrade", "Accept", "Forwarded", "Te", "Trailer", "Transfer-Encoding"}, name),
		strings.HasPrefix(name, "Content-"), strings.HasPrefix(name, "X-Forwarded-"):
		return "", fmt.Errorf("%s has a sense of its own, and the header of a preview is removed from every request: write one such as %s", quote(s), previewHeader)
	}
	return name, nil
}

// describePreview says who sees the candidate before its share.
func describePreview(b *strings.Builder, p *whittle.Preview) {
	if p == nil {
		return
	}
	after := "not after a rollback or a trip"
	if p.AfterRollback {
		after = "after a rollback and a trip, too"
	}
	line(b, "preview", "requests with a signed token (header %s or cookie %s) go to the candidate at any share; %s", p.Header, p.Cookie, after)
}
