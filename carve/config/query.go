package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/internal/units"
)

const (
	maxQueries   = 8
	maxQueryText = 4 << 10
)

// prometheus reads which server the routes' queries are sent to.
func (r *reader) prometheus(o *object, f *File, files folder) {
	c, ok := o.child("prometheus", "{url: http://127.0.0.1:9090}")
	if !ok {
		return
	}
	p := &whittle.Prometheus{Timeout: 5 * time.Second}
	c.need(read(c, "url", "a URL such as http://127.0.0.1:9090", &p.URL, func(s string) (string, error) { return parseBase(s, "/api/v1/query") }),
		"url", "write url: http://127.0.0.1:9090")
	r.secret(c, "token", &p.Token, files)
	c.duration("timeout", &p.Timeout, 10*time.Millisecond, time.Minute)
	c.done()
	f.Prometheus = p
}

// queries reads the guardrails on a team's own figures.
func (r *reader) queries(c *object, route *whittle.Route) {
	c.list("query", "[{name: queue, value: 'max(queue_depth)', above: 1000}]", maxQueries, func(n *node, path string) {
		o, ok := r.object(n, path, "{name: queue, value: 'max(queue_depth)', above: 1000}")
		if !ok {
			return
		}
		q := whittle.Query{For: 3, Every: 15 * time.Second}
		o.name(&q.Name, "queue")
		r.figures(o, &q)
		o.count("for", &q.For, 1, 1000)
		o.duration("every", &q.Every, time.Second, time.Hour)
		choose(o, "no_data", &q.FallWithoutData, []string{"hold", "rollback"}, false, true)
		o.done()
		o.unique(q.Name, "query of this route", slices.ContainsFunc(route.Queries, func(other whittle.Query) bool { return other.Name == q.Name }))
		route.Queries = append(route.Queries, q)
	})
}

// figures reads a query's PromQL and its limit.
func (r *reader) figures(o *object, q *whittle.Query) {
	bad, total, value := r.sides(o, "bad", &q.Bad, true), r.sides(o, "total", &q.Total, true), r.sides(o, "value", &q.Value, false)
	q.Excess = 0.01
	o.percent("excess", &q.Excess)
	above, below := r.limit(o, "above", q), r.limit(o, "below", q)
	q.Below = below
	const tests, rule = "bad: and total:, counters of both sides", "value: with above: or below:"
	switch {
	case value && (bad || total):
		r.fail(o.n.at, o.path, "has %s, and %s; a query is a test or a limit rule, not both", tests, rule)
	case bad != total:
		r.fail(o.n.at, o.path, "needs %s: how many events were bad, of how many", tests)
	case !bad && !value:
		r.fail(o.n.at, o.path, "asks for nothing: write %s, for a test; or %s, for a limit rule", tests, rule)
	case bad && (above || below):
		r.fail(o.n.at, o.path, "is a test, which has excess: and no above: or below:")
	case value && o.given("excess"):
		r.failField(o.sub("excess"), "has no effect on a limit rule, which has above: or below:")
	case value && above == below && !r.failed(o.path):
		r.fail(o.n.at, o.path, "is a limit rule, which has one of above: and below:")
	case value && q.Ratio && q.Value.Monolith == "" && !r.failed(o.sub("value")):
		r.fail(o.n.at, o.path, "is held against a multiple of the monolith's figure, which value: does not ask for: write {monolith: QUERY, candidate: QUERY}")
	}
}

// limit reads a number, or a multiple of the monolith's figure. It reports whether there
// is one.
func (r *reader) limit(o *object, key string, q *whittle.Query) bool {
	return read(o, key, "a number such as 1000, or a multiple of the monolith's such as 1.2x", &q.Limit, func(s string) (float64, error) {
		body, ratio := strings.CutSuffix(s, "x")
		v, err := strconv.ParseFloat(strings.TrimSpace(body), 64)
		if err != nil || v-v != 0 || ratio && v <= 0 {
			return 0, fmt.Errorf("%s is neither a number such as 1000 nor a multiple of the monolith's such as 1.2x", quote(s))
		}
		q.Ratio = ratio
		return v, nil
	})
}

// sides reads a query for each side: two of them, or one whose result a label takes
// apart. A text alone is the candidate's. It reports whether it was given.
func (r *reader) sides(o *object, key string, s *whittle.SideQuery, both bool) bool {
	const want = "{monolith: QUERY, candidate: QUERY}, or {query: QUERY, label: NAME, monolith: VALUE, candidate: VALUE}"
	n, ok := o.get(key)
	if !ok {
		return o.given(key)
	}
	if n.kind != isMapping {
		if both {
			r.fail(n.at, o.sub(key), "is of one side; write %s", want)
			return true
		}
		readNode(r, n, o.sub(key), "a query in PromQL, or "+want, &s.Candidate, parseQuery)
		return true
	}
	c, _ := r.object(n, o.sub(key), want)
	query := parseQuery
	if both { // of a test
		query = parseCounter
	}
	labelled := read(c, "query", "a query in PromQL", &s.Both, query)
	named := c.text("label", &s.Label)
	parse := query
	if labelled || named {
		parse = func(s string) (string, error) { return s, nil }
	}
	m := read(c, "monolith", "a query in PromQL, or a label's value", &s.Monolith, parse)
	k := read(c, "candidate", "a query in PromQL, or a label's value", &s.Candidate, parse)
	c.done()
	switch {
	case r.failed(c.path):
	case labelled != named:
		r.fail(n.at, c.path, "has query: or label: without the other; write %s", want)
	case !k || !m && (both || labelled):
		r.fail(n.at, c.path, "is of one side; write %s", want)
	case labelled && s.Monolith == s.Candidate:
		r.fail(n.at, c.path, "gives both sides the same value of %s", s.Label)
	}
	return true
}

// parseQuery reads PromQL, which only the server can check.
func parseQuery(s string) (string, error) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > maxQueryText {
		return "", fmt.Errorf("%s is not a query: write PromQL such as sum(orders_failed_total), at most 4 KiB", quote(s))
	}
	if open := unclosed(s); open != "" {
		return "", fmt.Errorf("%s is not a query: %s has no counterpart", quote(s), open)
	}
	return s, nil
}

// unclosed gives the first bracket or quote of a query without its counterpart; "": there is
// none.
func unclosed(s string) string {
	var open []byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '(', '[', '{':
			open = append(open, c)
		case ')', ']', '}':
			if len(open) == 0 || open[len(open)-1] != c-1 && open[len(open)-1] != c-2 {
				return string(c)
			}
			open = open[:len(open)-1]
		case '"', '\'', '`':
			end := i + 1
			for end < len(s) && s[end] != c {
				if s[end] == '\\' && c != '`' {
					end++
				}
				end++
			}
			if i = end; end >= len(s) {
				return string(c)
			}
		case '#': // a comment
			for i < len(s) && s[i] != '\n' {
				i++
			}
		}
	}
	if len(open) > 0 {
		return string(open[0])
	}
	return ""
}

var rateOf = regexp.MustCompile(`\b(rate|irate|increase|delta)\s*\(`)

// parseCounter reads a query for a count of events.
func parseCounter(s string) (string, error) {
	s, err := parseQuery(s)
	if m := rateOf.FindStringSubmatch(s); m != nil && err == nil {
		return "", fmt.Errorf("%s: %s() is no counter, and a test goes by what is counted from one reading to the next: write the counter itself, such as sum(errors_total)", quote(s), m[1])
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

func describeQueries(b *strings.Builder, route *whittle.Route) {
	for i := range route.Queries {
		q := &route.Queries[i]
		without := "without data the share does not rise"
		if q.FallWithoutData {
			without = fmt.Sprintf("without data in %d intervals in a row back to the monolith", q.For)
		}
		if q.Tests() {
			line(b, "", "query %s, every %s: the candidate's share of bad events at most %s above the monolith's, by a sequential test; %s", q.Name, units.Span(q.Every), percent(q.Excess), without)
			continue
		}
		word, of := "above", ""
		if q.Below {
			word = "below"
		}
		if q.Ratio {
			of = "x the monolith's"
		}
		line(b, "", "query %s, every %s: not %s %s%s in %d intervals in a row, a limit rule without an error rate; %s", q.Name, units.Span(q.Every), word, number(q.Limit), of, q.For, without)
	}
}

func (f *File) describePrometheus(b *strings.Builder) {
	if p := f.Prometheus; p != nil {
		token := ""
		if p.Token != "" {
			token = ", with a token"
		}
		line(b, "prometheus", "%s%s, %s for a query", p.URL, token, units.Span(p.Timeout))
	}
}
