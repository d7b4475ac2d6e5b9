package compare

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/simtest"
)

// TestBodiesByWhatTheyAre: bodies that are not one JSON text are the same by their values
// and not by how they are written, and a wrong value is found at its place.
func TestBodiesByWhatTheyAre(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		monolithType, candidateType string
		monolith, candidate         string // with a %d each
		place                       string // of the wrong value
	}{
		"JSON Lines": {"application/x-ndjson", "application/x-ndjson", "{\"a\":1}\n{\"price\":%d}\n", "{\"a\": 1}\n\n{\"price\": %d}", "$[*].price"},
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
					again := x.Monolith
					x.Repeat = &again
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
			want := whittle.Equivalent
			if wrong {
				want = whittle.Different
			}
			if said := fmt.Sprintf("%+v", v.Findings); v.State != want || wrong && !strings.Contains(said, c.place) {
				t.Errorf("%s, wrong %v: %s\n%.1500s", name, wrong, v.Summary, said)
			}
		}
	}
}
