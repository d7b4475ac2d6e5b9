package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/internal/latency"
	"whittle/load/plan"
	"whittle/load/report"
	"whittle/load/wire"
	"whittle/whittletest"
)

// sent is a value as the network carries it.
func sent[T any](t *testing.T, v *T) *T {
	t.Helper()
	b, err := json.Marshal(v)
	fatal.If(t, err)
	out := new(T)
	fatal.If(t, json.Unmarshal(b, out))
	return out
}

// someObservation draws an outcome of a request of one of three names.
func someObservation(rng *rand.Rand, at time.Time) *observation {
	o := &observation{name: rng.IntN(3), intended: at, done: at.Add(time.Duration(rng.ExpFloat64() * float64(30*time.Millisecond)))}
	o.Sent, o.First = at.Add(time.Duration(rng.IntN(1000))*time.Microsecond), at.Add(time.Millisecond)
	o.Connect, o.SentBytes, o.ReceivedBytes = time.Duration(rng.IntN(2))*time.Millisecond, 100, int64(rng.IntN(5000))
	o.status = []int{200, 201, 302, 404, 503}[rng.IntN(5)]
	o.group, o.gap = 1+rng.IntN(2), time.Duration(rng.IntN(50))*time.Millisecond
	if o.status >= 500 {
		o.failure = report.ErrorServer
	}
	if rng.IntN(20) == 0 {
		o.status, o.failure, o.err = 0, []string{report.ErrorTimeout, report.ErrorReset}[rng.IntN(2)], errors.New("such as this")
	}
	return o
}

// What parts have counted, sent and put together, is what one process would have
// counted: every figure of the report that comes of the requests, and every bucket.
func TestPartsAreReportedAsOneRun(t *testing.T) {
	t.Parallel()
	p := &plan.Plan{Name: "p", Names: []string{"a", "b", "c"}, Groups: make([]plan.Group, 2)}
	rng := rand.New(rand.NewPCG(3, 5))
	for range 4 {
		n := 2 + rng.IntN(4)
		whole := newRecorder(len(p.Names))
		parts := make([]*recorder, n)
		for i := range parts {
			parts[i] = newRecorder(len(p.Names))
		}
		for i := range rng.IntN(3000) {
			o := someObservation(rng, time.Unix(0, 0))
			late := time.Duration(rng.IntN(300)) * time.Microsecond
			for _, r := range []*recorder{whole, parts[rng.IntN(n)]} {
				sh := r.shard(i)
				sh.recordStart(late)
				if i%100 == 99 {
					sh.recordUnfinished(o)
				} else {
					sh.record(o)
				}
			}
		}
		want := &report.Report{Seconds: 10}
		whole.total().fill(want, p)
		sum, got := newTally(len(p.Names)), &report.Report{Seconds: 10}
		for _, r := range parts {
			part, err := sent(t, &PartResult{tally: *r.total()}).checked(len(p.Names), len(p.Groups))
			fatal.If(t, err)
			sum.merge(part)
		}
		sum.fill(got, p)
		if a, b := inJSON(t, got), inJSON(t, want); a != b {
			t.Fatalf("%d parts:\n%s\nwhole:\n%s", n, a, b)
		}
	}
}

func inJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	fatal.If(t, err)
	return string(b)
}

// A result that no part can have had is refused, whatever it is.
func TestWhatNoPartCanHaveCountedIsRefused(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(p *PartResult){
		"another plan":      func(p *PartResult) { p.Names = append(p.Names, p.Names[0]) },
		"no names":          func(p *PartResult) { p.Names = nil },
		"no latencies":      func(p *PartResult) { p.Names[0].Intended = nil },
		"no connects":       func(p *PartResult) { p.Connect = nil },
		"no successes":      func(p *PartResult) { p.Succeeded = nil },
		"below 0":           func(p *PartResult) { p.Names[1].Failed = -1 },
		"users below 0":     func(p *PartResult) { p.Users.Started = -1 },
		"errors below 0":    func(p *PartResult) { p.Errors = map[string]int64{"reset": -2} },
		"a group too many":  func(p *PartResult) { p.Paces = map[int]*groupPace{3: {}} },
		"too many statuses": func(p *PartResult) { p.Codes = manyCodes() },
	} {
		p := &PartResult{tally: *newTally(2)}
		spoil(p)
		_, err := p.checked(2, 2)
		whittletest.Refused(t, err, whittle.Invalid, name)
	}
	for name, s := range map[string]Sample{
		"empty": {}, "before": {At: -1}, "counts": {window: window{Completed: -1}}, "far": {At: 400 * 24 * time.Hour}, "users": {window: window{Skipped: -1}},
	} {
		if name != "empty" {
			s.Latency = new(latency.Histogram)
		}
		fatal.Same(t, whittle.CodeOf(s.check()), whittle.Invalid, "sample %s", name)
	}
}

func manyCodes() map[int]int64 {
	out := map[int]int64{}
	for i := range maxKinds + 1 {
		out[i] = 1
	}
	return out
}

func rows(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "r%d\n", i)
	}
	return b.String()
}

// inParts runs a plan in n parts at once, and gives the report of the whole.
func inParts(t *testing.T, p *plan.Plan, n int, o Options) *report.Report {
	t.Helper()
	if o.Protocol == "" {
		o.Protocol = wire.HTTP1
	}
	o.Seed = 7
	r, err := NewRunner(p, o)
	fatal.If(t, err)
	w, err := r.Joint(t.Context(), n)
	fatal.If(t, err)
	defer w.Close()
	base, err := w.Before(t.Context())
	fatal.If(t, err)
	start := time.Now()
	w.Begin(t.Context(), start)
	var wg sync.WaitGroup
	names := make([]PartName, n)
	for i := range n {
		names[i].Name = fmt.Sprint("w", i)
		wg.Go(func() {
			own := o
			own.Part = plan.Part{Index: i, Of: n}
			q, err := NewRunner(p, own)
			if err != nil {
				t.Error(err)
				return
			}
			result, err := q.RunPart(t.Context(), PartStart{Start: start, Base: base, OnSample: func(s *Sample) {
				if err := w.Sample(i, sent(t, s)); err != nil {
					t.Error(err)
				}
			}})
			if err == nil {
				err = w.Add(i, sent(t, result))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	w.Tick()
	return w.Report(t.Context(), names, "", false)
}

// Whatever sends the plan, its parts together send each row of a file once, and as many
// requests as one process.
func TestPartsSendWhatTheWholeSends(t *testing.T) {
	t.Parallel()
	const open = "config: {phases: [{duration: 1, arrivalCount: 60}], payload: {path: rows.csv, fields: [row], order: sequence}}\n"
	for name, text := range map[string]string{
		"event loops": open + "scenarios: [{flow: [{get: {url: '/{{ row }}'}}]}]",
		"goroutines":  open + "scenarios: [{flow: [{get: {url: '/{{ row }}'}}]}]",
		"a pool":      strings.Replace(open, "config: {", "config: {http: {pool: 7}, ", 1) + "scenarios: [{flow: [{get: {url: '/{{ row }}'}}]}]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := Parse("p.yml", []byte(text), plan.Source{Open: func(string) ([]byte, error) { return []byte(rows(60)), nil }})
			fatal.If(t, err)
			p.Scripted = name == "goroutines"
			srv := newAsked(t, nil)
			r := inParts(t, p, 4, Options{Target: srv.URL, MaxLate: time.Minute})
			checkRows(t, srv.seen, 60)
			if r.Requests != 60 || r.Completed != 60 || r.Users.Planned != 60 || r.Users.Started != 60 || r.Void != "" || len(r.Workers) != 4 || r.Workers[2].Completed != 15 {
				t.Errorf("report: %+v", r)
			}
			var arrivals, completed int64
			for i := range r.Series {
				arrivals, completed = arrivals+r.Series[i].Arrivals, completed+r.Series[i].Completed
			}
			if arrivals != 60 || completed != 60 {
				t.Errorf("the series has %d arrivals and %d responses", arrivals, completed)
			}
		})
	}
}

// checkRows holds that n paths were asked for, each once.
func checkRows(t *testing.T, seen map[string]int, n int) {
	t.Helper()
	for path, times := range seen {
		if times != 1 {
			t.Fatalf("%s was sent %d times, and %d paths in all", path, times, len(seen))
		}
	}
	fatal.Same(t, len(seen), n, "rows sent: %v", seen)
}

// Closed users of several parts take the rows of a JMeter data set in turns, and -n of a
// URL is the number of all together, also where there are fewer users than parts.
func TestClosedPartsAddUp(t *testing.T) {
	t.Parallel()
	srv := newAsked(t, nil)
	p, err := Parse("p.jmx", []byte(dealtPlan), plan.Source{Open: func(string) ([]byte, error) { return []byte("row\n" + rows(40)), nil }})
	fatal.If(t, err)
	r := inParts(t, p, 4, Options{Target: srv.URL, MaxLate: time.Minute})
	checkRows(t, srv.seen, 40)
	if r.Users.Started != 8 || r.Requests != 40 {
		t.Errorf("%d users sent %d requests", r.Users.Started, r.Requests)
	}
	for _, users := range []int{1, 2, 3, 7} {
		srv := newAsked(t, nil)
		p, err := Workload{Plan: srv.URL + "/x", Users: users, Requests: 50}.Read()
		fatal.If(t, err)
		r := inParts(t, p, 3, Options{MaxLate: time.Minute})
		srv.want(t, map[string]int{"GET /x": 50})
		if r.Requests != 50 || r.Users.Started != int64(users) {
			t.Errorf("%d users: %d requests reported", users, r.Requests)
		}
	}
}

// dealtPlan has eight users with five loops each, of whom each loop takes the next row.
var dealtPlan = jmx(threads(8, 5, strings.Replace(element("CSVDataSet", "filename", "rows.csv"), "</CSV",
	`<boolProp name="recycle">false</boolProp><boolProp name="stopThread">true</boolProp></CSV`, 1)+get("/${row}", "")))

// What parts cannot do as the whole does is refused, with the reason.
func TestWhatCannotBeDividedIsRefused(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"config: {target: http://x, http: {pool: 2}, phases: [{duration: 1, arrivalRate: 9}]}\nscenarios: [{flow: [{get: {url: /}}]}]": "a pool",
		"config: {target: http://x, phases: [{duration: 1, arrivalRate: 9, maxVusers: 2}]}\nscenarios: [{flow: [{get: {url: /}}]}]":    "maxVusers of phase 1 is 2",
		strings.ReplaceAll(dealtPlan, "ThreadGroup testname", "SetupThreadGroup testname"):                                             "wait for each other",
		strings.ReplaceAll(dealtPlan, "/${row}", "/${__setProperty(a,b)}"):                                                             "properties",
	} {
		text = strings.ReplaceAll(text, "</ThreadGroup>", "</"+map[bool]string{true: "Setup", false: ""}[strings.Contains(text, "<SetupThread")]+"ThreadGroup>")
		p, err := Parse("p", []byte(text), plan.Source{Open: func(string) ([]byte, error) { return []byte("row\n1\n"), nil }})
		if err != nil {
			t.Errorf("%s: %v", says, err)
			continue
		}
		r, err := NewRunner(p, Options{Target: "http://127.0.0.1:1"})
		fatal.If(t, err)
		_, err = r.Joint(t.Context(), 3)
		whittletest.Refused(t, err, whittle.Unsupported, says, strings.TrimPrefix(says, "a "))
		if w, err := r.Joint(t.Context(), 1); err != nil {
			t.Errorf("%s: one worker: %v", says, err)
		} else {
			w.Close()
		}
	}
}
