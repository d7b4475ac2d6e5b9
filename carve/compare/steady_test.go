package compare

import (
	"fmt"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare/comparetest"
	"whittle/internal/simtest"
)

// TestSteadyPlaces: a value that the monolith changed once is noise, and a
// difference there counts as one at a steady place; where it changes each time, or
// where the config compares by form, it does not.
func TestSteadyPlaces(t *testing.T) {
	c := comparetest.FormComparison
	c.Forms = []whittle.FieldForm{{Path: "$.ref", Form: "word"}}
	j, err := NewJudge(c)
	if err != nil {
		t.Fatal(err)
	}
	body := func(seen, id int, ref string) whittle.Response {
		return whittle.Response{
			Status: 200, Header: whittle.Header{"Content-Type": {"application/json"}},
			Body: fmt.Appendf(nil, `{"seen":%d,"id":%d,"ref":%q}`, seen, id, ref),
		}
	}
	observe := func(i int, candidate whittle.Response, repeat *whittle.Response) Observation {
		return j.Observe(&whittle.Exchange{
			At: simtest.Start.Add(time.Duration(i) * time.Second), Request: whittle.Request{Method: "GET", Target: "/things/1"},
			Monolith: body(7, i, "a"), Candidate: candidate, Repeat: repeat,
		})
	}
	for i := range 400 {
		again := body(7, i+9000, "a")
		if i == 50 {
			again = body(8, i+9000, "a")
		}
		if o := observe(i, body(7, i+5000, "a"), &again); i > 30 && o.Steady {
			t.Fatalf("exchange %d: an id that is always new is no steady place", i)
		}
	}
	if o := observe(401, body(9, 6000, "a"), nil); o.Differs || !o.Steady {
		t.Errorf("a count that the monolith changed once: %+v", o)
	}
	if o := observe(402, body(7, 6001, "b"), nil); o.Differs || o.Steady {
		t.Errorf("a reference that the config compares by form: %+v", o)
	}
}
