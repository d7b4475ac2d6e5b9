package compare

import (
	"maps"
	"testing"

	"whittle"
)

// TestNothingThatAClientSeesIsSilent: candidates whose JSON is the monolith's, and which
// a client can tell from it nevertheless. Each is DIFFERENT, in both orders, with a
// finding at the place; what no client can tell is EQUIVALENT.
func TestNothingThatAClientSeesIsSilent(t *testing.T) {
	t.Parallel()
	type side struct {
		contentType, body string
		header, trailer   whittle.Header
	}
	for _, c := range []struct {
		name                string
		monolith, candidate side
		at                  string // the finding's place; empty: EQUIVALENT
	}{
		{"a profile lost", side{contentType: `application/ld+json; profile="https://a.example/full"`, body: `{"a":1}`}, side{contentType: "application/ld+json", body: `{"a":1}`}, "content_type"},
		{"another version", side{contentType: "application/vnd.api+json; version=2", body: `{"a":1}`}, side{contentType: "application/vnd.api+json; version=1", body: `{"a":1}`}, "content_type"},
		{"another charset", side{contentType: "text/html; charset=utf-8", body: "x"}, side{contentType: "text/html; charset=latin1", body: "x"}, "content_type"},
		{"no type", side{contentType: "text/html", body: "x"}, side{body: "x"}, "content_type"},
		{"another case of a type", side{contentType: "Text/Plain", body: "x"}, side{contentType: "text/plain; boundary=x", body: "x"}, ""},
		{"no type at all", side{contentType: "a;;;", body: "x"}, side{contentType: "b///", body: "x"}, "content_type"},
		{"parameters in another order", side{contentType: "application/x+json; a=1; charset=UTF-8", body: `{"a":1}`}, side{contentType: `application/x+json;charset="utf-8";a=1`, body: `{"a":1}`}, ""},
		{"another boundary", side{contentType: "multipart/mixed; boundary=a", body: "x"}, side{contentType: "multipart/mixed; boundary=b", body: "x"}, ""},
		{"a number as text in another form", side{contentType: "text/plain", body: "1"}, side{contentType: "text/plain", body: "1.0"}, "field $"},
		{"the same number as JSON", side{contentType: "application/json", body: "1"}, side{contentType: "application/json", body: "1.0"}, ""},
		{"text with white space", side{contentType: "text/csv", body: "17"}, side{contentType: "text/csv", body: "17\n"}, "field $"},
		{"JSON sent as a page", side{contentType: "text/html", body: `{"a": 1}`}, side{contentType: "text/html", body: `{"a":1}`}, ""},
		{"another half of a pair", side{contentType: "application/json", body: `{"s":"\ud800"}`}, side{contentType: "application/json", body: `{"s":"\ud801"}`}, "field $.s"},
		{"a half replaced", side{contentType: "application/json", body: `{"s":"\ud800"}`}, side{contentType: "application/json", body: `{"s":"\ufffd"}`}, "field $.s"},
		{"a half under a key", side{contentType: "application/json", body: `{"\udc00":1}`}, side{contentType: "application/json", body: `{"\udc01":1}`}, "field"},
		{"a trailer lost", side{body: `{"a":1}`, trailer: whittle.Header{"X-Checksum": {"7"}}}, side{body: `{"a":1}`}, "header X-Checksum"},
		{"another trailer", side{body: `{"a":1}`, trailer: whittle.Header{"X-Checksum": {"7"}}}, side{body: `{"a":1}`, trailer: whittle.Header{"X-Checksum": {"8"}}}, "header X-Checksum"},
		{"a header in place of a trailer", side{body: `{"a":1}`, trailer: whittle.Header{"X-Checksum": {"7"}}}, side{body: `{"a":1}`, header: whittle.Header{"X-Checksum": {"7"}}}, ""},
		{"another status of gRPC", side{trailer: whittle.Header{"Grpc-Status": {"5"}}}, side{trailer: whittle.Header{"Grpc-Status": {"0"}}}, "header Grpc-Status"},
		{"gRPC's status without a message", side{trailer: whittle.Header{"Grpc-Status": {"5"}}}, side{header: whittle.Header{"Grpc-Status": {"5"}}}, ""},
		{"what servers add, in a trailer", side{body: "x", trailer: whittle.Header{"Server-Timing": {"a;dur=1"}}}, side{body: "x"}, ""},
		{"a coding that nobody asked for", side{body: `{"a":1}`}, side{body: `{"a":1}`, header: whittle.Header{"Content-Encoding": {"gzip"}}}, "header Content-Encoding"},
	} {
		for _, served := range []bool{false, true} {
			j := judgeOf(t, whittle.Comparison{Kind: whittle.JSON, AllHeaders: true, LearnNoise: true, Confidence: 0.99, MinCompared: 300})
			given := func(s *side) whittle.Response {
				h := maps.Clone(s.header)
				if h == nil {
					h = whittle.Header{}
				}
				if s.contentType != "" {
					h["Content-Type"] = []string{s.contentType}
				}
				return whittle.Response{Status: 200, Header: h, Trailer: s.trailer, Body: []byte(s.body)}
			}
			for n := range 2000 {
				x := exchanged(n, 20, func(of int) whittle.Response { return given([]*side{&c.monolith, &c.candidate, &c.monolith}[of]) })
				if served {
					x.Served = whittle.Candidate
				}
				j.Observe(x)
			}
			v := j.Verdict()
			found := ""
			for _, f := range v.Findings {
				if f.Decided && f.Expected == "" {
					found = string(f.Kind)
					if f.Path != "" {
						found += " " + f.Path
					}
					break
				}
			}
			switch {
			case c.at == "" && (v.State == whittle.Different || len(v.Findings) > 0 && found != ""):
				t.Errorf("%s: %s, %q", c.name, v.Summary, found)
			case c.at == "" && !served && v.State != whittle.Equivalent:
				t.Errorf("%s: %s", c.name, v.Summary)
			case c.at != "" && (v.State != whittle.Different || len(found) < len(c.at) || found[:len(c.at)] != c.at):
				t.Errorf("%s (served %t): %s, %q is not at %q", c.name, served, v.Summary, found, c.at)
			}
		}
	}
}
