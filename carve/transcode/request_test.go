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

// TestRequestBody holds what a request says against the message that is sent,
// written as JSON.
func TestRequestBody(t *testing.T) {
	plain := shop(t, whittle.Connect, "Plain")
	rich := shop(t, whittle.Connect, "Rich")
	users := shop(t, whittle.Connect, "Rich", Pattern("/users/{user_id}/{tags...}"))
	get := func(target string) *whittle.Request { return &whittle.Request{Method: "GET", Target: target} }
	for _, c := range []struct {
		name string
		tr   *Transcoder
		r    *whittle.Request
		want string
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
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.tr.Request(c.r)
			fatal.If(t, err)
			m, want := message(t, c.tr, got.Body), message(t, c.tr, wire(t, c.tr, c.want))
			if !proto.Equal(m.Interface(), want.Interface()) {
				t.Errorf("sent %v, want %v", m.Interface(), want.Interface())
			}
		})
	}
}

func TestRequestRefuses(t *testing.T) {
	plain := shop(t, whittle.Twirp, "Plain")
	rich := shop(t, whittle.Twirp, "Rich")
	users := shop(t, whittle.Twirp, "Rich", Pattern("/users/{user_id}"))
	form := post("/", "i32=1")
	form.Header["Content-Type"] = []string{"application/x-www-form-urlencoded"}
	undeclared := post("/", "{}")
	delete(undeclared.Header, "Content-Type")
	zipped := post("/", "{}")
	zipped.Header["Content-Encoding"] = []string{"gzip"}
	truncated := post("/", "{}")
	truncated.Truncated = true
	deep := post("/", strings.Repeat(`{"inner":`, 1000)+"{}"+strings.Repeat("}", 1000))
	for _, c := range []struct {
		name string
		tr   *Transcoder
		r    *whittle.Request
		code whittle.Code
	}{
		{"a fraction", plain, post("/", `{"i32":1.5}`), whittle.Invalid},
		{"a word for a number", plain, post("/", `{"i32":"abc"}`), whittle.Invalid},
		{"a number out of range", plain, post("/", `{"i32":2147483648}`), whittle.Invalid},
		{"a number below range", plain, post("/", `{"u32":-1}`), whittle.Invalid},
		{"null", plain, post("/", `null`), whittle.Invalid},
		{"an array", plain, post("/", `[1]`), whittle.Invalid},
		{"a bare number", plain, post("/", `7`), whittle.Invalid},
		{"half a body", plain, post("/", `{"i32":`), whittle.Invalid},
		{"two bodies", plain, post("/", `{"i32":1}{}`), whittle.Invalid},
		{"blanks alone", plain, post("/", " \n"), whittle.Invalid},
		{"a field twice", plain, post("/", `{"i32":1,"i32":2}`), whittle.Invalid},
		{"leading zeros", plain, post("/", `{"i32":01}`), whittle.Invalid},
		{"an object for a number", plain, post("/", `{"i32":{}}`), whittle.Invalid},
		{"a form", plain, form, whittle.Invalid},
		{"an undeclared body", plain, undeclared, whittle.Invalid},
		{"a compressed body", plain, zipped, whittle.Invalid},
		{"half a copy", plain, truncated, whittle.ResourceExhausted},
		{"depths", rich, deep, whittle.Invalid},
		{"a word in the query", plain, &whittle.Request{Method: "GET", Target: "/?i32=x"}, whittle.Invalid},
		{"a broken query", plain, &whittle.Request{Method: "GET", Target: "/?i32=%zz"}, whittle.Invalid},
		{"a map in the query", rich, &whittle.Request{Method: "GET", Target: "/?counts=1"}, whittle.Invalid},
		{"a word in the path", users, post("/users/me", ""), whittle.Invalid},
		{"too short a path", users, post("/users", ""), whittle.Invalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.tr.Request(c.r)
			if err == nil {
				t.Fatalf("sent %q", got.Body)
			}
			if whittle.CodeOf(err) != c.code {
				t.Errorf("%v has code %v, want %v", err, whittle.CodeOf(err), c.code)
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
