package compare

import (
	"fmt"
	"strings"
	"testing"

	"whittle"
	"whittle/carve/compare/header"
)

// TestMoreHeaderNamesThanAreToldApart: what comes after 63 names is compared as one,
// so that a difference in it is found all the same.
func TestMoreHeaderNamesThanAreDistinguished(t *testing.T) {
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
		for range 40 {
			a, b := named(header.HeaderNames+20), named(header.HeaderNames+20)
			if last := fmt.Sprintf("X-N%03d", header.HeaderNames+19); late == "lost" {
				delete(b, last)
			} else {
				b[last] = []string{"b"}
			}
			j.Observe(headed(a, b))
		}
		h := &j.mirrored.headers
		if len(h.Names) != header.HeaderNames+1 || h.Names[header.HeaderNames].Name != header.OtherHeaders {
			t.Fatalf("%d names", len(h.Names))
		}
		v := j.Verdict()
		found := ""
		for _, f := range findingsOf(&v, whittle.FoundHeader) {
			if f.Decided {
				found += f.Path + ":" + f.Samples[0].Monolith
			}
		}
		if v.State != whittle.Different || !strings.Contains(found, header.OtherHeaders) || !strings.Contains(found, "X-N082") {
			t.Errorf("%s: %s: %q", late, v.Summary, found)
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
