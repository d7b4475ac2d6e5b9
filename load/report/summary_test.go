package report

import (
	"strings"
	"testing"
	"time"

	"whittle/internal/fatal"
)

func TestTheSummarySaysWhatMatters(t *testing.T) {
	r := &Report{
		Plan: "p.yml", Target: "http://t", Seconds: 10.05, Seed: 9, Early: true,
		Requests: 200, Completed: 190, Failed: 10, Unfinished: 1, Rate: 19.04,
		Codes: map[string]int64{"200": 190}, Errors: map[string]int64{ErrorTimeout: 10},
		Users: Users{200, 199, 1, 199, 0}, Sent: 2048, Received: 5 << 20,
		Names:     []NameReport{{Name: "POST /Count"}, {Name: "GET /"}},
		Processes: []ProcessReport{{Name: "monolith", CPU: 1500, CPUPerRequest: 7.89, Ended: true}},
		Ensure:    []Check{{Metric: "vusers.failed", Value: 3}},
		Warnings:  []string{"mind this"}, Void: "the generator was late",
	}
	r.Latency.Intended.Count = 200
	r.Latency.Intended.P50 = 44300 * time.Microsecond
	var b strings.Builder
	fatal.If(t, r.WriteSummary(&b))
	for _, want := range []string{
		"p.yml → http://t", "10.1s, ended early", "seed 9", "199 of 200 planned, 1 skipped", "200, 190 completed, 10 failed, 1 unfinished",
		"19.04 completed per second", "2.0 KiB sent, 5.0 MiB received", "timeout: 10", "44.3", "POST /Count",
		"CPU of monolith: 1.5s, 7.89 ms per completed request, until it ended", "bound on vusers.failed: 3 of at most 0, EXCEEDED", "note: mind this", "VOID: the generator was late",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}
