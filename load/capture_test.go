package load

import (
	"bytes"
	"compress/gzip"
	"math/rand/v2"
	"strings"
	"testing"

	"whittle/load/expr"
	"whittle/load/report"
)

// replied makes a response with the given headers and body.
func replied(head, body string) *expr.Response {
	return &expr.Response{
		Status: 200, Head: []byte(head), Body: []byte(body), Size: int64(len(body)),
		Scope: &expr.Scope{RNG: rand.New(rand.NewPCG(1, 1))},
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
		{"json: $.user.roles", json, `["a","b"]`, `["a","b"]`},
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
		{"header: x-id", "", "h7", `"h7"`},
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
		p := parsed(t, "scenarios: [{flow: [{get: {url: /, capture: {"+c.capture+", as: v}}}]}]")
		a := replied("content-type: x\r\nX-ID: h7\r\n", c.body)
		a.Scope.Values = make([]expr.Value, p.Slots)
		failure, _ := captureValues(p.Requests()[0], a)
		if want := map[bool]string{true: report.ErrorCapture}[c.json == ""]; failure != want {
			t.Errorf("%s: failure %q, want %q", c.capture, failure, want)
		}
		if got := a.Scope.Values[0]; got.Text != c.text || got.JSON != c.json {
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
		p := parsed(t, "scenarios: [{flow: [{get: {url: /, "+c.request+"}}, {get: {url: '/{{ a }}{{ b }}'}}]}]")
		a := replied("", `{"a":1,"b":2,"c":"three"}`)
		a.Scope.Values = make([]expr.Value, p.Slots)
		if failure, _ := captureValues(p.Requests()[0], a); failure != c.failure {
			t.Errorf("%s: %q", c.request, failure)
		}
		if got := a.Scope.Values; got[0].Text != c.a || got[1].Text != c.b {
			t.Errorf("%s: %+v", c.request, got)
		}
	}
	p := parsed(t, "config: {http: {defaults: {strictCapture: false}}}\nscenarios: [{flow: [{get: {url: /, capture: {json: $.x, as: v}}}]}]")
	a := replied("", "{}")
	a.Scope.Values = make([]expr.Value, p.Slots)
	if failure, _ := captureValues(p.Requests()[0], a); failure != "" {
		t.Errorf("with strictCapture: false: %q", failure)
	}
}

func TestWhatIsCapturedIsBounded(t *testing.T) {
	long := strings.Repeat("x", expr.MaxCaptured+1)
	for capture, body := range map[string]string{
		"json: $.a": `{"a":"` + long + `"}`, "regexp: 'x+'": long, "selector: p": "<p>" + long, "xpath: //p": "<p>" + long + "</p>",
	} {
		p := parsed(t, "scenarios: [{flow: [{get: {url: /, capture: {"+capture+", as: v}}}]}]")
		a := replied("", body)
		a.Scope.Values = make([]expr.Value, p.Slots)
		if failure, _ := captureValues(p.Requests()[0], a); failure != report.ErrorCapture {
			t.Errorf("%s took %d bytes", capture, len(a.Scope.Values[0].Text))
		}
	}
	deep := strings.Repeat("<a>", expr.MaxXMLDepth+2)
	if _, err := expr.ParseXML(deep); err == nil {
		t.Error("XML of any depth is read")
	}
	if _, err := expr.ParseXML("<a>" + strings.Repeat("<b c=''/>", expr.MaxDocuments) + "</a>"); err == nil {
		t.Error("any amount of XML is read")
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(make([]byte, 8<<20))
	w.Close()
	a := replied("content-encoding: gzip\r\n", z.String())
	if text, whole := a.BodyText(); whole || len(text) > expr.MaxBody {
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
			p := parsed(t, "config: {variables: {ok: 200, field: name}}\nscenarios: [{flow: [{get: {url: /, expect: "+form+"}}]}]")
			a := replied(head, body)
			a.Scope.Values = make([]expr.Value, p.Slots)
			for i := range p.Variables {
				p.Variables[i].Fill(a.Scope)
			}
			if got := p.Requests()[0].Expect[0].Holds(a); got != want {
				t.Errorf("%s is %v", form, got)
			}
		}
	}
	q := parsed(t, "scenarios: [{flow: [{get: {url: /, expect: {hasProperty: a}}}, {get: {url: /, expect: {notHasProperty: a}}}]}]")
	for _, r := range q.Requests() {
		if r.Expect[0].Holds(replied("", "no json")) {
			t.Error("a body that is not JSON has, or has not, a property")
		}
	}
}
