package compare

import (
	"fmt"
	"testing"

	"whittle"
	"whittle/carve/compare/header"
)

// TestMoreHeadersThanHaveARecord: what differs after the first places is compared as one, so
// that a difference in it is found all the same.
func TestMoreHeadersThanHaveARecord(t *testing.T) {
	t.Parallel()
	named := func(n int) whittle.Header {
		h := whittle.Header{}
		for i := range n {
			h[fmt.Sprintf("X-N%03d", i)] = []string{"a"}
		}
		return h
	}
	for _, late := range []string{"lost", "another"} {
		j := learningJudge(t, true)
		for i := range 60 {
			a, b := named(header.PlacesMost+20), named(header.PlacesMost+20)
			if i == 0 { // each differs once
				b = whittle.Header{}
			}
			if last := fmt.Sprintf("X-N%03d", header.PlacesMost+19); late == "lost" {
				delete(b, last)
			} else {
				b[last] = []string{"b"}
			}
			j.Observe(headed(a, b))
		}
		h := &j.mirrored.headers
		if n := len(h.Places); n <= header.PlacesMost || h.Places[n-1].Name != header.OtherHeaders {
			t.Fatalf("%d places", n)
		}
		v := j.Verdict()
		if len(v.Findings) <= header.PlacesMost || v.State == whittle.Equivalent {
			t.Errorf("%s: %s", late, v.Summary)
		}
	}
}

// TestHeaderNoiseBound: what the monolith changes by itself keeps EQUIVALENT from
// being said until the candidate is known to differ in it not much more often, and a
// candidate that differs far more often stays outside.
func TestHeaderNoiseBound(t *testing.T) {
	t.Parallel()
	const most = 6000
	run := func(candidate int) (at int, last whittle.Bound) {
		j := learningJudge(t, true)
		tag := func(i, every int) whittle.Header {
			if i%every == 0 {
				return whittle.Header{"X-Build": {"two"}}
			}
			return whittle.Header{"X-Build": {"one"}}
		}
		for i := 1; i <= most; i++ {
			x := headed(whittle.Header{"X-Build": {"one"}}, tag(i, candidate))
			if i%5 == 0 {
				x.Repeat = &whittle.Response{Status: 200, Header: tag(i/5, 10), Body: x.Monolith.Body}
			}
			j.Observe(x)
			b, _, ok := j.mirrored.headers.NoiseBound(0.01)
			if !ok {
				continue
			}
			if last = b; b.Inside && at == 0 {
				at = i
			}
		}
		return at, last
	}
	at, b := run(11)
	if at < 100 || b.What != header.BoundHeaderNoise || !b.Inside || b.Summary == "" {
		t.Errorf("an equal candidate is inside from %d on: %+v", at, b)
	}
	if _, b = run(3); b.Inside {
		t.Errorf("a candidate that differs three times as often is inside: %+v", b)
	}
}
