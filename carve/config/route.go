package config

import (
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"whittle"
	"whittle/carve/gateway"
	"whittle/carve/gateway/preview"
	"whittle/carve/transcode"
	"whittle/internal/http1"
	"whittle/internal/httpfield"
)

const (
	maxRoutes = 1000
	maxSteps  = 100
)

// route is one entry of routes:.
func (f *File) route(t *whittle.Route) value {
	timeout := span(&t.Timeout, time.Millisecond, day)
	timeout.absent = func() bool { return t.Timeout == 0 }
	keys := []key{
		{"match", match(&t.Match), required, "method and path, such as `POST /Count`, `/users/{id}`, `GET /static/{rest...}`. It names the route"},
		{"header", condition(&t.Match), "(none)", "only requests with this header, such as `X-Beta=1`. It becomes part of the name"},
		{"group", nameShape.of(&t.Group), "(none)", "a user is on the candidate for all routes of a group, or for none"},
		{"timeout", timeout, "(the monolith's)", "the monolith's `timeout` on this route"},
		{"candidate", optional(&t.Candidate, func(u *whittle.Upstream) value { return candidate(t, u) }), "(none)", "the server that may replace the monolith here"},
		{"safe", boolean(&t.Safe), "false", "the request changes nothing, so it may be mirrored, repeated and retried. GET, HEAD and OPTIONS are always safe"},
		{"dry_run", optional(&t.DryRun, dryRun), "(none)", "header that tells the candidate not to carry out a mirrored write"},
		{"compare", comparison(&t.Compare), "", "what counts as the same response"},
		{"mirror", mirror(&t.Mirror), "", "how much is sent to the other side"},
		{"rollout", rolloutOf(&t.Rollout), "", "how far and how fast users are moved"},
		{"steer", optional(&t.Steer, steer), "(none)", "your own proxies split the users; whittle sets the share there"},
		{"guard", guard(t), "", "how much worse the candidate may be while users depend on it"},
		{"record", orOff(&t.Record, share(&t.Record)), "(`record.sample`)", "share of this route's exchanges that is recorded, or `off`"},
	}
	return value{block: func() block {
		return block{like: "{match: POST /Count, candidate: http://127.0.0.1:6666}", keys: keys, check: func(a at) { f.checkRoute(a, t) }, idle: func(key string) bool {
			return key == "match" || key == "header" || key == "record" && f.Record == nil || t.Candidate == nil && slices.Contains(ofCandidates, key) ||
				t.Rollout.Sink && slices.Contains([]string{"rollout", "guard"}, key)
		}}
	}}
}

// ofCandidates are the keys of a route that mean nothing without a candidate.
var ofCandidates = []string{"group", "safe", "dry_run", "mirror", "compare", "rollout", "steer", "guard"}

// checkRoute fills in what depends on other keys, and refuses what contradicts itself.
func (f *File) checkRoute(a at, t *whittle.Route) {
	t.Name = strings.TrimSpace(t.Match.Method + " " + t.Match.Pattern)
	if t.Match.HeaderName != "" {
		t.Name += " " + t.Match.HeaderName + "=" + t.Match.HeaderValue
	}
	if !a.given("record") && f.Record != nil {
		t.Record = f.Record.Sample
	} else if f.Record == nil && t.Record > 0 {
		a.failKey("record", "has no effect without record: at the top level; write record: {sample: off} there to record this route only")
	}
	if t.Candidate == nil {
		if !a.failed("candidate") {
			a.useless("on a route without a candidate; add candidate: URL, or leave it out", ofCandidates...)
		}
		*t = whittle.Route{Name: t.Name, Match: t.Match, Timeout: t.Timeout, Record: t.Record}
		return
	}
	if t.Compare.Kind == whittle.Statistical && !a.given("mirror.repeat_every") {
		// A repeat shows what the monolith changes by itself. Where responses are random, the
		// pairs show that.
		t.Mirror.RepeatEvery = 0
	}
	if !a.given("rollout.soak") {
		t.Rollout.Soak = min(soak, soakSteps*t.Rollout.Hold)
	}
	if t.Steer != nil {
		checkSteer(a, t, f.observes())
	}
	t.Mirror.Once = a.given("mirror.repeat_every") && t.Mirror.RepeatEvery == 0
	checkHeaders(a, t)
	checkExcuses(a, t)
	if t.RPC == nil || a.failed("candidate") {
		return
	}
	if _, err := transcode.New(*t.RPC); err != nil {
		field := ""
		if e, ok := errors.AsType[*whittle.Error](err); ok {
			field = e.Field
		}
		// protobuf's errors have a no-break space in every other build, so that nobody relies on
		// their text.
		a.failKey(field, "%s", strings.ReplaceAll(err.Error(), "\u00a0", " "))
	}
}

// isSafe reports whether a route's requests may be repeated without a header that makes them
// dry runs.
func isSafe(t *whittle.Route) bool { return t.Safe || httpfield.IsSafe(t.Match.Method) }

func match(m *whittle.Match) value {
	return value{form: matching("`METHOD /path` or `/path`", `^\s*([A-Z0-9_-]+\s+)?/[^\s?#]*\s*$`), text: func(_ at, s string) error {
		got, err := parseMatch(s)
		m.Method, m.Pattern = got.Method, got.Pattern
		return err
	}, show: func() string { return strings.TrimSpace(m.Method + " " + m.Pattern) }}
}

// parseMatch reads "POST /Count" or "/Count".
func parseMatch(s string) (whittle.Match, error) {
	m := whittle.Match{Pattern: strings.TrimSpace(s)}
	if !strings.HasPrefix(m.Pattern, "/") {
		if i := strings.IndexAny(m.Pattern, " \t\r\n"); i > 0 {
			m.Method, m.Pattern = m.Pattern[:i], strings.TrimSpace(m.Pattern[i:])
		}
	}
	fault := ""
	switch _, unescaped := url.PathUnescape(m.Pattern); {
	case !strings.HasPrefix(m.Pattern, "/") || len(strings.Fields(m.Pattern)) != 1:
		fault = "the path does not begin with /, or has a space in it: write POST /Count, or /Count for every method, whatever the host"
	case strings.ContainsFunc(m.Pattern, isUnseen):
		fault = "it has an invisible character: leave it out, or write it as clients send it, such as %C2%AD"
	case isForeign(m.Pattern):
		fault = "a wildcard is {id} here, or {rest...} for all that follows; escape any other sign that routers read as one, such as %3A for a colon"
	case m.Method != "" && strings.Trim(m.Method, plainLetters) != "" || m.Method == http.MethodConnect || slices.Contains([]string{"ANY", "ALL"}, strings.ToUpper(m.Method)):
		fault = "a route has one method, or none for every method; write two routes for two methods"
	case m.Method != strings.ToUpper(m.Method):
		fault = "methods are upper case: write " + strings.ToUpper(m.Method) + " " + m.Pattern
	case strings.ContainsAny(m.Pattern, "?#"):
		fault = "a path pattern has no query and no fragment"
	case unescaped != nil:
		fault = "a percent sign begins an escape such as %20, and is itself written %25"
	default:
		if _, err := gateway.NewMatcher([]whittle.Route{{Match: m}}); err != nil {
			fault = err.Error()
		}
	}
	if fault != "" {
		return whittle.Match{}, fmt.Errorf("%s: %s", quote(s), fault)
	}
	return m, nil
}

var (
	wildcard = regexp.MustCompile(`^\{(\$|[A-Za-z_]\w*(\.\.\.)?)\}$`)
	// strange is what only the wildcards of other routers and regular expressions have: ":id",
	// "*", "{id:[0-9]+}", "{id?}", "<id>", "[id]". It would at best match its own letters. A
	// colon behind a letter is none of it: "items:get" is a plain name.
	strange = regexp.MustCompile(`[*<>\\^|{}]|(^|[^\w%]):[A-Za-z_]|\][+?]|^\[|\.\+|.\$$`)
)

// isForeign reports whether a path pattern is in another router's spelling.
func isForeign(pattern string) bool {
	return slices.ContainsFunc(strings.Split(pattern, "/"), func(part string) bool {
		return !wildcard.MatchString(part) && strange.MatchString(part)
	})
}

// condition reads "X-Beta=1" into a canonical name and a value.
func condition(m *whittle.Match) value {
	return value{form: matching("`NAME=VALUE`", `^[^=\s]+\s*=`), text: func(_ at, s string) error {
		name, value, ok := strings.Cut(s, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || !http1.IsToken(name) || value == "" || value[0] == '=' || !http1.IsValue(value) ||
			strings.ContainsFunc(value, isUnseen) || strings.ContainsAny(name[len(name)-1:], "!~^$*") {
			return fmt.Errorf("%s is not a header condition: write NAME=VALUE, such as X-Beta=1", quote(s))
		}
		if name = textproto.CanonicalMIMEHeaderKey(name); slices.Contains(unseen, name) {
			return fmt.Errorf("%s: %s is not among the headers that a route sees, so no request would match", quote(s), name)
		}
		m.HeaderName, m.HeaderValue = name, value
		return nil
	}, show: func() string { return strings.TrimSuffix(m.HeaderName+"="+m.HeaderValue, "=") }}
}

// dryRun is one header and its value.
func dryRun(d *whittle.DryRunHeader) value {
	v := anyText(&d.Value)
	return value{names: &names{
		like: "one header and its value, such as {X-Dry-Run: yes}", least: 1, most: 1, sample: "X-Dry-Run", clear: func() {},
		entry: func(name string) (value, func(), error) {
			d.Header = textproto.CanonicalMIMEHeaderKey(name)
			switch {
			case !http1.IsToken(name):
				return v, nil, fmt.Errorf("%s is not a header; write one such as X-Dry-Run", quote(name))
			case slices.Contains(ofConnections, d.Header):
				return v, nil, fmt.Errorf("%s never reaches the candidate, which would carry out every mirrored write", d.Header)
			}
			return word(&d.Value, matching("text", "", "number", "boolean"), func(s string) (string, error) {
				if s == "" || !http1.IsValue(s) {
					return "", fmt.Errorf("%s is not a header's value", quote(s))
				}
				return s, nil
			}), func() {}, nil
		},
	}, show: func() string { return "{" + d.Header + ": " + d.Value + "}" }}
}

func mirror(m *whittle.Mirror) value {
	return mapping("{sample: 100%, watch: 5%}", func(a at) {
		if m.MaxBody > m.MaxMemory {
			a.failKey("max_memory", "%s is too little for even one body of max_body, %s", size(m.MaxMemory), size(m.MaxBody))
		}
	},
		key{"sample", share(&m.Sample), "100%", "share of users whose requests are mirrored"},
		key{"watch", share(&m.Watch), "5%", "share of the candidate's requests that also go to the monolith, to compare them"},
		key{"queue", count(&m.Queue, 1, maxNum), "1024", "exchanges that may wait; more are shed"},
		key{"concurrency", count(&m.Concurrency, 1, 10_000), "32", "mirrored calls at once"},
		key{"max_body", amount(&m.MaxBody, 1, 64*mib), "256KiB", "longest body that is copied; others are not compared"},
		key{"max_memory", amount(&m.MaxMemory, mib, 64*gib), "64MiB", "memory for the route's copies"},
		key{"shed_above", multipleOrOff(&m.ShedAbove), "3x", "sheds while the monolith's median latency is above this multiple of that without mirroring"},
		key{"repeat_every", count(&m.RepeatEvery, 0, maxNum), "20", "one in so many mirrored requests goes to the monolith twice, to learn noise; 0: none. `statistical` repeats only if this is set"})
}

// A rollout's soak is this long by default, but at most this many times its hold.
const (
	soak      = 5 * time.Minute
	soakSteps = 10
)

func rolloutOf(p *whittle.Rollout) value {
	return mapping("{steps: [1, 5, 25, 50, 100], hold: 30s}", func(a at) {
		for i, s := range p.Steps {
			if i > 0 && s <= p.Steps[i-1] {
				a.failKey(fmt.Sprintf("steps[%d]", i), "%s does not rise above the step before it, %s; steps go up", percent(s.Percent()/100), percent(p.Steps[i-1].Percent()/100))
			}
		}
		if p.Preview != nil && (p.Sticky.Name == preview.Field || p.Sticky.Name == preview.Cookie) {
			a.failKey("sticky_by", "%s carries the token of a preview, which is removed from every request: write another name", p.Sticky.Name)
		}
	},
		key{"auto", boolean(&p.Auto), "true", "shifts by itself on evidence; `false`: only by `whittle promote`"},
		key{"steps", listOf(&p.Steps, 1, maxSteps, func(s *whittle.Share) value {
			return scalar(s, func() (string, []any) {
				words, schemas := between("number", 0.01, 100)()
				_, more := inPercent()
				return words, append(schemas, more...)
			}, ParseStep, func(s whittle.Share) string { return number(s.Percent()) })
		}), "[1, 5, 25, 50, 100]", "shares in percent, rising"},
		key{"hold", span(&p.Hold, 0, 30*day), "30s", "shortest time of a step"},
		key{"soak", span(&p.Soak, 0, 30*day), "(`5m`, or ten times `hold` where that is less)", "how many different seconds need a comparison before the second step"},
		key{"min_requests", count(&p.MinRequests, 0, 1_000_000_000), "50", "requests that the candidate must serve in a step"},
		key{"harm", orOff(&p.Harm, scalar(&p.Harm, inPercent, parseHarm, percent)), "0.5%", "harm budget: share of the route's requests that may get a wrong response"},
		key{
			"unseen", choice(&p.Unseen, []string{"monolith", "shift"}, whittle.UnseenMonolith, whittle.UnseenShift), "monolith",
			"who serves requests of a shape never compared, while the share rises; `shift`: the user's side",
		},
		key{"sticky_by", sticky(&p.Sticky), "address", "what identifies a user. Behind a proxy, `address` needs `forwarded.trust`"},
		key{"retry", orOff(&p.Retry, span(&p.Retry, time.Second, 30*day)), "off", "time after a rollback until it may shift by itself; `off`: only by `whittle promote`"},
		key{"gates", gates(p), "(none)", "what a step waits for"},
		key{"preview", optional(&p.Preview, previewOf), "(none)", "testers' requests go to the candidate by a signed token"})
}

func guard(t *whittle.Route) value {
	g := &t.Guard
	v := mapping("{errors: 1%, p99: 1.5x, mismatch: 0.1%}", nil,
		key{"errors", percentOf(&g.Errors), "1%", "by how much the candidate's share of 5xx or missing responses may exceed the monolith's"},
		key{"p99", multipleOrOff(&g.P99), "1.5x", "limit of the 99th percentile of latency, as a multiple of the monolith's"},
		key{"mismatch", percentOf(&g.Mismatch), "0.1%", "share of compared exchanges that may differ unexpectedly"},
		key{"confidence", confidence(&g.Confidence), "0.99", "chance that these guards never roll back an equal candidate"},
		key{"consecutive", count(&g.Consecutive, 1, 1000), "5", "bad responses in a row that trip the circuit breaker"},
		key{"exposure", count(&g.Exposure, 1, 100_000), "50", "users' requests that may be on the candidate without a good response since"},
		key{"query", queries(t), "(none)", "guards on your own metrics in Prometheus"})
	of := v.block
	v.block = func() block {
		b := of()
		b.idle = func(key string) bool {
			return t.Steer != nil && (key == "exposure" || key == "consecutive" && !t.Rollout.Observed)
		}
		return b
	}
	return v
}

// previewOf says how testers' requests go to the candidate.
func previewOf(v *whittle.Preview) value {
	secret := kept{name: "key", into: &v.Key}
	return mapping("{key_file: FILE} or {key_env: NAME}", func(a at) {
		if !secret.secret(a) {
			a.fail("has no key to sign with: write key_file: FILE or key_env: NAME; whoever has the key can send requests to the candidate")
		}
	}, append(secret.keys("(one is required)", "the signing key: one word of at least 16 characters"),
		key{"after_rollback", boolean(&v.AfterRollback), "false", "tokens also work after a rollback or a trip"})...)
}
