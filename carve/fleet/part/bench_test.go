package part

import (
	"fmt"
	"testing"
	"time"

	"whittle"
	"whittle/carve/control"
	"whittle/carve/state"
	"whittle/record/redact"
)

// BenchmarkShown is what a gateway that does not lead spends on reading a route's record
// anew: one with 3,000 compared exchanges of 2 KB.
func BenchmarkShown(b *testing.B) {
	by, err := redact.New(redact.Rules{}, redact.NewKey())
	if err != nil {
		b.Fatal(err)
	}
	s := &store{kept: map[string]state.Record{}}
	o := control.Options{
		Store: s, Monolith: monolith, Routes: routes("http://c"), NewJudge: control.Redacting(by),
		Apply: func(string, whittle.Position) bool { return true },
	}
	c, err := control.New(o)
	if err != nil {
		b.Fatal(err)
	}
	c.Start()
	for i := range 3000 {
		var body []byte
		for k := range 100 {
			body = fmt.Appendf(body, `,"field_%d":%d`, k, (i*k)%977)
		}
		response := whittle.Response{Status: 200, Header: whittle.Header{"Content-Type": {"application/json"}}, Body: append([]byte(`{"n":1`), append(body, '}')...), Latency: time.Millisecond}
		c.Observe(&whittle.Exchange{
			Route: name, User: uint64(i + 1), At: time.Now(), Request: whittle.Request{Method: "GET", Target: "/a"}, Monolith: response, Candidate: response,
		})
	}
	if err := c.Flush(); err != nil {
		b.Fatal(err)
	}
	o.Shows = true
	for b.Loop() {
		if _, err := control.New(o); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(s.kept[name].Judge)), "B/judge")
}
