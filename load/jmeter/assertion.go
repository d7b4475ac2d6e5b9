package jmeter

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// The bits of a response assertion's test_type.
const (
	testMatch     = 1  // the pattern is all of the text
	testContains  = 2  // the pattern is somewhere in it
	testNot       = 4  // the opposite
	testEquals    = 8  // the text itself
	testSubstring = 16 // a piece of the text itself
	testOr        = 32 // any of the strings does
)

// addChecks adds to a request its checks of the response: the assertions, and the
// extractors that read it. Without an assertion that says otherwise, JMeter
// takes a 4xx or 5xx as a failure.
func (j *reader) addChecks(q *plan.Request, env elementScope) {
	ignoreStatus := false
	for _, e := range env.extracts {
		j.extractors(e, q)
	}
	for _, e := range env.asserts {
		ignoreStatus = ignoreStatus || e.is("Assertion.assume_success")
		q.Expect = append(q.Expect, j.assertion(e))
	}
	if len(q.Expect) > plan.MaxConditions || len(q.Captures) > plan.MaxConditions {
		panic(env.first().at.Errorf(whittle.ResourceExhausted, "more than %d assertions or extractors of one sampler", plan.MaxConditions))
	}
	// An unexpected 5xx is a server_error, as in other plans.
	q.Expect = append(q.Expect, plan.Expectation{Status: ignoreStatus, Check: func(a *expr.Response) bool {
		return ignoreStatus || a.Status < http.StatusBadRequest || a.Status >= http.StatusInternalServerError
	}})
}

// first is the first of the elements that judge.
func (s *elementScope) first() *element {
	if len(s.asserts) > 0 {
		return s.asserts[0]
	}
	return s.extracts[0]
}

func (j *reader) assertion(e *element) plan.Expectation {
	if e.name == "JSONPathAssertion" {
		return j.jsonAssertion(e)
	}
	var x plan.Expectation
	j.refuseOthers(e, "Asserion.test_strings", "Assertion.test_strings", "Assertion.test_field", "Assertion.test_type",
		"Assertion.assume_success", "Assertion.custom_message", "Assertion.scope")
	if scope := e.value("Assertion.scope"); scope != "" && scope != "all" {
		panic(e.where("Assertion.scope").Errorf(whittle.Unsupported, "an assertion on %s is not supported: it is on the response", scope))
	}
	field, ok := responseFields[strings.TrimPrefix(e.value("Assertion.test_field"), "Assertion.")]
	if !ok {
		panic(e.where("Assertion.test_field").Errorf(whittle.Unsupported, "an assertion on %s is not supported", e.value("Assertion.test_field")))
	}
	kind := j.whole(e.tag, "Assertion.test_type", 0, 63, testContains)
	list := e.prop("Asserion.test_strings") // so it is spelled
	if list == nil {
		list = e.prop("Assertion.test_strings")
	}
	var tests []func(*expr.Response, string) bool
	if list != nil {
		for _, c := range list.children {
			test := j.textTest(c, kind)
			tests = append(tests, test)
		}
	}
	x.Body = field.body
	x.Check = func(a *expr.Response) bool {
		text := field.of(a)
		for _, test := range tests {
			held := test(a, text) != (kind&testNot != 0)
			if held == (kind&testOr != 0) {
				return held
			}
		}
		return kind&testOr == 0 || len(tests) == 0
	}
	return x
}

// responseField is a part of a response that an assertion or extractor reads.
type responseField struct {
	body bool
	of   func(*expr.Response) string
}

var responseFields = map[string]responseField{
	"response_data":    {true, func(a *expr.Response) string { text, _ := a.BodyText(); return text }},
	"response_code":    {false, func(a *expr.Response) string { return strconv.Itoa(a.Status) }},
	"response_headers": {false, headText},
}

// headText is a response's head as JMeter writes it: a status line, then the
// headers.
func headText(a *expr.Response) string {
	return fmt.Sprintf("HTTP/1.1 %d %s\n", a.Status, http.StatusText(a.Status)) + strings.ReplaceAll(string(a.Head), "\r\n", "\n")
}

// textTest compiles one test string.
func (j *reader) textTest(t *tag, kind int64) func(*expr.Response, string) bool {
	want := j.compile(t.at, t.text, expr.AsText)
	switch {
	case kind&testEquals != 0:
		return func(a *expr.Response, text string) bool { return text == string(want.Render(nil, a.Scope)) }
	case kind&testSubstring != 0:
		return func(a *expr.Response, text string) bool {
			return strings.Contains(text, string(want.Render(nil, a.Scope)))
		}
	}
	wrap := func(p string) string { return p }
	if kind&testMatch != 0 {
		wrap = func(p string) string { return `^(?:` + p + `)\z` }
	}
	if fixed, ok := want.Constant(); ok {
		rx, err := expr.CompilePattern(wrap(fixed), "")
		if err != nil {
			panic(t.at.Errorf(whittle.Unsupported, "%v", err))
		}
		return func(_ *expr.Response, text string) bool { return rx.MatchString(text) }
	}
	return func(a *expr.Response, text string) bool {
		rx, err := regexp.Compile(wrap(string(want.Render(nil, a.Scope))))
		return err == nil && rx.MatchString(text)
	}
}

// jsonAssertion checks that a JSON body has something at a path and, where
// asked for, that it is what is expected.
func (j *reader) jsonAssertion(e *element) plan.Expectation {
	x := plan.Expectation{Body: true}
	j.refuseOthers(e, "JSON_PATH", "EXPECTED_VALUE", "JSONVALIDATION", "EXPECT_NULL", "INVERT", "ISREGEX")
	src := j.fixed(e.tag, "JSON_PATH")
	path, err := expr.CompilePath(src)
	if err != nil {
		panic(e.where("JSON_PATH").Invalid("the JSONPath is not understood: %v", err))
	}
	test := j.textTest(&tag{at: e.where("EXPECTED_VALUE"), text: e.value("EXPECTED_VALUE")}, map[bool]int64{true: testMatch, false: testEquals}[e.is("ISREGEX")])
	compare, null, invert := e.is("JSONVALIDATION"), e.is("EXPECT_NULL"), e.is("INVERT")
	holds := func(a *expr.Response) bool {
		doc := a.JSON()
		if doc == nil {
			return false
		}
		found := path.Find(doc)
		for _, d := range found {
			switch {
			case !compare, null && d.Kind == expr.KindNull, !null && test(a, d.Value().Text):
				return true
			}
		}
		return false
	}
	x.Check = func(a *expr.Response) bool { return holds(a) != invert }
	return x
}
