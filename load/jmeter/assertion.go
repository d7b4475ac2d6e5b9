package jmeter

import (
	"cmp"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// The bits of a response assertion's test_type.
const (
	testMatch     = 1  // the pattern is all of the text; so where none of them is set
	testContains  = 2  // the pattern is somewhere in it
	testNot       = 4  // the opposite
	testEquals    = 8  // the text itself
	testSubstring = 16 // a piece of the text itself
	testOr        = 32 // any of the strings does
)

// addChecks adds to a request what looks at its response: the extractors, then the
// assertions, in JMeter's order. Each sees the verdict of those before it. Where none gives
// one, a 4xx or 5xx is a failure, as in JMeter.
func (j *reader) addChecks(q *plan.Request, env elementScope) {
	for _, e := range env.extracts {
		if isScript(e.name) {
			j.scriptAfter(e, q, false)
		} else {
			j.extractors(e, q)
		}
	}
	for _, e := range env.asserts {
		j.judge(e, q)
	}
	if len(q.Captures) > plan.MaxConditions {
		first := slices.Concat(env.asserts, env.extracts)[0]
		panic(first.at.Errorf(whittle.ResourceExhausted, "more than %d assertions or extractors of one sampler", plan.MaxConditions))
	}
	q.Expect = append(q.Expect, plan.Expectation{Check: func(a *expr.Response) bool {
		// An unexpected 5xx is a server_error, as in other plans.
		return a.Verdict == expr.Succeeded || a.Verdict == expr.Undecided && (a.Status < http.StatusBadRequest || a.Status >= http.StatusInternalServerError)
	}})
}

// judge adds an assertion to a request.
func (j *reader) judge(e *element, q *plan.Request) {
	if isScript(e.name) {
		j.scriptAfter(e, q, true)
		return
	}
	x, assumes, title := j.assertion(e), e.is("Assertion.assume_success"), e.title()
	onResponse(q, x.Body, func(a *expr.Response) {
		if assumes {
			a.Verdict = expr.Succeeded
		}
		if !x.Holds(a) {
			a.Verdict, a.Why = expr.Failed, cmp.Or(a.Why, title)
		}
	})
}

func (j *reader) assertion(e *element) plan.Expectation {
	switch e.name {
	case "JSONPathAssertion":
		return j.jsonAssertion(e)
	case "DurationAssertion":
		return j.durationAssertion(e)
	}
	var x plan.Expectation
	j.refuseOthers(e, "Asserion.test_strings", "Assertion.test_strings", "Assertion.test_field", "Assertion.test_type",
		"Assertion.assume_success", "Assertion.custom_message", "Assertion.scope", "Scope.variable")
	if e.value("Assertion.scope") == "children" {
		j.noteOf(e, "is left out: it is on what a sampler fetches further, which has no failures of the sampler here")
		return plan.Expectation{Check: func(*expr.Response) bool { return true }}
	}
	if scope := e.value("Assertion.scope"); scope != "" && scope != "all" && scope != "parent" && scope != "variable" {
		panic(e.where("Assertion.scope").Errorf(whittle.Unsupported, "an assertion on %s is not supported: it is on the response", scope))
	}
	named := cmp.Or(e.value("Assertion.test_field"), "Assertion.sample_label") // without one JMeter looks at the URL
	field, ok := responseFields[strings.TrimPrefix(named, "Assertion.")]
	if !ok {
		panic(e.where("Assertion.test_field").Errorf(whittle.Unsupported, "an assertion on %s is not supported", e.value("Assertion.test_field")))
	}
	switch {
	case e.value("Assertion.scope") == "variable":
		name := strings.TrimSpace(e.value("Scope.variable"))
		field = responseField{of: func(a *expr.Response) string { text, _ := j.value(a.Scope, name); return text }}
	case strings.HasSuffix(named, "sample_label"):
		// The label is a URL in all but name: JMeter has both under this word.
		field = responseFields["sample_url"]
	}
	if field.url {
		j.looksAtURL = append(j.looksAtURL, e.title())
	}
	kind := j.whole(e.tag, "Assertion.test_type", 0, 63, testContains)
	list := e.prop("Asserion.test_strings") // the spelling of JMeter
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
		if text == "" {
			return kind&testNot != 0 // to JMeter it is no response
		}
		for _, test := range tests {
			held := test(a, text) != (kind&testNot != 0)
			if held == (kind&testOr != 0) {
				return held
			}
		}
		return kind&testOr == 0
	}
	return x
}

// responseField is a part of a response that an assertion or extractor reads.
type responseField struct {
	body bool
	of   func(*expr.Response) string
	url  bool // it is the URL
}

var responseFields = map[string]responseField{
	"response_data":    {body: true, of: func(a *expr.Response) string { text, _ := a.BodyText(); return text }},
	"response_code":    {body: false, of: func(a *expr.Response) string { return codeText(a) }},
	"response_headers": {body: false, of: headText},
	"response_message": {body: false, of: func(a *expr.Response) string { return messageText(a) }},
	"sample_url":       {url: true, of: func(a *expr.Response) string { return a.URL }},
	"sample_label":     {},
	"unescaped":        {body: true, of: func(a *expr.Response) string { text, _ := a.BodyText(); return html.UnescapeString(text) }},
}

// codeText is what JMeter has for a response's code. Without a response it names an
// exception of Java's, which is not known here.
func codeText(a *expr.Response) string {
	switch {
	case a.Code != nil:
		return *a.Code
	case a.Status == 0:
		return "Non HTTP response code"
	}
	return strconv.Itoa(a.Status)
}

// messageText is what JMeter has for a response's message, as codeText is for its code.
func messageText(a *expr.Response) string {
	switch {
	case a.Message != nil:
		return *a.Message
	case a.Status == 0:
		return "Non HTTP response message"
	}
	return http.StatusText(a.Status)
}

// headText is a response's head as JMeter writes it: a status line, then the
// headers.
func headText(a *expr.Response) string {
	if a.Status == 0 {
		return ""
	}
	return fmt.Sprintf("HTTP/1.1 %d %s\n", a.Status, http.StatusText(a.Status)) + strings.ReplaceAll(string(a.Head), "\r\n", "\n")
}

// textTest compiles one test string.
func (j *reader) textTest(t *tag, kind int64) func(*expr.Response, string) bool {
	want := j.compile(t.at, t.text, expr.AsText)
	switch {
	case kind&testContains != 0:
	case kind&testEquals != 0:
		return func(a *expr.Response, text string) bool { return text == want.Text(a.Scope) }
	case kind&testSubstring != 0:
		return func(a *expr.Response, text string) bool { return strings.Contains(text, want.Text(a.Scope)) }
	}
	pattern := j.pattern(t.at, want, "m", kind&testContains == 0)
	return func(a *expr.Response, text string) bool {
		rx, ok := pattern(a.Scope)
		return ok && rx.MatchString(text)
	}
}

// durationAssertion fails a response that took longer.
func (j *reader) durationAssertion(e *element) plan.Expectation {
	j.refuseOthers(e, "DurationAssertion.duration", "Assertion.scope")
	limit := j.trimmed(e, "DurationAssertion.duration")
	return plan.Expectation{Check: func(a *expr.Response) bool {
		ms := renderInt(limit, a.Scope)
		return ms <= 0 || a.Elapsed.Milliseconds() <= ms
	}}
}

// jsonAssertion checks that a JSON body has a value at a path and, where asked for, that
// it is the expected one.
func (j *reader) jsonAssertion(e *element) plan.Expectation {
	x := plan.Expectation{Body: true}
	j.refuseOthers(e, "JSON_PATH", "EXPECTED_VALUE", "JSONVALIDATION", "EXPECT_NULL", "INVERT", "ISREGEX")
	at, text := e.where("JSON_PATH"), strings.TrimSpace(e.value("JSON_PATH"))
	text, counts := strings.CutSuffix(text, ".length()")
	if counts = counts && !indefinite.MatchString(text); !counts {
		text = strings.TrimSpace(e.value("JSON_PATH"))
	}
	path := j.jsonPath(at, text)
	test := j.sameJSON(e.where("EXPECTED_VALUE"), e.value("EXPECTED_VALUE"))
	if e.is("ISREGEX") {
		matches := j.textTest(&tag{at: e.where("EXPECTED_VALUE"), text: e.value("EXPECTED_VALUE")}, testMatch)
		test = func(a *expr.Response, d *expr.Document) bool { return matches(a, valueText(d)) }
	}
	compare, null, invert := e.is("JSONVALIDATION"), e.is("EXPECT_NULL"), e.is("INVERT")
	holds := func(a *expr.Response) bool {
		doc := a.JSON()
		if doc == nil {
			return false
		}
		by, ok := path(a.Scope)
		if !ok {
			return false
		}
		found := by.Find(doc)
		if counts && len(found) > 0 {
			found[0] = lengthOf(found[0])
		}
		var all []string
		for _, d := range found {
			all = append(all, d.Value().JSON)
			switch {
			case !compare, null && d.Kind == expr.KindNull, !null && test(a, d):
				return true
			}
		}
		// What is several may be meant as one list, and of one list an item.
		if len(found) == 1 && found[0].Kind == expr.KindList {
			for i := range found[0].Items {
				if !null && test(a, &found[0].Items[i]) {
					return true
				}
			}
		}
		whole, ok := expr.ParseDocument("[" + strings.Join(all, ",") + "]")
		return ok && compare && !null && (len(found) > 0 || indefinite.MatchString(text)) && test(a, whole)
	}
	x.Check = func(a *expr.Response) bool { return holds(a) != invert }
	return x
}

// indefinite finds what makes a JSONPath lead to a list of all that is there.
var indefinite = regexp.MustCompile(`\.\.|[*?]|\[[^\]'"]*[,:]|['"]\s*,`)

// lengthOf is how many items or letters a value has, as a number.
func lengthOf(d *expr.Document) *expr.Document {
	n := len(d.Items)
	if d.Kind == expr.KindString {
		n = len([]rune(d.Value().Text))
	}
	length, _ := expr.ParseDocument(strconv.Itoa(n))
	return length
}

// sameJSON compares a value with what a text is as JSON: spaces, the order of names and the
// zeros at a fraction's end do not count. A text that is no JSON is itself.
func (j *reader) sameJSON(at plan.Position, text string) func(*expr.Response, *expr.Document) bool {
	want := j.compile(at, text, expr.AsText)
	return func(a *expr.Response, d *expr.Document) bool {
		text := want.Text(a.Scope)
		if doc, ok := expr.ParseDocument(text); ok {
			return canonical(doc) == canonical(d)
		}
		return d.Kind == expr.KindString && text == d.Value().Text
	}
}

// canonical writes a value in one way of several.
func canonical(d *expr.Document) string {
	switch d.Kind {
	case expr.KindList:
		var all []string
		for i := range d.Items {
			all = append(all, canonical(&d.Items[i]))
		}
		return "[" + strings.Join(all, ",") + "]"
	case expr.KindMap:
		var all []string
		for i, name := range d.Names() {
			all = append(all, strconv.Quote(name)+":"+canonical(&d.Items[i]))
		}
		slices.Sort(all)
		return "{" + strings.Join(all, ",") + "}"
	case expr.KindString:
		return strconv.Quote(d.Value().Text)
	}
	return valueText(d)
}
