package transcode

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"whittle"
	"whittle/internal/fatal"
)

func mapped(t testing.TB, change func(*whittle.RPC), options ...Option) *Transcoder {
	t.Helper()
	rpc := whittle.RPC{Protocol: whittle.Connect, Descriptor: contract(t), Method: "shop.v1.Shop/Rich"}
	change(&rpc)
	return newTranscoder(t, rpc, options...)
}

func sent(contentType, target, body string) *whittle.Request {
	return &whittle.Request{
		Method: "POST", Target: target, Header: whittle.Header{"Content-Type": {contentType}}, Body: []byte(body),
	}
}

const (
	asJSON = "application/json"
	asText = "text/plain; charset=utf-8"
	asForm = "application/x-www-form-urlencoded"
)

// TestMappedRequest holds requests whose names, bodies or words are not the
// contract's against the message that is sent.
func TestMappedRequest(t *testing.T) {
	colors := map[string]string{"RED": "red as a rose", "COLOR_UNSPECIFIED": "none"}
	for _, c := range []struct {
		name    string
		change  func(*whittle.RPC)
		pattern string
		r       *whittle.Request
		want    string // empty: refused
	}{
		{"a list is the body", func(r *whittle.RPC) { r.Body = "tags" }, "", sent(asJSON, "/", `["a","b"]`), `{"tags":["a","b"]}`},
		{"a number is the body", func(r *whittle.RPC) { r.Body = "userId" }, "", sent(asJSON, "/", ` 7 `), `{"userId":"7"}`},
		{"a message is the body", func(r *whittle.RPC) { r.Body = "inner" }, "", sent(asJSON, "/", `{"userId":7}`), `{"inner":{"userId":"7"}}`},
		{"a map is the body", func(r *whittle.RPC) { r.Body = "counts" }, "", sent(asJSON, "/", `{"7":8}`), `{"counts":{"7":"8"}}`},
		{"null is the body", func(r *whittle.RPC) { r.Body = "inner" }, "", sent(asJSON, "/", `null`), `{}`},
		{"a number as text", func(r *whittle.RPC) { r.Body = "user_id" }, "", sent(asText, "/", `7`), `{"userId":"7"}`},
		{"bytes are the body", func(r *whittle.RPC) { r.Body = "raw" }, "", sent("image/png", "/", "\x01\x02"), `{"raw":"AQI="}`},
		{"no body for a field", func(r *whittle.RPC) { r.Body = "tags" }, "", sent("", "/?user_id=3", ""), `{"userId":"3"}`},
		{"a field smuggled behind the body", func(r *whittle.RPC) { r.Body = "userId" }, "", sent(asJSON, "/", `7,"on":true`), ""},
		{"a list declared as text", func(r *whittle.RPC) { r.Body = "tags" }, "", sent(asText, "/", `["a"]`), ""},
		{"a word where a number is", func(r *whittle.RPC) { r.Body = "userId" }, "", sent(asText, "/", `x`), ""},

		{"a query of other names", func(r *whittle.RPC) {
			r.Query = map[string]string{"id": "user_id", "i": "inner.user_id"}
		}, "", sent("", "/?id=4&i=5&on=true", ""), `{"userId":"4","on":true,"inner":{"userId":"5"}}`},
		{"a named parameter with a body", func(r *whittle.RPC) { r.Query = map[string]string{"id": "user_id"} }, "", sent(asJSON, "/?id=4&on=true", `{"ratio":0.5}`), `{"userId":"4","ratio":0.5}`},
		{"a wildcard of another name", func(r *whittle.RPC) { r.Path = map[string]string{"id": "inner.user_id"} }, "/u/{id}/{tags}", sent("", "/u/9/x", ""), `{"inner":{"userId":"9"},"tags":["x"]}`},

		{"a form of other names", func(r *whittle.RPC) {
			r.Content, r.Form = whittle.BodyForm, map[string]string{"user-name[id]": "user_id"}
		}, "", sent(asForm, "/", "user-name%5Bid%5D=4"), `{"userId":"4"}`},
		{"a strict form", func(r *whittle.RPC) { r.Content, r.Strict = whittle.BodyForm, true }, "", sent(asForm, "/", "user_id=4&who=x"), ""},
		{"a strict query", func(r *whittle.RPC) { r.Strict = true }, "", sent("", "/?user_id=4&who=x", ""), ""},
		{"a strict query with a body", func(r *whittle.RPC) { r.Strict = true }, "", sent(asJSON, "/?who=x", `{"ratio":0.5}`), ""},
		{"a strict body", func(r *whittle.RPC) { r.Strict = true }, "", sent(asJSON, "/", `{"inner":{"who":1}}`), ""},
		{"a strict body of the contract", func(r *whittle.RPC) { r.Strict = true }, "", sent(asJSON, "/?", `{"ratio":0.5}`), `{"ratio":0.5}`},
		{"a form", func(r *whittle.RPC) { r.Content = whittle.BodyForm }, "", sent(asForm, "/", "user_id=4&tags=a&tags=b+c&who=x"), `{"userId":"4","tags":["a","b c"]}`},
		{"JSON in place of a form", func(r *whittle.RPC) { r.Content = whittle.BodyForm }, "", sent(asJSON, "/", "{}"), ""},
		{"a broken form", func(r *whittle.RPC) { r.Content = whittle.BodyForm }, "", sent(asForm, "/", "user_id=%zz"), ""},
		{"a word in a form", func(r *whittle.RPC) { r.Content = whittle.BodyForm }, "", sent(asForm, "/", "user_id=x"), ""},
		{"a body nobody looks at", func(r *whittle.RPC) { r.Content = whittle.BodyIgnored }, "", sent("x/y", "/?on=true", "\xff"), `{"on":true}`},

		{
			"enum's words at depth", func(r *whittle.RPC) { r.Words = colors }, "",
			sent(asJSON, "/", `{"color":"red as a rose","inner":{"inner":{"color":"red as a rose","big":9007199254740993}}}`),
			`{"color":"RED","inner":{"inner":{"color":"RED","big":"9007199254740993"}}}`,
		},
		{"an enum's word in the query", func(r *whittle.RPC) { r.Words = colors }, "", sent("", "/?color=red+as+a+rose", ""), `{"color":"RED"}`},
		{"an enum's number", func(r *whittle.RPC) { r.Words = colors }, "", sent(asJSON, "/", `{"color":1}`), ""},
		{"an enum's number in the query", func(r *whittle.RPC) { r.Words = colors }, "", sent("", "/?color=1", ""), ""},
		{"null for an enum with words", func(r *whittle.RPC) { r.Words = colors }, "", sent(asJSON, "/", `{"color":null}`), ""},
		{"a name of no value", func(*whittle.RPC) {}, "", sent(asJSON, "/", `{"inner":{"color":"BLUE"}}`), ""},
		{"half a surrogate pair with words", func(r *whittle.RPC) { r.Words = colors }, "", sent(asJSON, "/", `{"color":"red as a rose","tags":["\ud800"]}`), ""},
		{"a member twice with words", func(r *whittle.RPC) { r.Words = colors }, "", sent(asJSON, "/", `{"color":"red as a rose","userId":1,"userId":2}`), ""},
		{
			"a word with escapes", func(r *whittle.RPC) { r.Words = colors }, "",
			sent(asJSON, "/", ` { "x" : [ {"color":"]"} , "\"" ] , "\u0063olor" : "red\u0020as a rose" , "tags" : [ "<" ] } `), `{"color":"RED","tags":["<"]}`,
		},
		{"a word of no enum", func(r *whittle.RPC) { r.Words = colors }, "", sent(asJSON, "/", `{"inner":{"color":"RED"}}`), ""},
		{"words in a whole body", func(r *whittle.RPC) { r.Words, r.Body = colors, "color" }, "", sent(asText, "/", `red as a rose`), `{"color":"RED"}`},
		{"a field of the wrong kind with words", func(r *whittle.RPC) { r.Words = colors }, "", sent(asJSON, "/", `{"inner":[1]}`), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := mapped(t, c.change, Pattern(c.pattern))
			got, err := tr.Request(c.r)
			if c.want == "" {
				if err == nil || whittle.CodeOf(err) != whittle.Invalid {
					t.Fatalf("Request = %v, want it refused", err)
				}
				return
			}
			fatal.If(t, err)
			m, want := message(t, tr, got.Body), message(t, tr, wire(t, tr, c.want))
			if !proto.Equal(m.Interface(), want.Interface()) {
				t.Errorf("sent %v, want %v", m.Interface(), want.Interface())
			}
		})
	}
}

func TestMappedResponse(t *testing.T) {
	whole := func(field, contentType string) func(*whittle.RPC) {
		return func(r *whittle.RPC) { r.Response, r.ContentType = field, contentType }
	}
	for _, c := range []struct {
		name   string
		change func(*whittle.RPC)
		json   string
		want   string
	}{
		{"a list", whole("tags", ""), `{"tags":["a","b"]}`, `["a","b"]`},
		{"an empty list", whole("tags", ""), `{}`, `[]`},
		{"an empty list that is null", func(r *whittle.RPC) { r.Response, r.Nulls = "tags", []string{"$"} }, `{}`, `null`},
		{"a map", whole("counts", ""), `{"counts":{"7":"8"}}`, `{"7":8}`},
		{"a number", whole("user_id", ""), `{"userId":"-3"}`, `-3`},
		{"a string in JSON", whole("raw", ""), `{"raw":"AQI="}`, `"AQI="`},
		{"an unset message", whole("inner", ""), `{}`, `null`},
		{"a free value", whole("free", ""), `{"free":{"z":[1,null,{"a":0.5}],"b":"<&>"}}`, `{"b":"<&>","z":[1,null,{"a":0.5}]}`},
		{"a number as text", whole("userId", asText), `{"userId":"12"}`, `12`},
		{"a bool as text", whole("on", asText), `{}`, `false`},
		{"an enum as text", func(r *whittle.RPC) {
			r.Response, r.ContentType, r.Words = "color", asText, map[string]string{"RED": "red"}
		}, `{"color":"RED"}`, `red`},
		{"bytes as they are", whole("raw", "image/png"), `{"raw":"AQI="}`, "\x01\x02"},
		{"an unset value as text", whole("big", asText), `{}`, ``},
		{"an optional as text", whole("big", asText), `{"big":"5"}`, `5`},
		{
			"nulls and absences",
			func(r *whittle.RPC) {
				r.Nulls = []string{"$.inner.inner", "$.at", `$["inner"]['numbers']`}
				r.Absent = []string{
					"$.userId", "$.color", "$.tags", "$.counts", "$.raw", "$.ratio", "$.single", "$.on", "$.numbers",
					"$.inner.user_id", "$.inner.color", "$.inner.raw", "$.inner.ratio", "$.inner.tags", "$.inner.counts", "$.inner.single",
				}
			},
			`{"inner":{"on":true}}`, `{"inner":{"inner":null,"on":true,"numbers":null},"at":null}`,
		},
		{
			"what is there stays there",
			func(r *whittle.RPC) { r.Nulls, r.Absent, r.Response = []string{"$.inner"}, []string{"$.tags"}, "inner" },
			`{"inner":{"tags":["x"],"inner":{}}}`,
			`{"userId":0,"color":"COLOR_UNSPECIFIED","raw":"","ratio":0,"tags":["x"],"counts":{},` +
				`"inner":{"userId":0,"color":"COLOR_UNSPECIFIED","raw":"","ratio":0,"tags":[],"counts":{},"single":0,"on":false,"numbers":[]},` +
				`"single":0,"on":false,"numbers":[]}`,
		},
		{"a template's words", func(r *whittle.RPC) {
			r.Template, r.Words = "{{.color}} {{with .inner}}{{.color}}{{end}}", map[string]string{"RED": "red", "COLOR_UNSPECIFIED": "-"}
		}, `{"color":"RED","inner":{}}`, `red -`},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := mapped(t, c.change)
			a := tr.Response(response(200, "application/proto", string(wire(t, tr, c.json))))
			if a.Failure != "" || string(a.Body) != c.want {
				t.Errorf("got %s %s\n%s\nwant\n%s", a.Failure, a.Detail, a.Body, c.want)
			}
		})
	}
}

// TestWordlessResponse: a value that no word of JSON stands for is the candidate's
// failure, which names the field, and not another word.
func TestWordlessResponse(t *testing.T) {
	red := map[string]string{"RED": "red"}
	for _, c := range []struct {
		name   string
		change func(*whittle.RPC)
		wire   string // JSON of the message, but for numbers
		says   string // empty: it is a response
	}{
		{"unset", func(r *whittle.RPC) { r.Words = red }, `{}`, "shop.v1.Rich.color is COLOR_UNSPECIFIED, which no word"},
		{"unset, and absent where it is", func(r *whittle.RPC) { r.Words, r.Absent = red, []string{"$.color"} }, `{}`, ""},
		{"unset, and null where it is", func(r *whittle.RPC) { r.Words, r.Nulls = red, []string{"$.color"} }, `{}`, ""},
		{"unset deeper down", func(r *whittle.RPC) { r.Words = red }, `{"color":1,"inner":{}}`, "is COLOR_UNSPECIFIED"},
		{"a number of no value", func(r *whittle.RPC) { r.Words = red }, `{"color":7}`, "is 7, which no word"},
		{"a number of no value as text", func(r *whittle.RPC) { r.Words, r.Response, r.ContentType = red, "color", asText }, `{"color":7}`, "is 7, which no word"},
		{"without words numbers and names are", func(*whittle.RPC) {}, `{"color":7,"inner":{}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := mapped(t, c.change)
			a := tr.Response(response(200, "application/proto", string(wire(t, tr, c.wire))))
			if (a.Failure == whittle.FailedMalform) != (c.says != "") || !strings.Contains(a.Detail, c.says) {
				t.Errorf("%q %q, want %q", a.Failure, a.Detail, c.says)
			}
		})
	}
	tr := mapped(t, func(r *whittle.RPC) { r.Protocol = whittle.TwirpJSON })
	if a := tr.Response(response(200, "application/json", `{"color":"BLUE"}`)); a.Failure != whittle.FailedMalform || !strings.Contains(a.Detail, `"BLUE" is no value of shop.v1.Color`) {
		t.Errorf("a name of no value: %+v", a)
	}
}

// FuzzMapped: whatever a user sends or a candidate responds, there is a call or
// a coded error, a response or a failure, and both within bounds.
func FuzzMapped(f *testing.F) {
	f.Add("/u/1?id=2", asJSON, []byte(`{"color":"red","inner":{"color":"red"}}`), uint8(0))
	f.Add("/u/1", asJSON, []byte(`["a"]`), uint8(1))
	f.Add("/u/1", asForm, []byte(`tags=a&color=red`), uint8(2))
	f.Add("/u/1", asText, []byte(`text`), uint8(3))
	kinds := []*Transcoder{
		mapped(f, func(r *whittle.RPC) {
			r.Words, r.Query, r.Path = map[string]string{"RED": "red", "COLOR_UNSPECIFIED": "none"}, map[string]string{"id": "inner.user_id"}, map[string]string{"id": "user_id"}
			r.Nulls, r.Absent = []string{"$.inner.inner", "$.numbers"}, []string{"$.tags"}
		}, Pattern("/u/{id}")),
		mapped(f, func(r *whittle.RPC) { r.Body, r.Response = "tags", "numbers" }),
		mapped(f, func(r *whittle.RPC) {
			r.Content, r.Response, r.ContentType = whittle.BodyForm, "color", asText
			r.Words = map[string]string{"RED": "red"}
		}),
		mapped(f, func(r *whittle.RPC) { r.Body, r.Response = "inner", "inner" }),
	}
	f.Fuzz(func(t *testing.T, target, contentType string, body []byte, kind uint8) {
		tr := kinds[int(kind)%len(kinds)]
		r := &whittle.Request{Method: "POST", Target: target, Header: whittle.Header{"Content-Type": {contentType}}, Body: body}
		call, err := tr.Request(r)
		if err != nil {
			if c := whittle.CodeOf(err); c != whittle.Invalid && c != whittle.ResourceExhausted {
				t.Fatalf("code %v: %v", c, err)
			}
			return
		}
		a := tr.Response(response(200, "application/proto", string(call.Body)))
		if a.Failure != "" && !strings.Contains(a.Detail, "no word of JSON") || len(a.Body) > 2*maxRendered {
			t.Fatalf("%s %s, %d bytes", a.Failure, a.Detail, len(a.Body))
		}
		if a.Failure == "" && isJSON(a.Header.Get("Content-Type")) && !json.Valid(a.Body) {
			t.Fatalf("not JSON: %q", a.Body)
		}
	})
}

// TestNoContent: a status without a body has none, whatever the message is.
func TestNoContent(t *testing.T) {
	tr := mapped(t, func(r *whittle.RPC) { r.Status = 204 })
	got := tr.Response(&whittle.Response{Status: 200, Header: whittle.Header{"Content-Type": {"application/proto"}}})
	if got.Status != 204 || len(got.Body) > 0 || got.Header.Get("Content-Type") != "" {
		t.Errorf("%+v, want 204 with nothing", got)
	}
}

// TestRedirect: a redirect without a body has no content type, and leads where the
// candidate's header says.
func TestRedirect(t *testing.T) {
	tr := mapped(t, func(r *whittle.RPC) { r.Status, r.ContentType, r.Template = 302, whittle.NoContentType, `{{""}}` })
	got := tr.Response(&whittle.Response{Status: 200, Header: whittle.Header{
		"Content-Type": {"application/proto"}, "Location": {"/home"}, "Set-Cookie": {"sid=1", "b=2"},
	}})
	if _, typed := got.Header["Content-Type"]; typed || got.Status != 302 || len(got.Body) > 0 || got.Header.Get("Location") != "/home" || len(got.Header["Set-Cookie"]) != 2 {
		t.Errorf("%+v, want 302 to /home with two cookies and nothing else", got)
	}
}
