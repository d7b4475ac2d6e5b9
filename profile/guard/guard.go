// Package guard compares a service's CPU time per request with a stored
// baseline, and names the function whose cost rose.
package guard

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/internal/paired"
	"whittle/internal/table"
	"whittle/profile"
)

// Format identifies the baseline file's format.
const Format = "whittle.profile-guard/1"

// Bounds of what is kept and read.
const (
	maxRuns      = 1000
	maxBaseline  = 16 << 20
	keptPerRun   = 200 // functions, the dearest
	blamedAtMost = 5
)

// Run is one short measurement.
type Run struct {
	Requests int64 `json:"requests"`
	// CPU is in nanoseconds a request.
	CPU float64 `json:"cpu_ns_per_request"`
	// Functions is each function's own part of CPU, for the most expensive
	// ones.
	Functions map[string]float64 `json:"functions"`
	// Own is the cost of the service's own functions, including the libraries
	// and the runtime that they call; empty where no sample had one.
	Own map[string]float64 `json:"own_functions"`
	// Responses counts the run's responses. Nil: the service does not tell.
	Responses *Responses `json:"responses,omitempty"`
}

// unusable is the error of a run that does not show what a response costs.
type unusable struct{ error }

func (u unusable) Unwrap() error { return u.error }

// MarkUnusable marks an error after which Take may repeat the run.
func MarkUnusable(err error) error { return unusable{err} }

func unusableError(text, hint string) error {
	return MarkUnusable(whittle.Errorf(whittle.FailedPrecondition, "guard: %s", text).WithHint(hint))
}

// RunFacts is what is known of a run in addition to its profile.
type RunFacts struct {
	// CPU is the CPU time that the process's own clock counted, which is more
	// precise than samples. 0: the samples are used.
	CPU time.Duration
	// Void says why the load did not follow its plan; "": it did, or there was
	// none.
	Void string
	// Responses counts the run's responses. Nil: not known.
	Responses *Responses
}

// NewRun makes a run of a profile that knows its requests. It fails with
// FailedPrecondition where the run does not show what a response costs: no
// request got a response, no CPU time was seen, or the load is void.
func NewRun(p *profile.Profile, facts RunFacts) (Run, error) {
	requests := p.AllRequests()
	total := float64(p.Total())
	if facts.CPU > 0 {
		total = float64(facts.CPU)
	}
	switch {
	case requests == 0:
		return Run{}, unusableError("no request got a response during a run", "put load on the service: --during PLAN, or a longer --duration")
	case facts.Void != "":
		return Run{}, unusableError("the load of a run is void: "+facts.Void, "or say with --max-late how late it may be")
	case !(total > 0):
		return Run{}, unusableError("no CPU time was seen during a run", "put more load on the service, or measure it for longer: a profile looks a hundred times a second")
	}
	r := Run{
		Requests: requests, CPU: total / float64(requests), Functions: map[string]float64{}, Own: map[string]float64{}, Responses: facts.Responses,
	}
	scale := total / max(float64(p.Total()), 1)
	for _, c := range p.Hot(profile.BySelf) {
		if len(r.Functions) == keptPerRun || c.Self == 0 {
			break
		}
		f := p.Functions[c.Function]
		r.Functions[nameOf(&f)] += float64(c.Self) * scale / float64(requests)
	}
	for _, s := range p.Sites(keptPerRun) {
		f := p.Functions[s.Function]
		r.Own[short(f.Name)+" ("+f.File+")"] += float64(s.Value) * scale / float64(requests)
	}
	return r, nil
}

// maxUnusable is how many unusable runs are repeated: a machine may stall for
// as long as a short run takes.
const maxUnusable = 3

// Take takes n runs, and repeats those that are unusable.
func Take(n int, take func(done int) (Run, error)) (runs []Run, err error) {
	for again := 0; len(runs) < n; {
		r, err := take(len(runs))
		_, no := errors.AsType[unusable](err)
		switch {
		case no && again < maxUnusable:
			again++
		case err != nil:
			return nil, err
		default:
			runs = append(runs, r)
		}
	}
	return runs, nil
}

// short drops the path of a Go function's package. Type arguments stay: baselines have them.
func short(name string) string {
	if strings.Contains(name, " ") {
		return name
	}
	return name[strings.LastIndexByte(name, '/')+1:]
}

// nameOf distinguishes V8's functions by file; a line would change with each edit.
func nameOf(f *profile.Function) string {
	if strings.Contains(f.Name, ".") || f.File == "" {
		return f.Name
	}
	return f.Name + " (" + f.File + ")"
}

// Baseline is what a service cost when it was found good, or costs now.
type Baseline struct {
	Format  string    `json:"format"`
	Service string    `json:"service"`
	Taken   time.Time `json:"taken_at"`
	// Machine is the one that whittle ran on.
	Machine table.Machine `json:"machine,omitzero"`
	Runs    []Run         `json:"runs"`
}

// Failed is the share of the requests that failed; known is false where no run
// knows.
func (b *Baseline) Failed() (share float64, known bool) {
	m := mixed(b.Runs)
	if !m.known() {
		return 0, false
	}
	return m.failing(), true
}

// Write writes a baseline as JSON.
func (b *Baseline) Write(w io.Writer) error {
	b.Format = Format
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(b)
}

// Read reads a baseline.
func Read(r io.Reader) (*Baseline, error) {
	var b Baseline
	text, err := io.ReadAll(io.LimitReader(r, maxBaseline+1))
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "read baseline: %w", err)
	}
	if len(text) > maxBaseline {
		return nil, whittle.Errorf(whittle.ResourceExhausted, "read baseline: more than %d bytes", maxBaseline)
	}
	if err := json.Unmarshal(text, &b); err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "read baseline: it is not what --update writes: cut off, or another file").
			WithHint("make one with --update")
	}
	if b.Format != Format || len(b.Runs) < 2 || len(b.Runs) > maxRuns {
		return nil, whittle.Errorf(whittle.Invalid, "read baseline: not of the format %s with 2 to %d runs", Format, maxRuns).
			WithHint("make one with --update")
	}
	for _, run := range b.Runs {
		if !(run.CPU > 0) || math.IsInf(run.CPU, 1) {
			return nil, whittle.Errorf(whittle.Invalid, "read baseline: a run without CPU time a request").
				WithHint("make one with --update")
		}
		if run.Responses != nil && !run.Responses.valid() {
			return nil, whittle.Errorf(whittle.Invalid, "read baseline: a run with fewer than no responses")
		}
	}
	return &b, nil
}

// ParseLimit reads "+10%" or "10%" as 0.10, and "1.1x" too.
func ParseLimit(text string) (float64, error) {
	t := strings.TrimPrefix(strings.TrimSpace(text), "+")
	factor, times := strings.CutSuffix(t, "x")
	t, percent := strings.CutSuffix(t, "%")
	if times {
		t = factor
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(t), 64)
	if percent {
		v /= 100
	} else {
		v--
	}
	if err != nil || percent == times || !(v >= 0 && v <= 100) {
		return 0, whittle.Errorf(whittle.Invalid, "limit %q: give a percentage such as +10%%, or a factor such as 1.1x", text)
	}
	return v, nil
}

// Blame is a function whose cost rose.
type Blame struct {
	Function string  `json:"function"`
	Before   float64 `json:"before_ns_per_request"`
	After    float64 `json:"after_ns_per_request"`
}

// Outcome is the result of a check.
type Outcome string

// The outcomes.
const (
	Held      Outcome = "held"      // the limit is kept, or nothing says otherwise
	Broken    Outcome = "broken"    // surely above the limit
	Undecided Outcome = "undecided" // the interval holds the limit: more runs would decide it
	// Incomparable: the responses are not those of the baseline, so the costs
	// cannot be compared.
	Incomparable Outcome = "incomparable"
)

// Verdict is the comparison of runs with a baseline.
type Verdict struct {
	Outcome Outcome `json:"outcome"`
	// Reason is why they are Incomparable, "" of other outcomes.
	Reason string  `json:"reason,omitempty"`
	Limit  float64 `json:"limit"` // 0.10: ten percent dearer
	Before float64 `json:"before_ns_per_request"`
	After  float64 `json:"after_ns_per_request"`
	// Ratio is After over Before, Low and High its 95 % interval.
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"ratio_low"`
	High  float64 `json:"ratio_high"`
	// Blame is by the service's own functions, with all that they ask for; by
	// any functions where none of its own became dearer.
	Blame []Blame `json:"blame"`
	// Within lists functions of any kind by their own cost alone.
	Within []Blame `json:"within"`
	// Warnings limit what the comparison can show.
	Warnings []string `json:"warnings,omitempty"`
}

// Check compares what a service costs now with a baseline. Both have two runs
// or more, as NewRun makes them.
//
// Hypothesis: the cost per request is at most (1+limit) of the baseline's. It is
// rejected (Broken) when the lower end of the ratio's 95 % interval is above
// that: a service at the limit is called broken in at most 2.5 % of checks. The
// interval is Student's over the log ratios of whole runs, the first of the
// baseline with the first of now and so on (paired.Runs). Runs are taken as
// independent, so what made the machine another between baseline and check is
// in no interval: keep a baseline for each machine.
//
// Responses that are clearly not the baseline's (see Responses) are Incomparable,
// whatever they cost: a service that fails cheaply, or that responds 401 to all,
// is within any limit.
func Check(base, now *Baseline, limit float64) Verdict {
	cost := func(runs []Run) (out []float64) {
		for _, r := range runs {
			out = append(out, r.CPU)
		}
		return out
	}
	r := paired.Runs(cost(base.Runs), cost(now.Runs))
	v := Verdict{
		Limit: limit, Before: finite(r.A), After: finite(r.B), Ratio: finite(r.Ratio), Low: finite(r.Low), High: finite(r.High),
		Warnings: warnings(base, now),
	}
	v.Reason = mixed(now.Runs).differs(mixed(base.Runs))
	switch {
	case v.Reason != "":
		v.Outcome = Incomparable
	case r.Low > 1+limit:
		v.Outcome = Broken
	case r.High <= 1+limit:
		v.Outcome = Held
	default:
		v.Outcome = Undecided
	}
	v.Within = blame(base.Runs, now.Runs, func(r Run) map[string]float64 { return r.Functions })
	v.Blame = v.Within
	if own := blame(base.Runs, now.Runs, func(r Run) map[string]float64 { return r.Own }); len(own) > 0 {
		v.Blame = own
	}
	return v
}

// finite is what JSON can say of a figure: an interval of two runs that have
// nothing in common is beyond all numbers.
func finite(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return min(x, math.MaxFloat64)
}

// warnings says how the two measurements differ in kind.
func warnings(base, now *Baseline) (out []string) {
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if base.Service != "" && now.Service != "" && base.Service != now.Service {
		add("the baseline is of %q, and this is %q", base.Service, now.Service)
	}
	if a, b := base.Machine, now.Machine; a != (table.Machine{}) && (a.Cores != b.Cores || a.CPU != b.CPU || a.OS != b.OS || a.Arch != b.Arch) {
		add("the baseline is of another machine (%d cores of %s, %s/%s; here %d of %s, %s/%s): keep one for each",
			a.Cores, a.CPU, a.OS, a.Arch, b.Cores, b.CPU, b.OS, b.Arch)
	}
	switch known := mixed(now.Runs).known(); {
	case known && !mixed(base.Runs).known():
		add("the baseline does not know what was returned, so it is held only that few requests fail: make a new one with --update")
	case !known:
		add("what was returned is not known, so that a service that fails cheaply is not seen: put load on it by --during, or give a metrics page that counts requests by code")
	}
	return out
}

// blame returns the functions whose cost rose, the largest rise first.
func blame(before, after []Run, part func(Run) map[string]float64) []Blame {
	mean := func(runs []Run) map[string]float64 {
		sums := map[string]float64{}
		for _, r := range runs {
			for name, v := range part(r) {
				sums[name] += v / float64(len(runs))
			}
		}
		return sums
	}
	was, out := mean(before), []Blame{}
	for name, v := range mean(after) {
		if v > was[name] {
			out = append(out, Blame{name, was[name], v})
		}
	}
	slices.SortFunc(out, func(a, b Blame) int {
		return cmp.Or(cmp.Compare(b.After-b.Before, a.After-a.Before), cmp.Compare(a.Function, b.Function))
	})
	return out[:min(len(out), blamedAtMost)]
}

// Sentence says it in words.
func (v *Verdict) Sentence() string {
	if v.Outcome == Incomparable {
		return "The runs cannot be held against the baseline: " + v.Reason + "."
	}
	s := fmt.Sprintf("CPU per request %s, %s in the baseline: %s (%s to %s, 95 %%), limit +%.0f %%: %s.",
		micros(v.After), micros(v.Before), change(v.Ratio), change(v.Low), change(v.High), 100*v.Limit, v.Outcome)
	if v.Outcome != Held && len(v.Blame) > 0 {
		b := v.Blame[0]
		s += fmt.Sprintf(" To blame first: %s, %s a request where it was %s.", b.Function, micros(b.After), micros(b.Before))
	}
	if v.Outcome == Undecided {
		s += " More or longer runs would decide it."
	}
	return s
}

func micros(ns float64) string {
	if ns >= 999.5e3 {
		return fmt.Sprintf("%.3g ms", ns/1e6)
	}
	return fmt.Sprintf("%.3g µs", ns/1e3)
}

func change(ratio float64) string {
	switch {
	case ratio == math.MaxFloat64:
		return "+∞"
	case ratio >= 2:
		return fmt.Sprintf("%.3g times as much", ratio)
	}
	return strings.Replace(fmt.Sprintf("%+.1f %%", 100*(ratio-1)), "-", "−", 1)
}

// Err is nil unless the limit is surely broken, which is FallsShort, or the
// costs cannot be compared, which is FailedPrecondition.
func (v *Verdict) Err() error {
	switch v.Outcome {
	case Broken:
		return whittle.Errorf(whittle.FallsShort, "guard: %s", v.Sentence())
	case Incomparable:
		return whittle.Errorf(whittle.FailedPrecondition, "guard: %s", v.Sentence()).
			WithHint("look at what the service returns; where that is as it should be, make a new baseline with --update")
	}
	return nil
}
