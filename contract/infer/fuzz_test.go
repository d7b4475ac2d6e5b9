package infer

import (
	"bytes"
	"iter"
	"testing"

	"whittle/internal/fatal"
	"whittle/record/capture"
)

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
