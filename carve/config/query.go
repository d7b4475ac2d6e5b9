package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
)

const (
	maxQueries   = 8
	maxQueryText = 4 << 10
)

// prometheus is the server to which the routes' queries are sent.
func prometheus(p *whittle.Prometheus) value {
	token := kept{name: "token", into: &p.Token}
	keys := slices.Concat([]key{{"url", baseURL(&p.URL, "/api/v1/query"), required, "Prometheus, or anything with its HTTP API. A path is a prefix"}},
		token.keys("(none)", "the bearer token: one word of at least 16 characters"),
		[]key{{"timeout", span(&p.Timeout, 10*time.Millisecond, time.Minute), "5s", "for one query"}})
	return mapping("{url: http://127.0.0.1:9090}", func(a at) { token.secret(a) }, keys...)
}

// queries are guards on a team's own figures.
func queries(t *whittle.Route) value {
	return listOf(&t.Queries, 0, maxQueries, func(q *whittle.Query) value {
		return mapping("{name: queue, value: 'max(queue_depth)', above: 1000}", func(a at) {
			checkQuery(a, q)
			unique(a, q.Name, slices.ContainsFunc(t.Queries, func(other whittle.Query) bool { return other.Name == q.Name }))
		},
			key{"name", nameShape.of(&q.Name), required, "unique in the route"},
			key{"bad", sides(&q.Bad, true), "(none)", "for a test: counter of each side's bad events, by two queries, or by one with a `label`"},
			key{"total", sides(&q.Total, true), "(none)", "for a test: counter of all events, likewise"},
			key{"value", sides(&q.Value, false), "(none)", "for a limit rule: the candidate's figure, or both sides' as in `bad`"},
			key{"excess", percentOf(&q.Excess), "1%", "for a test: by how much the candidate's share may exceed the monolith's"},
			key{"above", limit(q, false), "(one is required with `value`)", "highest figure: a number, or a multiple of the monolith's"},
			key{"below", limit(q, true), "(one is required with `value`)", "lowest figure, likewise"},
			key{"for", count(&q.For, 1, 1000), "3", "intervals in a row beyond the limit, or without data, before it rolls back"},
			key{"every", span(&q.Every, time.Second, time.Hour), "15s", "the interval"},
			key{"no_data", choice(&q.FallWithoutData, []string{"hold", "rollback"}, false, true), "hold", "`hold`: the share does not rise; `rollback`: after `for` intervals it also falls"})
	})
}

// checkQuery refuses what is neither a test nor a limit rule.
func checkQuery(a at, q *whittle.Query) {
	bad, total, value, above, below := a.given("bad"), a.given("total"), a.given("value"), a.given("above"), a.given("below")
	const tests, rule = "bad: and total:, counters of both sides, for a test", "value: with above: or below:, for a limit rule"
	switch {
	case value == (bad || total), bad != total, bad && (above || below), value && above == below && !a.failed(""):
		a.fail("is neither a test nor a limit rule: write %s; or %s", tests, rule)
	case value && a.given("excess"):
		a.failKey("excess", "has no effect on a limit rule, which has above: or below:")
	case value && q.Ratio && q.Value.Monolith == "" && !a.failed("value"):
		a.fail("compares with the monolith's figure, which value: does not ask for: write {monolith: QUERY, candidate: QUERY}")
	}
}

// limit is a number, or a multiple of the monolith's figure.
func limit(q *whittle.Query, below bool) value {
	return value{form: func() (string, []any) {
		return "number, or multiple such as `1.2x`", []any{map[string]any{"type": "number"}, map[string]any{"type": "string", "pattern": `^-?[0-9]*\.?[0-9]+\s*x?$`}}
	}, text: func(_ at, s string) error {
		body, ratio := strings.CutSuffix(s, "x")
		v, err := strconv.ParseFloat(strings.TrimSpace(body), 64)
		if err != nil || v-v != 0 || ratio && v <= 0 {
			return fmt.Errorf("%s is neither a number such as 1000 nor a multiple of the monolith's such as 1.2x", quote(s))
		}
		q.Limit, q.Ratio, q.Below = v, ratio, below
		return nil
	}, show: func() string {
		switch {
		case q.Below != below || q.Tests():
			return ""
		case q.Ratio:
			return number(q.Limit) + "x"
		}
		return number(q.Limit)
	}}
}

// sides is a query for each side: two of them, or one whose result a label takes apart. A text
// alone is the candidate's, where not both are needed.
func sides(s *whittle.SideQuery, both bool) value {
	const like = "{monolith: QUERY, candidate: QUERY}, or {query: QUERY, label: NAME, monolith: VALUE, candidate: VALUE}"
	parse := parseQuery
	if both { // of a test
		parse = parseCounter
	}
	query := matching("query in PromQL", "", "number")
	v := mapping(like, func(a at) {
		labelled, named := a.given("query"), a.given("label")
		for key, text := range map[string]*string{"monolith": &s.Monolith, "candidate": &s.Candidate} {
			var err error
			if a.given(key) && !labelled && !named && !a.failed(key) {
				if *text, err = parse(*text); err != nil {
					a.failKey(key, "%v", err)
				}
			}
		}
		switch {
		case a.failed(""):
		case labelled != named || !a.given("candidate") || !a.given("monolith") && (both || labelled):
			a.fail("is of one side, or has query: without label:; write %s", like)
		case labelled && s.Monolith == s.Candidate:
			a.fail("gives both sides the same value of %s", s.Label)
		}
	},
		key{"query", word(&s.Both, query, parse), "(none)", "a query for both sides"},
		key{"label", text(&s.Label), "(none)", "the label that tells the sides apart"},
		key{"monolith", anyText(&s.Monolith), "(none)", "a query, or the label's value"},
		key{"candidate", anyText(&s.Candidate), required, "a query, or the label's value"})
	v.open = func() {}
	v.absent = func() bool { return *s == whittle.SideQuery{} }
	if !both {
		alone := word(&s.Candidate, query, parse)
		v.text, v.form = alone.text, alone.form
	}
	return v
}

// parseQuery reads PromQL, which only the server can check; but brackets and quotes are closed.
func parseQuery(s string) (string, error) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > maxQueryText || !balanced(s) {
		return "", fmt.Errorf("%s is not a query: write PromQL such as sum(orders_failed_total), at most 4 KiB, with all brackets and quotes closed", quote(s))
	}
	return s, nil
}

var quotedOrComment = regexp.MustCompile("\"(\\\\.|[^\"\\\\])*\"|'(\\\\.|[^'\\\\])*'|`[^`]*`|#[^\n]*")

// balanced reports whether each bracket and quote has its counterpart.
func balanced(s string) bool {
	s = strings.Map(func(c rune) rune {
		if strings.ContainsRune("()[]{}\"'`", c) {
			return c
		}
		return -1
	}, quotedOrComment.ReplaceAllString(s, ""))
	for before := ""; s != before; {
		before = s
		s = strings.NewReplacer("()", "", "[]", "", "{}", "").Replace(s)
	}
	return s == ""
}

var rateOf = regexp.MustCompile(`\b(rate|irate|increase|delta)\s*\(`)

// parseCounter reads a query for a count of events.
func parseCounter(s string) (string, error) {
	s, err := parseQuery(s)
	if m := rateOf.FindStringSubmatch(s); m != nil && err == nil {
		return "", fmt.Errorf("%s: %s() is not a counter, and a test needs counters: write the counter itself, such as sum(errors_total)", quote(s), m[1])
	}
	return s, err
}

// checkQueries holds that there is a server for them.
func (r *reader) checkQueries(f *File) {
	for i := range f.Routes {
		if len(f.Routes[i].Queries) > 0 && f.Prometheus == nil {
			r.failField(fmt.Sprintf("routes[%d].guard.query", i), "needs a server to ask: write prometheus: {url: http://127.0.0.1:9090} at the top level")
		}
	}
}
