package infer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"whittle/internal/fatal"
	"whittle/record/capture"
)

// family draws JSON documents that belong together, as an endpoint's responses
// do: the same skeleton with optional members, nulls, maps, arrays that may be
// empty, and, now and then, what no skeleton has.
type family func(r *rand.Rand) any

type missing struct{}

func newFamily(r *rand.Rand, depth int) family {
	kinds := 12
	if depth > 4 {
		kinds = 8
	}
	draw := r.IntN(kinds)
	if depth < 3 && r.IntN(2) == 0 {
		draw = 8 + r.IntN(4)
	}
	if draw == 5 && r.IntN(4) > 0 {
		draw = 0
	}
	switch draw {
	case 0:
		top := int64(1) << r.IntN(62)
		return func(r *rand.Rand) any { return r.Int64N(top) - top/4 }
	case 1:
		return func(r *rand.Rand) any { return json.Number(fmt.Sprintf("%d.%02d", r.IntN(1000), r.IntN(100))) }
	case 2:
		return func(r *rand.Rand) any { return r.IntN(2) == 0 }
	case 3:
		words := []string{"OPEN", "CLOSED", "", "\u2028 \ufffd\"<&>", "2024-01-02T03:04:05Z"}
		return func(r *rand.Rand) any { return words[r.IntN(len(words))] }
	case 4:
		return func(r *rand.Rand) any { return uint64(1)<<63 + r.Uint64N(1<<62) }
	case 5:
		odd := []any{nil, 1, "x", []any{}, map[string]any{}, json.Number("1e400"), json.Number("0.12345678901234567890"), json.Number("-0"), []any{nil, []any{1, "a"}}}
		return func(r *rand.Rand) any { return odd[r.IntN(len(odd))] }
	case 6:
		return func(*rand.Rand) any { return nil }
	case 7:
		return func(r *rand.Rand) any {
			return json.Number([]string{"1", "1.0", "10E1", "1.5e-7", "123456789012345680000"}[r.IntN(5)])
		}
	case 8:
		element := sometimes(r, newFamily(r, depth+1), false)
		least := r.IntN(2)
		return func(r *rand.Rand) any {
			out := make([]any, least+r.IntN(3))
			for i := range out {
				out[i] = element(r)
			}
			return out
		}
	case 9:
		v := sometimes(r, newFamily(r, depth+1), false)
		return func(r *rand.Rand) any {
			out := map[string]any{}
			for range r.IntN(4) {
				out[fmt.Sprint(1000+r.IntN(500))] = v(r)
			}
			return out
		}
	}
	names := []string{"id", "userId", "user_id", "name", "Name", "2fa", "", "odd key", "[x]", "created-at", "URL", "ä", "items", "a.b", "_", "x1", "message", "json_name", "child"}
	fields := map[string]family{}
	for range 1 + r.IntN(6) {
		fields[names[r.IntN(len(names))]] = sometimes(r, newFamily(r, depth+1), true)
	}
	keys := make([]string, 0, len(fields))
	for k := range fields {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return func(r *rand.Rand) any {
		out := map[string]any{}
		for _, k := range keys {
			if v := fields[k](r); v != (missing{}) {
				out[k] = v
			}
		}
		return out
	}
}

// sometimes leaves values out, or makes them null, or neither.
func sometimes(r *rand.Rand, f family, out bool) family {
	how := r.IntN(6)
	return func(r *rand.Rand) any {
		switch {
		case out && (how == 0 || how == 2) && r.IntN(3) == 0:
			return missing{}
		case (how == 1 || how == 2) && r.IntN(3) == 0:
			return nil
		}
		return f(r)
	}
}

func draw(t *testing.T, f family, r *rand.Rand) string {
	t.Helper()
	b, err := json.Marshal(f(r))
	fatal.If(t, err)
	return string(b)
}

// TestEveryExchangeComesBack is the promise: whatever the exchanges, all of them
// go through the contract's messages and come back the same.
func TestEveryExchangeComesBack(t *testing.T) {
	seeds := 400
	if testing.Short() {
		seeds = 60
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(uint64(seed), 6))
		log := randomLog(t, r)
		c := learn(t, Options{}, log...) // which compiles it
		// A second run on the same exchanges changes nothing.
		again := learn(t, Options{Before: c}, log...)
		if got, want := string(again.Proto()), string(c.Proto()); got != want {
			t.Fatalf("seed %d: a second run changed the contract:\n%s\n%s", seed, want, got)
		}
		// More traffic of the same kind keeps every number that it can keep.
		more := append(slices.Clone(log), randomLog(t, r)...)
		wider := learn(t, Options{Before: c}, more...)
		sameNumbers(t, c, wider)
	}
}

func randomLog(t *testing.T, r *rand.Rand) []*capture.Entry {
	t.Helper()
	var log []*capture.Entry
	for e := range 1 + r.IntN(4) {
		path := []string{"/things", "/things/{}", "/api/v1/users/{}/orders", "/Count"}[e]
		method := []string{"GET", "POST", "PUT", "DELETE"}[r.IntN(4)]
		request, response := newFamily(r, 0), newFamily(r, 0)
		query := newFamily(r, 5)
		for range 2 + r.IntN(30) {
			target := strings.ReplaceAll(path, "{}", fmt.Sprint(r.IntN(100)))
			if q := draw(t, query, r); r.IntN(2) == 0 {
				target += "?q=" + strings.NewReplacer("%", "", "&", "", ";", "", "#", "", " ", "+").Replace(q)
			}
			body := ""
			if method != "GET" {
				body = draw(t, request, r)
			}
			log = append(log, entry(method, target, body, draw(t, response, r)))
		}
	}
	return log
}

// FuzzInfer holds the promise for arbitrary exchanges: what is inferred of them
// is a contract that compiles, and every one of them comes back the same. Lines
// are bodies of responses, and of requests, in turn.
func FuzzInfer(f *testing.F) {
	f.Add("/users/1?a=1&a=2", "application/json", []byte(`{"id":1,"x":null}`+"\n"+`{"id":2.5,"y":[1,null]}`+"\n"+`{"id":3,"y":[]}`), true)
	f.Add("/Count", "text/html", []byte("Counted to 500 \nCounted to -7 \nCounted to 007 "), false)
	f.Add("/a//%7B", "application/x-www-form-urlencoded", []byte("a=1&b=\na=x&c[d]=2\n%zz"), true)
	f.Add("/x/deadbeef01", "", []byte(`{"1":{},"2":{"a":[[1]]}}`+"\n"+`{"a":1,"a":2}`+"\n"+`"\ud800"`), true)
	f.Fuzz(func(t *testing.T, target, contentType string, bodies []byte, post bool) {
		var log []*capture.Entry
		lines := bytes.Split(bodies, []byte("\n"))
		for i, line := range lines[:min(len(lines), 64)] {
			x := entry("GET", target, "", string(line))
			if post {
				x = entry("POST", target, string(lines[(i+1)%len(lines)]), string(line))
			}
			x.Request.Header["Content-Type"] = []string{contentType}
			if i%3 < 2 {
				x.Response.Header["Content-Type"] = []string{contentType}
			}
			log = append(log, x)
		}
		c, err := Infer(of(log...), Options{})
		if err != nil {
			return
		}
		compiles(t, c)
		open := func() iter.Seq2[*capture.Entry, error] { return of(log...) }
		c, p, err := Learn(open, Options{})
		fatal.If(t, err)
		if p.Kept != p.Exchanges {
			t.Fatalf("%+v\n%s", p, c.Proto())
		}
	})
}
