package scaffold

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"whittle/contract"
	"whittle/load/plan"
)

// maxPlanned bounds the requests of one method in the plan, and maxPlan all of
// them, in bytes: what is left of a plan's own bound is for the rest of it. With
// maxBraces expressions a request is read in no time, with many more in minutes.
const (
	maxPlanned = 8
	maxPlan    = plan.MaxBytes / 4 * 3
	maxBraces  = 1000
)

// loadPlan is an Artillery plan of what was recorded: a scenario for each
// method, as often as it was asked.
func (v *view) loadPlan() []byte {
	const head = `# Users as they were recorded, against the gateway: whittle load load.yaml
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
		if left[i] > 0 {
			fmt.Fprintf(&b, "  # %s: left out %s that a plan has no room for (1 MiB for all, %d doubled braces in each)\n", m.Name, contract.Count(left[i], "recorded request"), maxBraces)
			if len(requests[i]) == 0 {
				continue
			}
		}
		weight := 1
		if s := v.samples[m.Proto]; s != nil {
			weight = max(1, s.asked)
		}
		fmt.Fprintf(&b, "  - name: %s\n    weight: %d\n    flow:\n", quotedPlan(m.Name), weight)
		for _, text := range requests[i] {
			b.WriteString(text)
		}
		if len(requests[i]) == 0 {
			b.WriteString(v.planned(m, &exchange{Method: m.HTTP.Method, Target: placeholders(m.HTTP.Pattern)}))
		}
	}
	if strings.Contains(b.String(), brace) {
		return []byte(head + "  variables: {brace: \"{\"}   # two of them, as they are, would begin an expression\n" + b.String())
	}
	return []byte(head + b.String())
}

// plannedRequests are the recorded ones by method, as the plan has them, and how
// many there was no room for. Each method's first has room before any second.
func (v *view) plannedRequests() (requests [][]string, left []int) {
	requests, left = make([][]string, len(v.Methods)), make([]int, len(v.Methods))
	fit := make([][]exchange, len(v.Methods))
	for i := range v.Methods {
		for _, x := range v.exchangesOf(&v.Methods[i]) {
			if len(fit[i]) < maxPlanned && x.Answer.Status < 400 && x.Base64 == nil {
				fit[i] = append(fit[i], x)
			}
		}
	}
	room := maxPlan
	for n := range maxPlanned {
		for i := range fit {
			if n >= len(fit[i]) {
				continue
			}
			text := v.planned(&v.Methods[i], &fit[i][n])
			if len(text) > room || strings.Count(text, brace) > maxBraces {
				left[i]++
				continue
			}
			room -= len(text)
			requests[i] = append(requests[i], text)
		}
	}
	return requests, left
}

func (v *view) planned(m *method, x *exchange) string {
	var b strings.Builder
	fmt.Fprintf(&b, "      - %s:\n          url: %s\n", strings.ToLower(x.Method), quotedPlan(x.Target))
	headers := `x-user: "user-{{ $randomNumber(1, 1000) }}"`
	if t := cmp.Or(x.Type, m.HTTP.Body.ContentType); x.Body != nil && t != "" {
		headers += ", content-type: " + quotedPlan(t)
	}
	fmt.Fprintf(&b, "          headers: {%s}\n", headers)
	if x.Body != nil {
		fmt.Fprintf(&b, "          body: %s\n", quotedPlan(*x.Body))
	}
	if status := cmp.Or(x.Answer.Status, m.HTTP.Answer.Status); status != 0 {
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
