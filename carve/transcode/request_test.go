package transcode

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"whittle"
	"whittle/internal/fatal"
)

// TestRequest holds what a request says against the message that is sent, written as JSON: with the
// contract's names, bodies and words, and with others.
func TestRequest(t *testing.T) {
	plain := shop(t, whittle.Connect, "Plain")
	rich := shop(t, whittle.Connect, "Rich")
	user := shop(t, whittle.Connect, "Rich", Pattern("/users/{user_id}"))
	users := shop(t, whittle.Connect, "Rich", Pattern("/users/{user_id}/{tags...}"))
	get := func(target string) *whittle.Request { return &whittle.Request{Method: "GET", Target: target} }
	undeclared := post("/", "{}")
	delete(undeclared.Header, "Content-Type")
	zipped := post("/", "{}")
	zipped.Header["Content-Encoding"] = []string{"gzip"}
	truncated := post("/", "{}")
	truncated.Truncated = true
	colors := map[string]string{"RED": "red as a rose", "COLOR_UNSPECIFIED": "none"}
	worded := mapped(t, func(r *whittle.RPC) { r.Words = colors })
	strict := mapped(t, func(r *whittle.RPC) { r.Strict = true })
	form := mapped(t, func(r *whittle.RPC) { r.Content = whittle.BodyForm })
	body := func(field string) *Transcoder { return mapped(t, func(r *whittle.RPC) { r.Body = field }) }
	for _, c := range []struct {
		name string
		tr   *Transcoder
		r    *whittle.Request
		want string // empty: refused
	}{
		{"a number", plain, post("/", `{"i32": 7}`), `{"i32":7}`},
		{"a number in words of its own", plain, post("/", `{"i32": "7", "i64": 1e3, "u32": 2.0}`), `{"i32":7,"i64":"1000","u32":2}`},
		{
			"the ends of the ranges", plain, post("/", `{"i32":-2147483648,"i64":-9223372036854775808,"u32":4294967295,"u64":18446744073709551615,"s32":-2147483648,"s64":9223372036854775807}`),
			`{"i32":-2147483648,"i64":"-9223372036854775808","u32":4294967295,"u64":"18446744073709551615","s32":-2147483648,"s64":"9223372036854775807"}`,
		},
		{"both of a field's names", plain, post("/", `{"full_name":"a","yesNo":true}`), `{"fullName":"a","yesNo":true}`},
		{"fields that nobody knows", plain, post("/", `{"i32":1,"x":{"y":[1]},"z":null,"w":"é"}`), `{"i32":1}`},
		{"a null field", plain, post("/", `{"i32":null}`), `{}`},
		{"zero where it differs from unset", plain, post("/", `{"maybe":0,"i32":0}`), `{"maybe":0}`},
		{"text beyond ASCII", plain, post("/", `{"fullName":"é\n\u00e9 \ud83d\ude00"}`), `{"fullName":"é\né 😀"}`},
		{"no body", plain, post("/", ""), `{}`},
		{"no body and an empty query", plain, get("/?"), `{}`},
		{"a query", plain, get("/x?i32=5&yes_no=true&fullName=a+b%26c&v=1"), `{"i32":5,"yesNo":true,"fullName":"a b&c"}`},
		{"a query with a body", plain, post("/?i32=5", `{"i64":1}`), `{"i64":"1"}`},
		{
			"a rich query", rich, get("/?tags=a&tags=b&inner.user_id=9&color=RED&at=2026-01-02T03:04:05Z&big=12&numbers=1&numbers=2&raw=AQI="),
			`{"tags":["a","b"],"inner":{"userId":"9"},"color":"RED","at":"2026-01-02T03:04:05Z","big":"12","numbers":["1","2"],"raw":"AQI="}`,
		},
		{"an enum by number", rich, get("/?color=1&on=false"), `{"color":"RED"}`},
		{"the path", users, get("/users/42/a%2Fb/c?tags=x"), `{"userId":"42","tags":["x","a/b/c"]}`},
		{"the path over the body", users, post("/users/42/", `{"userId":7,"ratio":0.5}`), `{"userId":"42","ratio":0.5,"tags":[""]}`},

		{"a fraction", plain, post("/", `{"i32":1.5}`), ""},
		{"a word for a number", plain, post("/", `{"i32":"abc"}`), ""},
		{"a number out of range", plain, post("/", `{"i32":2147483648}`), ""},
		{"a number below range", plain, post("/", `{"u32":-1}`), ""},
		{"null", plain, post("/", `null`), ""},
		{"an array", plain, post("/", `[1]`), ""},
		{"a bare number", plain, post("/", `7`), ""},
		{"half a body", plain, post("/", `{"i32":`), ""},
		{"two bodies", plain, post("/", `{"i32":1}{}`), ""},
		{"blanks alone", plain, post("/", " \n"), ""},
		{"a field twice", plain, post("/", `{"i32":1,"i32":2}`), ""},
		{"leading zeros", plain, post("/", `{"i32":01}`), ""},
		{"an object for a number", plain, post("/", `{"i32":{}}`), ""},
		{"a form in place of JSON", plain, sent(asForm, "/", "i32=1"), ""},
		{"an undeclared body", plain, undeclared, ""},
		{"a compressed body", plain, zipped, ""},
		{"half a copy", plain, truncated, ""},
		{"depths", rich, post("/", strings.Repeat(`{"inner":`, 1000)+"{}"+strings.Repeat("}", 1000)), ""},
		{"a word in the query", plain, get("/?i32=x"), ""},
		{"a broken query", plain, get("/?i32=%zz"), ""},
		{"a map in the query", rich, get("/?counts=1"), ""},
		{"a word in the path", user, post("/users/me", ""), ""},
		{"too short a path", user, post("/users", ""), ""},

		{"a list is the body", body("tags"), sent(asJSON, "/", `["a","b"]`), `{"tags":["a","b"]}`},
		{"a number is the body", body("userId"), sent(asJSON, "/", ` 7 `), `{"userId":"7"}`},
		{"a message is the body", body("inner"), sent(asJSON, "/", `{"userId":7}`), `{"inner":{"userId":"7"}}`},
		{"a map is the body", body("counts"), sent(asJSON, "/", `{"7":8}`), `{"counts":{"7":"8"}}`},
		{"null is the body", body("inner"), sent(asJSON, "/", `null`), `{}`},
		{"a number as text", body("user_id"), sent(asText, "/", `7`), `{"userId":"7"}`},
		{"bytes are the body", body("raw"), sent("image/png", "/", "\x01\x02"), `{"raw":"AQI="}`},
		{"no body for a field", body("tags"), sent("", "/?user_id=3", ""), `{"userId":"3"}`},
		{"a field smuggled behind the body", body("userId"), sent(asJSON, "/", `7,"on":true`), ""},
		{"a list declared as text", body("tags"), sent(asText, "/", `["a"]`), ""},
		{"a word where a number is", body("userId"), sent(asText, "/", `x`), ""},

		{"a query of other names", mapped(t, func(r *whittle.RPC) {
			r.Query = map[string]string{"id": "user_id", "i": "inner.user_id"}
		}), sent("", "/?id=4&i=5&on=true", ""), `{"userId":"4","on":true,"inner":{"userId":"5"}}`},
		{"a named parameter with a body", mapped(t, func(r *whittle.RPC) {
			r.Query = map[string]string{"id": "user_id"}
		}), sent(asJSON, "/?id=4&on=true", `{"ratio":0.5}`), `{"userId":"4","ratio":0.5}`},
		{"a wildcard of another name", mapped(t, func(r *whittle.RPC) {
			r.Path = map[string]string{"id": "inner.user_id"}
		}, Pattern("/u/{id}/{tags}")), sent("", "/u/9/x", ""), `{"inner":{"userId":"9"},"tags":["x"]}`},

		{"a form of other names", mapped(t, func(r *whittle.RPC) {
			r.Content, r.Form = whittle.BodyForm, map[string]string{"user-name[id]": "user_id"}
		}), sent(asForm, "/", "user-name%5Bid%5D=4"), `{"userId":"4"}`},
		{"a strict form", mapped(t, func(r *whittle.RPC) { r.Content, r.Strict = whittle.BodyForm, true }), sent(asForm, "/", "user_id=4&who=x"), ""},
		{"a strict query", strict, sent("", "/?user_id=4&who=x", ""), ""},
		{"a strict query with a body", strict, sent(asJSON, "/?who=x", `{"ratio":0.5}`), ""},
		{"a strict body", strict, sent(asJSON, "/", `{"inner":{"who":1}}`), ""},
		{"a strict body of the contract", strict, sent(asJSON, "/?", `{"ratio":0.5}`), `{"ratio":0.5}`},
		{"a form", form, sent(asForm, "/", "user_id=4&tags=a&tags=b+c&who=x"), `{"userId":"4","tags":["a","b c"]}`},
		{"JSON in place of a form", form, sent(asJSON, "/", "{}"), ""},
		{"a broken form", form, sent(asForm, "/", "user_id=%zz"), ""},
		{"a word in a form", form, sent(asForm, "/", "user_id=x"), ""},
		{"a body nobody looks at", mapped(t, func(r *whittle.RPC) { r.Content = whittle.BodyIgnored }), sent("x/y", "/?on=true", "\xff"), `{"on":true}`},

		{
			"enum's words at depth", worded,
			sent(asJSON, "/", `{"color":"red as a rose","inner":{"inner":{"color":"red as a rose","big":9007199254740993}}}`),
			`{"color":"RED","inner":{"inner":{"color":"RED","big":"9007199254740993"}}}`,
		},
		{"an enum's word in the query", worded, sent("", "/?color=red+as+a+rose", ""), `{"color":"RED"}`},
		{"an enum's number", worded, sent(asJSON, "/", `{"color":1}`), ""},
		{"an enum's number in the query", worded, sent("", "/?color=1", ""), ""},
		{"null for an enum with words", worded, sent(asJSON, "/", `{"color":null}`), ""},
		{"a name of no value", rich, sent(asJSON, "/", `{"inner":{"color":"BLUE"}}`), ""},
		{"half a surrogate pair with words", worded, sent(asJSON, "/", `{"color":"red as a rose","tags":["\ud800"]}`), ""},
		{"a member twice with words", worded, sent(asJSON, "/", `{"color":"red as a rose","userId":1,"userId":2}`), ""},
		{
			"a word with escapes", worded,
			sent(asJSON, "/", ` { "x" : [ {"color":"]"} , "\"" ] , "\u0063olor" : "red\u0020as a rose" , "tags" : [ "<" ] } `), `{"color":"RED","tags":["<"]}`,
		},
		{"a word of no enum", worded, sent(asJSON, "/", `{"inner":{"color":"RED"}}`), ""},
		{"words in a whole body", mapped(t, func(r *whittle.RPC) { r.Words, r.Body = colors, "color" }), sent(asText, "/", `red as a rose`), `{"color":"RED"}`},
		{"a field of the wrong kind with words", worded, sent(asJSON, "/", `{"inner":[1]}`), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.tr.Request(c.r)
			if c.want == "" {
				if code := map[bool]whittle.Code{false: whittle.Invalid, true: whittle.ResourceExhausted}[c.r.Truncated]; err == nil || whittle.CodeOf(err) != code {
					t.Errorf("Request = %v, %v, want it refused", got, err)
				}
				return
			}
			fatal.If(t, err)
			m, want := message(t, c.tr, got.Body), message(t, c.tr, wire(t, c.tr, c.want))
			if !proto.Equal(m.Interface(), want.Interface()) {
				t.Errorf("sent %v, want %v", m.Interface(), want.Interface())
			}
		})
	}
}

func TestRequestHeader(t *testing.T) {
	r := post("/", `{}`)
	for name, value := range map[string]string{
		"Authorization": "Bearer x", "Cookie": "sid=1", "Traceparent": "00-1", "X-User": "ann", "X-Request-Id": "7", "User-Agent": "u",
		"Connection": "close, X-Hop", "X-Hop": "1", "Content-Length": "2", "Accept": "text/html", "Accept-Encoding": "gzip",
		"Grpc-Timeout": "1H", "Connect-Timeout-Ms": "1", "Te": "gzip", "If-None-Match": "x", "Range": "bytes=0-1", "Origin": "o",
		"Sec-Fetch-Mode": "cors", "Expect": "100-continue", "Transfer-Encoding": "chunked", "X-Bytes-Bin": "%%",
	} {
		r.Header[name] = []string{value}
	}
	before := len(r.Header)
	got, err := shop(t, whittle.Twirp, "Plain").Request(r)
	fatal.If(t, err)
	want := whittle.Header{
		"Authorization": {"Bearer x"}, "Cookie": {"sid=1"}, "Traceparent": {"00-1"}, "X-User": {"ann"}, "X-Request-Id": {"7"},
		"User-Agent": {"u"}, "Content-Type": {"application/protobuf"}, "Accept-Encoding": {"identity"},
	}
	if !reflect.DeepEqual(got.Header, want) {
		t.Errorf("header %v, want %v", got.Header, want)
	}
	if len(r.Header) != before || r.Header.Get("Content-Type") != "application/json" {
		t.Error("the request that was given has changed")
	}
}

// FuzzRequest: whatever is asked, there is a call or a coded error.
func FuzzRequest(f *testing.F) {
	trs := []*Transcoder{
		shop(f, whittle.Twirp, "Plain"), shop(f, whittle.TwirpJSON, "Rich"), shop(f, whittle.GRPC, "Rich", Pattern("/users/{user_id}/{tags...}")),
	}
	f.Add("/users/1/a?x=1", []byte(`{"i32":1}`))
	f.Add("/?inner.inner.user_id=3&tags=a", []byte(nil))
	f.Add("/?at=0001-01-01T00:00:00Z&free=1&inner=2", []byte(nil))
	f.Add("/users", []byte(`{"free":{"a":[1,{"b":null}]},"at":"2026-01-02T03:04:05.5Z","counts":{"1":"2"},"ratio":"NaN"}`))
	f.Fuzz(func(t *testing.T, target string, body []byte) {
		for _, tr := range trs {
			got, err := tr.Request(post(target, string(body)))
			if err != nil {
				if c := whittle.CodeOf(err); c != whittle.Invalid && c != whittle.ResourceExhausted {
					t.Fatalf("code %v: %v", c, err)
				}
				continue
			}
			if tr.rpc.Protocol == whittle.TwirpJSON && !json.Valid(got.Body) {
				t.Fatalf("not JSON: %q", got.Body)
			}
		}
	})
}
