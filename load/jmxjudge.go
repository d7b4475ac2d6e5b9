package load

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"whittle"
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

// judgement gives a request what tells a good answer: its assertions, and the
// extractors that read it. Without an assertion that says otherwise, JMeter
// takes a 4xx or 5xx as a failure.
func (j *jmxReader) judgement(q *request, env surroundings) error {
	ignoreStatus := false
	for _, e := range env.extracts {
		if err := j.extractors(e, q); err != nil {
			return err
		}
	}
	for _, e := range env.asserts {
		ignoreStatus = ignoreStatus || e.is("Assertion.assume_success")
		x, err := j.assertion(e)
		if err != nil {
			return err
		}
		q.expect = append(q.expect, x)
	}
	if len(q.expect) > maxConditions || len(q.captures) > maxConditions {
		return env.first().at.errorf(whittle.ResourceExhausted, "more than %d assertions or extractors of one sampler", maxConditions)
	}
	// A 5xx that nobody asked for is a server_error, as in other plans.
	q.expect = append(q.expect, expectation{status: ignoreStatus, check: func(a *reply) bool {
		return ignoreStatus || a.status < http.StatusBadRequest || a.status >= http.StatusInternalServerError
	}})
	return nil
}

// first is the first of the elements that judge.
func (s *surroundings) first() *element {
	if len(s.asserts) > 0 {
		return s.asserts[0]
	}
	return s.extracts[0]
}

func (j *jmxReader) assertion(e *element) (expectation, error) {
	if e.name == "JSONPathAssertion" {
		return j.jsonAssertion(e)
	}
	var x expectation
	err := j.only(e, "Asserion.test_strings", "Assertion.test_strings", "Assertion.test_field", "Assertion.test_type",
		"Assertion.assume_success", "Assertion.custom_message", "Assertion.scope")
	if err != nil {
		return x, err
	}
	if scope := e.value("Assertion.scope"); scope != "" && scope != "all" {
		return x, e.where("Assertion.scope").errorf(whittle.Unsupported, "an assertion on %s is not supported: it is on the answer", scope)
	}
	field, ok := answerFields[strings.TrimPrefix(e.value("Assertion.test_field"), "Assertion.")]
	if !ok {
		return x, e.where("Assertion.test_field").errorf(whittle.Unsupported, "an assertion on %s is not supported", e.value("Assertion.test_field"))
	}
	kind, err := j.whole(e.tag, "Assertion.test_type", 0, 63, testContains)
	if err != nil {
		return x, err
	}
	list := e.prop("Asserion.test_strings") // so it is spelled
	if list == nil {
		list = e.prop("Assertion.test_strings")
	}
	var tests []func(*reply, string) bool
	if list != nil {
		for _, c := range list.children {
			test, err := j.textTest(c, kind)
			if err != nil {
				return x, err
			}
			tests = append(tests, test)
		}
	}
	x.body = field.body
	x.check = func(a *reply) bool {
		text := field.of(a)
		for _, test := range tests {
			held := test(a, text) != (kind&testNot != 0)
			if held == (kind&testOr != 0) {
				return held
			}
		}
		return kind&testOr == 0 || len(tests) == 0
	}
	return x, nil
}

// answerField is a part of an answer that an assertion or extractor looks at.
type answerField struct {
	body bool
	of   func(*reply) string
}

var answerFields = map[string]answerField{
	"response_data":    {true, func(a *reply) string { text, _ := a.bodyText(); return text }},
	"response_code":    {false, func(a *reply) string { return strconv.Itoa(a.status) }},
	"response_headers": {false, headText},
}

// headText is an answer's head as JMeter writes it: a status line, then the
// headers.
func headText(a *reply) string {
	return fmt.Sprintf("HTTP/1.1 %d %s\n", a.status, http.StatusText(a.status)) + strings.ReplaceAll(string(a.head), "\r\n", "\n")
}

// textTest compiles one test string.
func (j *jmxReader) textTest(t *tag, kind int64) (func(*reply, string) bool, error) {
	want, err := j.compile(t.at, t.text, asText)
	if err != nil {
		return nil, err
	}
	switch {
	case kind&testEquals != 0:
		return func(a *reply, text string) bool { return text == string(want.render(nil, a.scope)) }, nil
	case kind&testSubstring != 0:
		return func(a *reply, text string) bool { return strings.Contains(text, string(want.render(nil, a.scope))) }, nil
	}
	wrap := func(p string) string { return p }
	if kind&testMatch != 0 {
		wrap = func(p string) string { return `^(?:` + p + `)\z` }
	}
	if fixed, ok := want.constant(); ok {
		rx, err := compilePattern(wrap(fixed), "")
		if err != nil {
			return nil, t.at.errorf(whittle.Unsupported, "%v", err)
		}
		return func(_ *reply, text string) bool { return rx.MatchString(text) }, nil
	}
	return func(a *reply, text string) bool {
		rx, err := regexp.Compile(wrap(string(want.render(nil, a.scope))))
		return err == nil && rx.MatchString(text)
	}, nil
}

// jsonAssertion checks that a JSON body has something at a path and, where
// asked for, that it is what is expected.
func (j *jmxReader) jsonAssertion(e *element) (expectation, error) {
	x := expectation{body: true}
	err := j.only(e, "JSON_PATH", "EXPECTED_VALUE", "JSONVALIDATION", "EXPECT_NULL", "INVERT", "ISREGEX")
	if err != nil {
		return x, err
	}
	src, err := j.fixed(e.tag, "JSON_PATH")
	if err != nil {
		return x, err
	}
	path, err := compilePath(src)
	if err != nil {
		return x, e.where("JSON_PATH").invalid("the JSONPath is not understood: %v", err)
	}
	test, err := j.textTest(&tag{at: e.where("EXPECTED_VALUE"), text: e.value("EXPECTED_VALUE")}, map[bool]int64{true: testMatch, false: testEquals}[e.is("ISREGEX")])
	if err != nil {
		return x, err
	}
	compare, null, invert := e.is("JSONVALIDATION"), e.is("EXPECT_NULL"), e.is("INVERT")
	holds := func(a *reply) bool {
		doc := a.json()
		if doc == nil {
			return false
		}
		found := path.find(doc)
		for _, d := range found {
			switch {
			case !compare, null && d.kind == kindNull, !null && test(a, d.value().text):
				return true
			}
		}
		return false
	}
	x.check = func(a *reply) bool { return holds(a) != invert }
	return x, nil
}
