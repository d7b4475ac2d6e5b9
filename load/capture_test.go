package load

import (
	"bytes"
	"compress/gzip"
	"math/rand/v2"
	"strings"
	"testing"

	"whittle/load/report"
)

// replied makes an answer with the given headers and body.
func replied(head, body string) *reply {
	return &reply{
		answer: &answer{status: 200, head: []byte(head), body: []byte(body), size: int64(len(body))},
		scope:  &scope{rng: rand.New(rand.NewPCG(1, 1))},
	}
}

const page = `<!DOCTYPE html><html><head><meta name="csrf" content="tok&amp;en"></head>
<body><form id=f><input type=hidden name=k value="v1"><input type=hidden name=l value=v2></form>
<ul><li class="item">one <b>bold</b></li><li class="item last">two</li></ul><p></p></body></html>`

const soap = `<?xml version="1.0"?><!-- c --><s:Envelope xmlns:s="urn:s"><s:Body><order id="7" paid="true">
<line n="1">tea</line><line n="2">a &lt;cup&gt;</line></order></s:Body></s:Envelope>`

func TestCapturesFindWhatTheyName(t *testing.T) {
	const json = `{"id": 7, "user": {"name": "Ann", "roles": ["a", "b"]}, "none": null, "blank": "", "list": [5]}`
	for _, c := range []struct{ capture, body, text, json string }{
		{"json: $.id", json, "7", "7"},
		{"json: user.name", json, "Ann", `"Ann"`},
		{"json: $.user.roles", json, `["a", "b"]`, `["a", "b"]`},
		{"json: $.none", json, "null", "null"},
		{"json: '$.list[*]'", json, "5", "5"},
		{"json: $.blank", json, "", ""},
		{"json: $.absent", json, "", ""},
		{"json: $.id", "not json", "", ""},
		{"json: $", "7", "", ""},
		{"regexp: 'v\\d'", page, "v1", `"v1"`},
		{"regexp: 'name=(\\w+) value=(\\w+)', group: 2", page, "v2", `"v2"`},
		{"regexp: 'LI CLASS=\"(?<cls>[^\"]+)\"', group: cls, flags: gi", page, "item", `"item"`},
		{"regexp: 'nowhere'", page, "", ""},
		{"regexp: 'x*', flags: g", page, "", ""},
		{"header: X-Id", "", "h7", `"h7"`},
		{"header: x-none", "", "", ""},
		{"selector: 'meta[name=csrf]', attr: content", page, "tok&en", `"tok&en"`},
		{"selector: '#f input', attr: value, index: 1", page, "v2", `"v2"`},
		{"selector: 'li.item', index: last", page, "two", `"two"`},
		{"selector: li", page, "one bold", `"one bold"`},
		{"selector: 'form > input[name=k]', attr: value, index: random", page, "v1", `"v1"`},
		{"selector: 'li', index: 5", page, "", ""},
		{"selector: 'p'", page, "", ""},
		{"selector: 'li', attr: href", page, "", ""},
		{"xpath: '//order/@id'", soap, "7", `"7"`},
		{"xpath: '//line[2]'", soap, "a <cup>", `"a <cup>"`},
		{"xpath: '/s:Envelope/s:Body/order/line[@n=\"1\"]/text()'", soap, "tea", `"tea"`},
		{"xpath: 'count(//line)'", soap, "2", "2"},
		{"xpath: 'string(//order/@paid)'", soap, "true", `"true"`},
		{"xpath: '//line[last()]/preceding-sibling::line'", soap, "tea", `"tea"`},
		{"xpath: 'boolean(//nothing)'", soap, "false", "false"},
		{"xpath: '//nothing'", soap, "", ""},
		{"xpath: '//a'", "<a><b></a>", "", ""},
		{"xpath: '//a'", "just text", "", ""},
	} {
		p := plan(t, "scenarios: [{flow: [{get: {url: /, capture: {"+c.capture+", as: v}}}]}]")
		a := replied("content-type: x\r\nX-ID: h7\r\n", c.body)
		a.scope.values = make([]value, p.slots)
		failure := p.requests()[0].capture(a)
		if want := map[bool]string{true: report.ErrorCapture}[c.json == ""]; failure != want {
			t.Errorf("%s: failure %q, want %q", c.capture, failure, want)
		}
		if got := a.scope.values[0]; got.text != c.text || got.json != c.json {
			t.Errorf("%s: %+v", c.capture, got)
		}
	}
}

func TestCapturesAreAllOrNone(t *testing.T) {
	for _, c := range []struct {
		request, failure, a, b string
	}{
		{"capture: [{json: $.a, as: a}, {json: $.b, as: b}]", "", "1", "2"},
		{"capture: [{json: $.a, as: a}, {json: $.z, as: b}]", report.ErrorCapture, "", ""},
		{"capture: [{json: $.a, as: a}, {json: $.z, as: b, strict: false}]", "", "1", ""},
		{"capture: [{json: $.a, as: a}, {json: $.b, as: b}], match: {json: $.c, value: three}", "", "1", "2"},
		{"capture: [{json: $.a, as: a}, {json: $.b, as: b}], match: {json: $.c, value: four}", report.ErrorExpectation, "", ""},
		{"capture: [{json: $.a, as: a}, {json: $.b, as: b}], match: {json: $.c, value: four, strict: false}", "", "1", "2"},
	} {
		p := plan(t, "scenarios: [{flow: [{get: {url: /, "+c.request+"}}, {get: {url: '/{{ a }}{{ b }}'}}]}]")
		a := replied("", `{"a":1,"b":2,"c":"three"}`)
		a.scope.values = make([]value, p.slots)
		if failure := p.requests()[0].capture(a); failure != c.failure {
			t.Errorf("%s: %q", c.request, failure)
		}
		if got := a.scope.values; got[0].text != c.a || got[1].text != c.b {
			t.Errorf("%s: %+v", c.request, got)
		}
	}
	p := plan(t, "config: {http: {defaults: {strictCapture: false}}}\nscenarios: [{flow: [{get: {url: /, capture: {json: $.x, as: v}}}]}]")
	a := replied("", "{}")
	a.scope.values = make([]value, p.slots)
	if failure := p.requests()[0].capture(a); failure != "" {
		t.Errorf("with strictCapture: false: %q", failure)
	}
}

func TestWhatIsCapturedIsBounded(t *testing.T) {
	long := strings.Repeat("x", maxCaptured+1)
	for capture, body := range map[string]string{
		"json: $.a": `{"a":"` + long + `"}`, "regexp: 'x+'": long, "selector: p": "<p>" + long, "xpath: //p": "<p>" + long + "</p>",
	} {
		p := plan(t, "scenarios: [{flow: [{get: {url: /, capture: {"+capture+", as: v}}}]}]")
		a := replied("", body)
		a.scope.values = make([]value, p.slots)
		if failure := p.requests()[0].capture(a); failure != report.ErrorCapture {
			t.Errorf("%s took %d bytes", capture, len(a.scope.values[0].text))
		}
	}
	deep := strings.Repeat("<a>", maxMarkupDepth+2)
	if _, err := parseMarkup(deep); err == nil {
		t.Error("XML of any depth is read")
	}
	if _, err := parseMarkup("<a>" + strings.Repeat("<b c=''/>", maxDocuments) + "</a>"); err == nil {
		t.Error("any amount of XML is read")
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(make([]byte, 8<<20))
	w.Close()
	a := replied("content-encoding: gzip\r\n", z.String())
	if text, whole := a.bodyText(); whole || len(text) > maxKept {
		t.Errorf("%d bytes of a bomb, whole: %v", len(text), whole)
	}
}

func TestExpectations(t *testing.T) {
	const head = "Content-Type: application/json; charset=utf-8\r\nX-A: 1\r\nX-A: 2\r\n"
	const body = `{"user": {"name": "Ann", "tags": ["x"]}, "n": null}`
	for expect, want := range map[string]bool{
		"statusCode: 200": true, "statusCode: [201, 200]": true, "statusCode: 201": false, "statusCode: '{{ ok }}'": true,
		"notStatusCode: 500": true, "notStatusCode: [200]": false, "notStatusCode: '{{ ok }}'": false,
		"contentType: json": true, "contentType: application/json": true, "contentType: text/html": false,
		"contentType: 'application/json; charset=utf-8'": true,
		"hasHeader: x-a": true, "hasHeader: X-B": false, "headerEquals: [x-a, '1']": true, "headerEquals: [x-a, '2']": false,
		"hasProperty: user.name": true, "hasProperty: 'user.tags[0]'": true, "hasProperty: n": true, "hasProperty: user.age": false,
		"notHasProperty: user.age": true, "notHasProperty: user": false, "hasProperty: 'user.{{ field }}'": true,
		"equals: ['{{ ok }}', 200]": true, "equals: ['{{ ok }}', 201, 200]": false, "equals: [a]": true,
		"matchesRegexp: 'A.n\"'": true, "matchesRegexp: '^Ann'": false,
	} {
		for _, form := range []string{"{" + expect + "}", "[{" + expect + "}]"} {
			p := plan(t, "config: {variables: {ok: 200, field: name}}\nscenarios: [{flow: [{get: {url: /, expect: "+form+"}}]}]")
			a := replied(head, body)
			a.scope.values = make([]value, p.slots)
			for i := range p.variables {
				p.variables[i].pick(a.scope)
			}
			if got := p.requests()[0].expect[0].holds(a); got != want {
				t.Errorf("%s is %v", form, got)
			}
		}
	}
	q := plan(t, "scenarios: [{flow: [{get: {url: /, expect: {hasProperty: a}}}, {get: {url: /, expect: {notHasProperty: a}}}]}]")
	for _, r := range q.requests() {
		if r.expect[0].holds(replied("", "no json")) {
			t.Error("a body that is not JSON has, or has not, a property")
		}
	}
}

// FuzzCapture checks that no expression of a capture makes reading or using it
// crash, and that what it takes keeps to its bounds.
func FuzzCapture(f *testing.F) {
	f.Add("json", "$..a[?(@.b)]", store)
	f.Add("xpath", "//order[@id=7]/line[position()<3]/ancestor::*", soap)
	f.Add("xpath", "substring-after(//a,'x')|//b", soap)
	f.Add("selector", "li.item:not(.last) ~ li, p:nth-child(2n+1)", page)
	f.Add("regexp", "(?<a>x+)(y|z)*", page)
	f.Add("header", "x-a", "")
	f.Fuzz(func(t *testing.T, from, expr, body string) {
		x, err := compileExtractor(captureSpec{from: from, expr: &node{}}, expr)
		if err != nil {
			return
		}
		if v, ok := x(replied("X-A: 1\r\n", body)); ok && (len(v.text) > maxCaptured || v.json == "") {
			t.Fatalf("%s %q took %d bytes, JSON %q", from, expr, len(v.text), v.json)
		}
	})
}
