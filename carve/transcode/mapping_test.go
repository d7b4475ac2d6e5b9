package transcode

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"whittle"
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

// TestMappedResponse: what a message is to the user. A value that no word of JSON stands for is the
// candidate's failure, which names the field, and not another word.
func TestMappedResponse(t *testing.T) {
	whole := func(field, contentType string) func(*whittle.RPC) {
		return func(r *whittle.RPC) { r.Response, r.ContentType = field, contentType }
	}
	plain := func(r *whittle.RPC) { r.Method = "shop.v1.Shop/Plain" }
	rich, red := func(*whittle.RPC) {}, map[string]string{"RED": "red"}
	for _, c := range []struct {
		name   string
		change func(*whittle.RPC)
		json   string // of the message, but for numbers
		want   string // behind "malformed: " what the failure says
	}{
		{
			"zeros are present, unset optionals are not", plain, `{}`,
			`{"i32":0,"i64":0,"u32":0,"u64":0,"s32":0,"s64":0,"yesNo":false,"fullName":""}`,
		},
		{
			"numbers stay numbers", plain, `{"i64":"500047951","u64":"18446744073709551615","maybe":0}`,
			`{"i32":0,"i64":500047951,"u32":0,"u64":18446744073709551615,"s32":0,"s64":0,"yesNo":false,"fullName":"","maybe":0}`,
		},
		{
			"everything else", rich,
			`{"userId":"-9","color":"RED","raw":"AQI=","ratio":0.1,"tags":["a\u0001<b>","\"\\\n"],` +
				`"counts":{"10":"1","9":"2"},"inner":{"single":0.1},"at":"2026-01-02T03:04:05Z","big":"9007199254740993","free":{"k":[1,null]},"numbers":["1"]}`,
			`{"userId":-9,"color":"RED","raw":"AQI=","ratio":0.1,"tags":["a\u0001<b>","\"\\\n"],"counts":{"9":2,"10":1},` +
				`"inner":{"userId":0,"color":"COLOR_UNSPECIFIED","raw":"","ratio":0,"tags":[],"counts":{},"single":0.1,"on":false,"numbers":[]},` +
				`"at":"2026-01-02T03:04:05Z","big":9007199254740993,"single":0,"on":false,"free":{"k":[1,null]},"numbers":[1]}`,
		},
		{
			"numbers as ECMAScript writes them", rich, `{"ratio":1e21,"single":1e-7}`,
			`{"userId":0,"color":"COLOR_UNSPECIFIED","raw":"","ratio":1e+21,"tags":[],"counts":{},"single":1e-7,"on":false,"numbers":[]}`,
		},
		{
			"what JSON has no number for", rich, `{"ratio":"-Infinity","single":"NaN","color":7}`,
			`{"userId":0,"color":7,"raw":"","ratio":"-Infinity","tags":[],"counts":{},"single":"NaN","on":false,"numbers":[]}`,
		},

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

		{"no word for what is unset", func(r *whittle.RPC) { r.Words = red }, `{}`, "malformed: shop.v1.Rich.color is COLOR_UNSPECIFIED, which no word"},
		{
			"no word, and absent where it is", func(r *whittle.RPC) { r.Words, r.Absent = red, []string{"$.color"} },
			`{}`, `{"userId":0,"raw":"","ratio":0,"tags":[],"counts":{},"single":0,"on":false,"numbers":[]}`,
		},
		{
			"no word, and null where it is", func(r *whittle.RPC) { r.Words, r.Nulls = red, []string{"$.color"} },
			`{}`, `{"userId":0,"color":null,"raw":"","ratio":0,"tags":[],"counts":{},"single":0,"on":false,"numbers":[]}`,
		},
		{"no word deeper down", func(r *whittle.RPC) { r.Words = red }, `{"color":1,"inner":{}}`, "malformed: is COLOR_UNSPECIFIED"},
		{"no word for a number", func(r *whittle.RPC) { r.Words = red }, `{"color":7}`, "malformed: is 7, which no word"},
		{"no word for a number, as text", func(r *whittle.RPC) { r.Words, r.Response, r.ContentType = red, "color", asText }, `{"color":7}`, "malformed: is 7, which no word"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := mapped(t, c.change)
			a := tr.Response(response(200, "application/proto", string(wire(t, tr, c.json))))
			if says, fails := strings.CutPrefix(c.want, "malformed: "); fails {
				if a.Failure != whittle.FailedMalform || !strings.Contains(a.Detail, says) {
					t.Errorf("%q %q, want %q", a.Failure, a.Detail, says)
				}
				return
			}
			if a.Failure != "" || a.Status != 200 || a.Latency != time.Second || string(a.Body) != c.want {
				t.Errorf("got %d %s %s\n%s\nwant\n%s", a.Status, a.Failure, a.Detail, a.Body, c.want)
			}
			if kind := cmp.Or(tr.rpc.ContentType, "application/json"); a.Header.Get("Content-Type") != kind && tr.rpc.Template == "" {
				t.Errorf("its type is %q, want %s", a.Header.Get("Content-Type"), kind)
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

// TestResponseWithoutABody: a status without a body has none, whatever the message is. A redirect
// without a body has no content type, and leads where the candidate's header says.
func TestResponseWithoutABody(t *testing.T) {
	for status, change := range map[int]func(*whittle.RPC){
		204: func(*whittle.RPC) {}, 302: func(r *whittle.RPC) { r.ContentType, r.Template = whittle.NoContentType, `{{""}}` },
	} {
		tr := mapped(t, func(r *whittle.RPC) { r.Status = status; change(r) })
		got := tr.Response(&whittle.Response{Status: 200, Header: whittle.Header{
			"Content-Type": {"application/proto"}, "Location": {"/home"}, "Set-Cookie": {"sid=1", "b=2"},
		}})
		if _, typed := got.Header["Content-Type"]; typed || got.Status != status || len(got.Body) > 0 || got.Header.Get("Location") != "/home" || len(got.Header["Set-Cookie"]) != 2 {
			t.Errorf("%+v, want %d with /home, two cookies and nothing else", got, status)
		}
	}
}
