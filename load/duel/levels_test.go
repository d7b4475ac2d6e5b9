package duel

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/internal/latency"
	"whittle/internal/paired"
	"whittle/load"
	"whittle/load/plan"
	"whittle/load/report"
	"whittle/load/wire"
	"whittle/whittletest"
)

func TestLevelsMakeOneTableOfTwoServers(t *testing.T) {
	t.Parallel()
	quick, slow := slowed(t, 0), slowed(t, 100*time.Millisecond)
	seen := map[string]bool{}
	r, err := Levels{
		Plan: parsed(t, duelPlan), A: Side{Target: slow}, B: Side{Target: quick},
		Users: []int{1, 5}, Runs: 3, Closed: plan.Closed{Duration: 400 * time.Millisecond, Ramp: time.Millisecond}, Options: load.Options{Seed: 2, MaxLate: time.Minute},
		OnProgress: func(run string, _ report.Progress) { seen[run] = true },
	}.Run(t.Context())
	fatal.If(t, err)
	if len(r.Levels) != 2 || len(r.Verdict) != 2 || r.Early || r.Void != "" {
		t.Fatalf("%+v", r)
	}
	for _, l := range r.Levels {
		fatal.Same(t, len(l.Runs), 6, "runs of %d users", l.Users)
		for _, f := range l.Figures {
			if f.Key == "median" && (!(f.Ratio < 1) || f.A < 100) || f.Key == "rate" && !(f.Ratio > 1) || f.Key == "cpu" {
				t.Errorf("%d users: %+v", l.Users, f)
			}
		}
	}
	var text bytes.Buffer
	fatal.If(t, r.WriteSummary(&text))
	fatal.Has(t, text.String(), "users  target", "B over A", "With 1 user: ", "With 5 users: ")
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	whittletest.Refused(t, r.Err(gates(t, "median ratio < 1")), whittle.FallsShort, "gate", "with 1 user")
	fatal.If(t, r.Err(gates(t, "median ratio > 2")))
}

// levelOf is a level whose runs are all alike, but for what change does to them.
func levelOf(runs int, change func(*LevelRun)) Level {
	l := Level{Users: 5}
	for run := 1; run <= runs; run++ {
		for _, side := range []string{"a", "b"} {
			r := LevelRun{Side: side, Run: run, Rate: 100 + float64(run), Requests: 1000, Completed: 1000, Median: 10, P95: 20, P99: 30 + float64(run)}
			change(&r)
			l.Runs = append(l.Runs, r)
		}
	}
	return l
}

// A run without responses voids its level, and what was measured with other numbers of
// users stands; the comparison as a whole is then no success all the same.
func TestOneRunWithoutResponsesVoidsItsLevel(t *testing.T) {
	const why = "run 2 of target A with 5 users responded to none of its 1000 requests"
	silent := func(r *LevelRun) {
		if r.Side == "a" && r.Run == 2 {
			r.Completed, r.Failed, r.Rate = 0, 1000, 0
		}
	}
	r := &LevelsReport{Levels: []Level{levelOf(3, func(*LevelRun) {}), levelOf(3, silent)}}
	r.judge(3)
	if r.Void != "" || r.Levels[0].Void != "" || r.Levels[1].Void != why || r.Verdict[1] != "With 5 users: void: "+why+"." || strings.Contains(r.Verdict[0], "void") {
		t.Errorf("void %q, levels %q and %q, %q", r.Void, r.Levels[0].Void, r.Levels[1].Void, r.Verdict)
	}
	for i, f := range r.Levels[1].Figures {
		if f.Void != why || !math.IsNaN(float64(f.Ratio)) || r.Levels[0].Figures[i].Void != "" {
			t.Errorf("%+v", f)
		}
	}
	if err := r.Err(nil); whittle.CodeOf(err) != whittle.Unavailable || strings.Count(err.Error(), "users") != 1 || !strings.Contains(err.Error(), why) {
		t.Error(err)
	}
	all := &LevelsReport{Levels: []Level{levelOf(3, silent)}}
	all.judge(3)
	if all.Void != why || whittle.CodeOf(all.Err(nil)) != whittle.Unavailable || strings.Count(all.Err(nil).Error(), "users") != 1 {
		t.Errorf("void %q, %v", all.Void, all.Err(nil))
	}
}

// A table's runs begin once each target has been loaded with as many users, over HTTP/2
// as over HTTP/1.1; nothing of that is counted.
func TestATableWarmsUpOverEitherProtocol(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{wire.HTTP1, wire.HTTP2} {
		var asked, otherwise atomic.Int64
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			if (r.ProtoMajor == 2) != (protocol == wire.HTTP2) {
				otherwise.Add(1)
			}
		}))
		srv.Config.Protocols = new(http.Protocols)
		srv.Config.Protocols.SetHTTP1(true)
		srv.Config.Protocols.SetUnencryptedHTTP2(true)
		srv.Start()
		defer srv.Close()
		r, err := Levels{
			Plan: parsed(t, duelPlan), A: Side{Target: srv.URL}, B: Side{Target: srv.URL}, Users: []int{2}, Runs: 2,
			Closed: plan.Closed{Loops: 3, Ramp: time.Millisecond}, Warmup: 50 * time.Millisecond, Options: load.Options{Seed: 2, MaxLate: time.Minute, Protocol: protocol},
		}.Run(t.Context())
		fatal.If(t, err)
		var counted int64
		for _, run := range r.Levels[0].Runs {
			counted += run.Requests
		}
		if counted == 0 || asked.Load() <= counted || otherwise.Load() != 0 {
			t.Errorf("%s: %d requests, of which %d are counted and %d over the other protocol", protocol, asked.Load(), counted, otherwise.Load())
		}
	}
}

// lateReport is a report of users of whom so many were started late.
func lateReport(late time.Duration, of float64) *report.Report {
	h := new(latency.Histogram)
	for i := range 1000 {
		by := 100 * time.Microsecond
		if float64(i) >= 1000*(1-of) {
			by = late
		}
		h.Record(by)
	}
	r := &report.Report{Requests: 1000, Completed: 1000}
	r.Latency.ScheduleError = h.Snapshot()
	r.Validate(10*time.Millisecond, time.Second)
	return r
}

// A generator that was late for a few users voids the figures of the tail that they are
// in, and not the median's verdict; late for more of them, it voids all.
func TestANoisyTailVoidsTheTailAlone(t *testing.T) {
	for _, c := range []struct {
		part float64
		void bool
		gone string // figures
	}{
		{0, false, ""},
		{.02, false, "p99"},
		{.07, false, "p95 p99"},
		{.2, false, "p95 p99"},
		{.3, true, ""},
		{.6, true, ""},
	} {
		for _, sides := range [][2]*report.Report{
			{lateReport(time.Second, c.part), lateReport(0, 0)},
			{lateReport(0, 0), lateReport(time.Second, c.part)},
		} {
			ratio := paired.Ratio{A: 1, B: 2, Ratio: 2, Low: 1.9, High: 2.1, P: 1e-6}
			cmp := &Comparison{A: sides[0], B: sides[1]}
			cmp.judge([]figure{{"median", "median", "ms", ratio}, {"p95", "p95", "ms", ratio}, {"p99", "p99", "ms", ratio}})
			var gone []string
			for _, f := range cmp.Figures {
				if f.Void != "" {
					gone = append(gone, f.Key)
					if !math.IsNaN(float64(f.Ratio)) || f.Different {
						t.Errorf("%v: %+v", c, f)
					}
				}
			}
			if (cmp.Void != "") != c.void || !c.void && strings.Join(gone, " ") != c.gone {
				t.Errorf("%v late: void %q, without %v", c.part, cmp.Void, gone)
			}
			if !c.void && (!strings.Contains(cmp.Verdict, "B's median") || strings.Count(strings.Join(cmp.Warnings, ";"), "is void") != len(gone)) {
				t.Errorf("%v late: %s, %q", c.part, cmp.Verdict, cmp.Warnings)
			}
			want := whittle.FallsShort
			if c.part > 0 {
				want = whittle.Unavailable
			}
			if err := cmp.Err(gates(t, "p99 ratio > 1.1")); whittle.CodeOf(err) != want {
				t.Errorf("%v late: %v", c.part, err)
			}
		}
	}
}
