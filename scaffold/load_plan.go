package scaffold

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// maxPlanned bounds the requests of one method in the plan.
const maxPlanned = 8

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
	for i := range v.Methods {
		m := &v.Methods[i]
		weight := 1
		if s := v.samples[m.Proto]; s != nil {
			weight = max(1, s.asked)
		}
		fmt.Fprintf(&b, "  - name: %s\n    weight: %d\n    flow:\n", quotedPlan(m.Name), weight)
		n := 0
		for _, x := range v.exchangesOf(m) {
			if n < maxPlanned && x.Answer.Status < 400 && x.Base64 == nil {
				v.planned(&b, m, &x)
				n++
			}
		}
		if n == 0 {
			v.planned(&b, m, &exchange{Method: m.HTTP.Method, Target: placeholders(m.HTTP.Pattern)})
		}
	}
	if strings.Contains(b.String(), brace) {
		return []byte(head + "  variables: {brace: \"{\"}   # two of them, as they are, would begin an expression\n" + b.String())
	}
	return []byte(head + b.String())
}

func (v *view) planned(b *strings.Builder, m *method, x *exchange) {
	fmt.Fprintf(b, "      - %s:\n          url: %s\n", strings.ToLower(x.Method), quotedPlan(x.Target))
	headers := `x-user: "user-{{ $randomNumber(1, 1000) }}"`
	if x.Body != nil {
		headers += ", content-type: " + quotedPlan(cmp.Or(x.Type, m.ContentType))
	}
	fmt.Fprintf(b, "          headers: {%s}\n", headers)
	if x.Body != nil {
		fmt.Fprintf(b, "          body: %s\n", quotedPlan(*x.Body))
	}
	if status := cmp.Or(x.Answer.Status, m.HTTP.Answer.Status); status != 0 {
		fmt.Fprintf(b, "          expect: {statusCode: %d}\n", status)
	}
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
