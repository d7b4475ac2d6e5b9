package compare

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/jsonpath"
	"whittle/internal/simtest"
)

// firstSample judges one pair of bodies and gives its first sample.
func firstSample(t *testing.T, kind whittle.CompareKind, monolith, candidate string) whittle.Sample {
	t.Helper()
	j := judgeOf(t, whittle.Comparison{Kind: kind, Value: "number in the body"})
	j.Observe(&whittle.Exchange{
		Request:   whittle.Request{Method: "GET", Target: "/orders"},
		Monolith:  whittle.Response{Status: 200, Body: []byte(monolith)},
		Candidate: whittle.Response{Status: 200, Body: []byte(candidate)},
	})
	for _, f := range j.Verdict().Findings {
		if len(f.Samples) > 0 {
			return f.Samples[0]
		}
	}
	t.Fatalf("no sample of %s against %s", monolith, candidate)
	return whittle.Sample{}
}

// TestTheDifferingPlaceIsShown: a sample names the place with its real indices and
// shows both values, wherever in the body that is.
func TestTheDifferingPlaceIsShown(t *testing.T) {
	far := strings.Repeat(`{"id":1,"name":"as before"},`, 100)
	lines := strings.Repeat("as before\n", 100)
	for _, c := range []struct {
		name                string
		kind                whittle.CompareKind
		monolith, candidate string
		where, from, to     string
	}{
		{
			"a field far behind", whittle.JSON, `{"items":[` + far + `{"id":7,"price":"1.50","tax":2}]}`, `{"items":[` + far + `{"id":7,"price":"1.5","tax":2}]}`,
			"$.items[100].price", `"1.50"`, `"1.5"`,
		},
		{"a lost field", whittle.JSON, `{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}`, `{"f":6,"a":1,"b":2,"c":3,"e":5}`, "$.d", "4", "missing"},
		{"a new field", whittle.JSON, `{"a":{"b":2}}`, `{"a":{"b":2,"new":null}}`, "$.a.new", "missing", "null"},
		{"a list cut off", whittle.JSON, `{"ids":[10,11,12,13,14]}`, `{"ids":[10,11,12]}`, "$.ids", "5 elements", "3 elements"},
		{"another order", whittle.JSON, `[1,2,3,4]`, `[1,2,4,3]`, "$", "4 elements", "another order"},
		{"an element", whittle.JSON, `[[1,2],[3,"x "]]`, `[[1,2],[3,"x"]]`, "$[1][1]", `"x␠"`, `"x"`},
		{"a key that is odd", whittle.JSON, `{"a.b\t":1}`, `{"a.b\t":2}`, `$["a.b␉"]`, "1", "2"},
		{"the whole", whittle.JSON, `17`, `18`, "$", "17", "18"},
		{
			"a line's end", whittle.Exact, lines + "the end\r\n", lines + "the end\n",
			"byte 1007, line 101, column 8", "…fore␊as before␊as before␊the end␍␊", "…fore␊as before␊as before␊the end␊",
		},
		{"a word", whittle.Exact, "price 1.50 EUR", "price 1.5 EUR", "byte 9, line 1, column 10", "price 1.50 EUR", "price 1.5 EUR"},
		{"nothing", whittle.Exact, "done\n", "done", "byte 4, line 1, column 5", "done␊", "done"},
		{"a space", whittle.Exact, "a, b", "a,b", "byte 2, line 1, column 3", "a, b", "a,b"},
	} {
		s := firstSample(t, c.kind, c.monolith, c.candidate)
		if s.Where != c.where || s.MonolithValue != c.from || s.CandidateValue != c.to {
			t.Errorf("%s: at %q: %q and %q, want at %q: %q and %q", c.name, s.Where, s.MonolithValue, s.CandidateValue, c.where, c.from, c.to)
		}
		if len(s.MonolithValue) > 2*120 {
			t.Errorf("%s: %d bytes", c.name, len(s.MonolithValue))
		}
	}
}

// TestKeysAreShownRedacted: a key of JSON may be a secret, and is one in bounds and in what was
// compared as it is in findings.
func TestKeysAreShownRedacted(t *testing.T) {
	t.Parallel()
	j := judgeOf(t, testMatch)
	j.Redact(card{})
	for i := range 400 {
		j.Observe(withBodies(i, 5, func(side int) string { return fmt.Sprintf(`{"a":1,"card 4111":"%08d"}`, 7919*(3*i+side)) }))
		if i%100 > 20 {
			continue
		}
		v := j.Verdict()
		if said := fmt.Sprintf("%+v %+v", v, *v.Coverage); strings.Contains(said, "4111") {
			t.Fatalf("after %d: %s", i+1, said)
		}
	}
	if v := j.Verdict(); len(v.Coverage.ByForm) != 1 {
		t.Errorf("%+v", v.Coverage)
	}
}

// card takes the number of a card out of texts and bodies.
type card struct{}

func (card) Request(*whittle.Request)       {}
func (c card) Response(a *whittle.Response) { a.Body = c.Value(nil, a.Body) }
func (card) Value(_ []jsonpath.Element, v []byte) []byte {
	return bytes.ReplaceAll(v, []byte("4111"), []byte("redacted"))
}

// TestAFailureIsShownWithItsReason: the sample of a response that never came says
// why, without what is secret.
func TestAFailureIsShownWithItsReason(t *testing.T) {
	j := judgeOf(t, whittle.Comparison{Kind: whittle.JSON})
	j.Redact(card{})
	for range 40 {
		j.Observe(&whittle.Exchange{
			Request:   whittle.Request{Method: "GET", Target: "/orders"},
			Monolith:  whittle.Response{Status: 200, Body: []byte(`{"state":"open"}`)},
			Candidate: whittle.Response{Failure: whittle.FailedMalform, Detail: "twirp: shop.v1.Order.state is 7, which no word of JSON stands for; 4111"},
		})
	}
	for _, f := range j.Verdict().Findings {
		if f.Kind == whittle.FoundFailure && len(f.Samples) > 0 {
			if s := f.Samples[0]; !strings.HasPrefix(s.Candidate, "no response (malformed): twirp: shop.v1.Order.state is 7") || strings.Contains(s.Candidate, "4111") || s.Monolith != `{"state":"open"}` {
				t.Errorf("%+v", s)
			}
			return
		}
	}
	t.Errorf("no finding has a sample: %+v", j.Verdict())
}

// TestEachTypeIsSeen: also of a response whose first content type is the other side's.
func TestEachTypeIsSeen(t *testing.T) {
	a := whittle.Response{Header: whittle.Header{"Content-Type": {"text/html"}}}
	b := whittle.Response{Header: whittle.Header{"Content-Type": {"text/html", "text/plain"}}}
	if heads[typeHead].alike(&a, &b) {
		t.Error("a second type is not seen")
	}
}

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
		{"a second type", side{contentType: "text/html", body: "x"}, side{header: whittle.Header{"Content-Type": {"text/html", "text/plain"}}, body: "x"}, "content_type"},
		{"no type", side{contentType: "text/html", body: "x"}, side{body: "x"}, "content_type"},
		{"another case of a type", side{contentType: "Text/Plain", body: "x"}, side{contentType: "text/plain; boundary=x", body: "x"}, ""},
		{"no type at all", side{contentType: "a;;;", body: "x"}, side{contentType: "b///", body: "x"}, "content_type"},
		{"parameters in another order", side{contentType: "application/x+json; a=1; charset=UTF-8", body: `{"a":1}`}, side{contentType: `application/x+json;charset="utf-8";a=1`, body: `{"a":1}`}, ""},
		{"another boundary", side{contentType: "multipart/mixed; boundary=a", body: "x"}, side{contentType: "multipart/mixed; boundary=b", body: "x"}, ""},
		{"a byte of a part", side{contentType: "multipart/mixed; boundary=a", body: "--a\r\n\r\n\xff\xd8\r\n--a--"}, side{contentType: "multipart/mixed; boundary=a", body: "--a\r\n\r\n\xff\xd9\r\n--a--"}, "field $[*].body"},
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
				h := whittle.Header{}
				if maps.Copy(h, s.header); s.contentType != "" {
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
					found = strings.TrimSpace(string(f.Kind) + " " + f.Path)
					break
				}
			}
			right := v.State == whittle.Different && strings.HasPrefix(found, c.at)
			if c.at == "" {
				right = found == "" && (v.State == whittle.Equivalent || served && v.State == whittle.Undecided)
			}
			if !right {
				t.Errorf("%s (served %t): %s, %q is not at %q", c.name, served, v.Summary, found, c.at)
			}
		}
	}
}

// TestBodiesByWhatTheyAre: bodies that are not one JSON text are the same by their values
// and not by how they are written, and a wrong value is found at its place.
func TestBodiesByWhatTheyAre(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		monolithType, candidateType string
		monolith, candidate         string // with a %d each
		place                       string // of the wrong value
	}{
		"a byte order mark": {"application/json", "application/json", "\ufeff{\"price\":%d}", "\ufeff{ \"price\": %d }", "$.price"},
		"a guard":           {"application/json", "application/json", ")]}'\n{\"price\":%d}", ")]}'\n{ \"price\": %d}", "$.price"},
		"JSON Lines":        {"application/x-ndjson", "application/x-ndjson", "{\"a\":1}\n{\"price\":%d}\n", "{\"a\": 1}\n\n{\"price\": %d}", "$[*].price"},
		"multipart": {
			"multipart/mixed; boundary=one", "multipart/mixed; boundary=two",
			"--one\r\nContent-Type: application/json\r\n\r\n{\"price\":%d}\r\n--one--", "--two\r\nContent-Type: application/json\r\n\r\n{\"price\": %d}\r\n--two--\r\n", "$[*].body.price",
		},
		"XML": {
			"application/xml", "application/xml", `<o xmlns="u" a="1" b="2"><price>%d</price></o>`,
			"<?xml version=\"1.0\"?>\n<n:o xmlns:n=\"u\" b='2' a='1'>\n  <n:price>%d</n:price>\n</n:o>\n", "$.{u}o[*].price",
		},
	} {
		for _, wrong := range []bool{false, true} {
			j := judgeOf(t, whittle.Comparison{Kind: whittle.JSON, LearnNoise: true, AllHeaders: true, Confidence: 0.99, MinCompared: 300})
			say := func(kind, body string, price int) whittle.Response {
				return whittle.Response{Status: 200, Header: whittle.Header{"Content-Type": {kind}}, Body: fmt.Appendf(nil, body, price)}
			}
			for i := range 1500 {
				price := i % 17
				x := &whittle.Exchange{At: simtest.Start.Add(time.Duration(i) * time.Second), User: uint64(i%50) + 1, Request: whittle.Request{Method: "GET", Target: fmt.Sprint("/x/", price)}}
				x.Monolith, x.Candidate = say(c.monolithType, c.monolith, price), say(c.candidateType, c.candidate, price)
				if wrong && i%3 == 0 {
					x.Candidate = say(c.candidateType, c.candidate, price+1)
				}
				if i%20 == 19 {
					x.Repeat = new(x.Monolith)
				}
				o := j.Observe(x)
				if o.Ask {
					r := whittle.Recheck{Exchange: x}
					for range 2 {
						r.Rounds = append(r.Rounds, whittle.Round{Monolith: x.Monolith, Candidate: x.Candidate})
					}
					j.Recheck(&r)
				}
			}
			v := j.Verdict()
			if said := fmt.Sprintf("%+v", v.Findings); v.State != either(wrong, whittle.Different, whittle.Equivalent) || wrong && !strings.Contains(said, c.place) {
				t.Errorf("%s, wrong %v: %s\n%.1500s", name, wrong, v.Summary, said)
			}
		}
	}
}
