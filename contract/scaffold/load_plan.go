package scaffold

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"whittle/contract"
	"whittle/load/plan"
	"whittle/record/capture"
)

// A user of the plan sends about perUser requests, so that the rate stays what it
// is however many inputs there are. maxPlan bounds all of them, in bytes: what
// is left of a plan's own bound is for the rest of it. With maxBraces expressions
// a request is read in no time, with many more in minutes.
const (
	perUser   = 8
	maxPlan   = plan.MaxBytes / 4 * 3
	maxBraces = 1000
)

// request is one of the plan's, as its text has it.
type request struct {
	text  string
	input capture.RequestKey
}

// loadPlan is an Artillery plan of the recorded requests: each distinct request
// of a method, in scenarios of a few, with a weight equal to the method's
// share.
func (v *view) loadPlan() []byte {
	users := "Users as they were recorded"
	if !v.Recorded() {
		users = "A made-up request of each method, since none was recorded"
	}
	head := "# " + users + `, against the gateway: whittle load load.yaml
config:
  target: http://127.0.0.1:8080
  phases:
    - {duration: 120, arrivalRate: 30}
`
	var b strings.Builder
	b.WriteString("scenarios:\n")
	requests, left := v.plannedRequests()
	for i := range v.Methods {
		m := &v.Methods[i]
		v.scenarios(&b, m, requests[i], left[i])
	}
	if strings.Contains(b.String(), brace) {
		return []byte(head + "  variables: {brace: \"{\"}   # two of them, as they are, would begin an expression\n" + b.String())
	}
	return []byte(head + b.String())
}

// scenarios writes those of one method.
func (v *view) scenarios(b *strings.Builder, m *method, requests []request, left int) {
	weight, s := 1.0, v.samples[m.Proto]
	if s != nil {
		s.planned = s.coverage.Of(inputsOf(requests))
		fmt.Fprintf(b, "  # %s: %s\n", m.Name, s.planned)
	}
	if left > 0 {
		fmt.Fprintf(b, "  # %s: left out %s that a plan has no room for (1 MiB for all, %d doubled braces in each)\n", m.Name, contract.Count(left, "recorded request"), maxBraces)
		if len(requests) == 0 {
			return
		}
	}
	if len(requests) == 0 {
		requests = []request{{text: v.planned(m, &exchange{Method: m.HTTP.Method, Target: placeholders(m.HTTP.Pattern)}, true)}}
	} else if s != nil {
		weight = max(1, float64(s.asked)) / float64(len(requests))
	}
	parts, part := max(1, (len(requests)+perUser/2)/perUser), 0
	for some := range slices.Chunk(requests, (len(requests)+parts-1)/parts) {
		name := m.Name
		if part++; parts > 1 {
			name = fmt.Sprintf("%s %d", m.Name, part)
		}
		fmt.Fprintf(b, "  - name: %s\n    weight: %.4g\n    flow:\n", quotedPlan(name), weight)
		for _, r := range some {
			b.WriteString(r.text)
		}
	}
}

func inputsOf(requests []request) []capture.RequestKey {
	out := make([]capture.RequestKey, len(requests))
	for i := range requests {
		out[i] = requests[i].input
	}
	return out
}

// plannedRequests are the recorded ones by method, as the plan has them, and how
// many there was no room for. Each method's first has room before any second.
func (v *view) plannedRequests() (requests [][]request, left []int) {
	requests, left = make([][]request, len(v.Methods)), make([]int, len(v.Methods))
	fit, most := make([][]request, len(v.Methods)), 0
	for i := range v.Methods {
		fit[i] = v.distinct(&v.Methods[i])
		most = max(most, len(fit[i]))
	}
	room := maxPlan
	for n := range most {
		for i := range fit {
			if n >= len(fit[i]) {
				continue
			}
			if text := fit[i][n].text; len(text) > room || strings.Count(text, brace) > maxBraces {
				left[i]++
				continue
			}
			room -= len(fit[i][n].text)
			requests[i] = append(requests[i], fit[i][n])
		}
	}
	return requests, left
}

// distinct are a method's recorded requests, each once: what differs between its
// responses is nothing that a plan sends.
func (v *view) distinct(m *method) []request {
	var out []request
	exchanges := v.exchangesOf(m)
	statuses := map[capture.RequestKey][]int{}
	for i := range exchanges {
		if input := inputOf(&exchanges[i]); !slices.Contains(statuses[input], exchanges[i].Response.Status) {
			statuses[input] = append(statuses[input], exchanges[i].Response.Status)
		}
	}
	done := map[capture.RequestKey]bool{}
	for i := range exchanges {
		x, input := &exchanges[i], inputOf(&exchanges[i])
		if done[input] || x.Base64 != nil {
			continue
		}
		done[input] = true
		out = append(out, request{v.planned(m, x, len(statuses[input]) == 1), input})
	}
	return out
}

// planned writes one request. Its status is expected where it always was the same
// and is not that of a failure of the server, which may be gone.
func (v *view) planned(m *method, x *exchange, expect bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "      - %s:\n          url: %s\n", strings.ToLower(x.Method), quotedPlan(x.Target))
	headers := `x-user: "user-{{ $randomNumber(1, 20000) }}"`
	if t := cmp.Or(x.Type, m.HTTP.Body.ContentType); x.Body != nil && t != "" {
		headers += ", content-type: " + quotedPlan(t)
	}
	fmt.Fprintf(&b, "          headers: {%s}\n", headers)
	if x.Body != nil {
		fmt.Fprintf(&b, "          body: %s\n", quotedPlan(*x.Body))
		if x.Method == http.MethodGet {
			b.WriteString("          allowGetBody: true\n")
		}
	}
	status := cmp.Or(x.Response.Status, m.HTTP.Response.Status)
	if status/100 == 3 {
		b.WriteString("          followRedirect: false\n")
	}
	if expect && status != 0 && status < 500 {
		fmt.Fprintf(&b, "          expect: {statusCode: %d}\n", status)
	}
	return b.String()
}

// placeholders fills a pattern's wildcards, for a contract without exchanges.
func placeholders(pattern string) string {
	segments := strings.Split(pattern, "/")
	for i, s := range segments {
		if strings.HasPrefix(s, "{") {
			segments[i] = "1"
		}
		if s == "{$}" {
			segments[i] = ""
		}
	}
	return strings.Join(segments, "/")
}

// brace is an expression that stands for one.
const brace = "{{ brace }}"

// quotedPlan is a string of the plan in which nothing is an expression.
func quotedPlan(s string) string {
	text, err := jsonText(braces.ReplaceAllStringFunc(s, func(run string) string { return strings.Repeat(brace, len(run)) }))
	if err != nil {
		return `""`
	}
	return printable(text)
}

// braces finds those that would begin an expression.
var braces = regexp.MustCompile(`\{\{+`)
