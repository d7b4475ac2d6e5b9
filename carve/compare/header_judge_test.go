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
	named := func(first, n int) whittle.Header {
		h := whittle.Header{}
		for i := range n {
			h[fmt.Sprintf("X-N%03d", first+i)] = []string{"a"}
		}
		return h
	}
	for _, late := range []string{"lost", "another"} {
		j := learningJudge(t, true)
		for i := range 60 {
			a, b := named(1000, 1), named(1000, 1)
			if i < 4 { // each differs once
				a, b = named(40*i, 40), whittle.Header{}
			} else if late == "lost" {
				b = whittle.Header{}
			} else {
				b["X-N1000"] = []string{"b"}
			}
			j.Observe(headed(a, b))
		}
		v := j.Verdict()
		if list := findingsOf(&v, whittle.FoundHeader); len(list) == 0 || list[0].Path != header.OtherHeaders || v.State == whittle.Equivalent {
			t.Errorf("%s: %s %+v", late, v.Summary, list)
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
			j.Observe(withHeaders(i-1, 5, func(side int) whittle.Header {
				return []whittle.Header{{"X-Build": {"one"}}, tag(i, candidate), tag(i/5, 10)}[side]
			}))
			b, ok := j.mirrored.headers.noiseBound(0.01)
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
	if at < 100 || b.What != boundNoise || !b.Inside || b.Summary == "" {
		t.Errorf("an equal candidate is inside from %d on: %+v", at, b)
	}
	if _, b = run(3); b.Inside {
		t.Errorf("a candidate that differs three times as often is inside: %+v", b)
	}
}
