package duel

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"whittle/internal/paired"
	"whittle/load/report"
)

// ComparisonFormat names the JSON form of a comparison and its version.
const ComparisonFormat = "whittle.compare/1"

// The methods by which a comparison's intervals are computed, as the report names
// them.
const (
	methodPaired = "paired blocks in random order; sign flips of up to 24 stretches of pairs, inverted (Fisher 1935; Künsch 1989 for stretches)"
	methodRuns   = "whole runs in pairs, in random order; Student's interval of the log ratios"
)

// Comparison is the result of comparing two targets. Its JSON form is documented
// in docs/load.md.
type Comparison struct {
	Format  string    `json:"format"`
	Plan    string    `json:"plan"`
	Model   string    `json:"model"`
	Started time.Time `json:"started_at"`
	Seed    uint64    `json:"seed"`
	// Method says how the intervals are computed, with its sources.
	Method string `json:"method"`
	// Verdict is the whole comparison in a sentence.
	Verdict string `json:"verdict"`
	// Void is empty, or why the figures may not be used.
	Void  string `json:"void"`
	Early bool   `json:"ended_early"`
	// Pairs of blocks, each BlockSeconds long.
	Pairs        int     `json:"pairs"`
	BlockSeconds float64 `json:"block_s"`
	// Figures are the median, p95, p99, rate, CPU per request where it was
	// measured, and errors, in this order.
	Figures  []Compared     `json:"figures"`
	Blocks   []ComparedPair `json:"blocks,omitempty"`
	A        *report.Report `json:"a"`
	B        *report.Report `json:"b"`
	Warnings []string       `json:"warnings,omitempty"`
}

// Compared is one figure of both targets.
type Compared struct {
	// Key is what a bound names it by: median, p95, p99, rate, cpu, errors.
	Key  string `json:"key"`
	Name string `json:"name"`
	Unit string `json:"unit"`
	A    Number `json:"a"`
	B    Number `json:"b"`
	// Ratio is B's over A's, Low to High its 95 % interval by itself.
	Ratio Number `json:"ratio"`
	Low   Number `json:"low"`
	High  Number `json:"high"`
	// P is the p-value by itself, Adjusted after Holm for all figures together.
	P        Number `json:"p"`
	Adjusted Number `json:"p_adjusted"`
	// Different says that the figure is called different; over all figures
	// together at most 5 % of comparisons of equals have any.
	Different bool `json:"different"`
	// Void is empty, or why this figure may not be used though others may.
	Void string `json:"void,omitempty"`
	// Detectable is the least difference, as a part, that would have been called
	// so in four of five such comparisons.
	Detectable Number `json:"detectable"`
}

// ComparedPair is one pair of blocks.
type ComparedPair struct {
	// At is the earlier block's start, in seconds since the comparison's.
	At float64 `json:"at_s"`
	// First is "a" or "b".
	First string  `json:"first"`
	A     float64 `json:"a_median_ms"`
	B     float64 `json:"b_median_ms"`
}

// Number is a figure that may be missing or infinite; it is then null in JSON.
type Number float64

// MarshalJSON writes null for an infinity and for NaN.
func (n Number) MarshalJSON() ([]byte, error) {
	f := float64(n)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(f)
}

// UnmarshalJSON reads null as not a number.
func (n *Number) UnmarshalJSON(b []byte) error {
	f := math.NaN()
	if string(b) != "null" {
		if err := json.Unmarshal(b, &f); err != nil {
			return fmt.Errorf("read number: %w", err)
		}
	}
	*n = Number(f)
	return nil
}

// figure is one of a comparison, before it is judged.
type figure struct {
	key, name, unit string
	paired.Ratio
}

// compared is the figure as it is reported, with what was judged of it.
func (f *figure) compared(n *paired.Named, tested int) Compared {
	return Compared{
		Key: f.key, Name: f.name, Unit: f.unit, A: Number(f.A), B: Number(f.B),
		Ratio: Number(f.Ratio.Ratio), Low: Number(f.Low), High: Number(f.High),
		P: Number(f.P), Adjusted: Number(n.Adjusted), Different: n.Different, Detectable: Number(f.Detectable(tested)),
	}
}

// judged judges figures together; tested says how many of them could be tested.
func judged(figures []figure) (all []paired.Named, tested int) {
	for _, f := range figures {
		all = append(all, paired.Named{Name: f.name, Ratio: f.Ratio})
		if !math.IsNaN(f.P) {
			tested++
		}
	}
	paired.Judge(all)
	return all, tested
}

// rateMargin is the least relative difference of two rates that is reported: where
// both targets keep up, rates differ only by their last responses.
const rateMargin = 0.01

// judge fills in the figures and the verdict.
func (c *Comparison) judge(figures []figure) {
	void := c.voidTails(figures)
	named, tested := judged(figures)
	for i := range figures {
		f, n := &figures[i], &named[i]
		if f.key == "rate" && math.Abs(math.Log(f.Ratio.Ratio)) < rateMargin {
			n.Different = false
		}
		compared := f.compared(n, tested)
		compared.Void = void[f.key]
		c.Figures = append(c.Figures, compared)
	}
	c.Verdict = paired.Sentence(named)
	switch {
	case c.A.Void != "" && !onlyTail(c.A):
		c.Void = "target A: " + c.A.Void
	case c.B.Void != "" && !onlyTail(c.B):
		c.Void = "target B: " + c.B.Void
	case c.A.Completed == 0 || c.B.Completed == 0:
		c.Void = fmt.Sprintf("there is nothing to compare: A responded to %d requests, B to %d", c.A.Completed, c.B.Completed)
	case c.A.NoSuccess() != "" && c.B.NoSuccess() != "":
		c.Void = "there is nothing to compare: of A " + c.A.NoSuccess() + ", and of B " + c.B.NoSuccess()
	}
	if c.Void != "" {
		c.Verdict = "Void: " + c.Void + "."
	}
	if a, b := failedPart(c.A), failedPart(c.B); failuresDiffer(a, b) {
		c.Warnings = append(c.Warnings, otherWork(a, b))
	}
	c.Warnings = append(c.Warnings, scriptWarnings(c.A.ScriptFailures, c.B.ScriptFailures)...)
}

// scriptWarnings say which of the plan's scripts failed, and before which target.
func scriptWarnings(a, b []report.ScriptFailure) (out []string) {
	for i, failures := range [][]report.ScriptFailure{a, b} {
		for _, line := range report.ScriptLines(failures) {
			out = append(out, fmt.Sprintf("SCRIPT FAILED, target %c: %s", 'A'+i, line))
		}
	}
	return out
}

// tailFrom is the quantile from which a generator's lateness spoils the tail alone: the
// median of users of whom nine in ten were punctual is that of the target.
const tailFrom = 0.9

// onlyTail reports whether what makes a run void does so for its tail alone.
func onlyTail(r *report.Report) bool { return r.LateFrom() >= tailFrom }

// voidTails takes away the figures of the tail where the generator was late for it, on
// either side, and says so. It returns why, by their keys.
func (c *Comparison) voidTails(figures []figure) map[string]string {
	out := map[string]string{}
	for side, r := range []*report.Report{c.A, c.B} {
		if r.Void == "" || !onlyTail(r) {
			continue
		}
		for i := range figures {
			f := &figures[i]
			if tails[f.key] >= r.LateFrom() {
				f.takeRatio()
				out[f.key] = cmp.Or(out[f.key], "target "+"AB"[side:side+1]+": "+r.Void)
			}
		}
	}
	c.Warnings = append(c.Warnings, voidWarnings(out)...)
	return out
}

// tails are the quantiles of the figures of the tail.
var tails = map[string]float64{"p95": .95, "p99": .99}

// takeRatio leaves the figure of each target, and nothing that compares them.
func (f *figure) takeRatio() {
	f.Ratio.Ratio, f.Low, f.High, f.P = math.NaN(), math.NaN(), math.NaN(), math.NaN()
}

// voidWarnings say which figures are void though others are not, and why.
func voidWarnings(void map[string]string) (out []string) {
	for _, key := range slices.Sorted(maps.Keys(void)) {
		out = append(out, key+" is void and not compared, the other figures stand: "+void[key])
	}
	return out
}

// failuresDiffer reports whether the fractions of failed requests differ so much
// that the latencies are not of the same work.
func failuresDiffer(a, b float64) bool { return math.Abs(a-b) > 0.01 }

func otherWork(a, b float64) string {
	return fmt.Sprintf("A failed %.1f %% of its requests and B %.1f %%: an error may be quicker than a response, so the latencies are not of the same work", 100*a, 100*b)
}

func failedPart(r *report.Report) float64 { return float64(r.Failed) / float64(max(r.Requests, 1)) }

// comparison summarizes a duel.
func (d *Duel) comparison(turns [2]*sideRun, started time.Time, early bool, rng *rand.Rand) *Comparison {
	a, b := turns[0], turns[1]
	c := &Comparison{
		Format: ComparisonFormat, Plan: d.Plan.Name, Started: started.UTC(), Seed: d.Options.Seed,
		Method: methodPaired, Early: early, Pairs: len(a.blocks), BlockSeconds: d.Block.Seconds(),
		A: a.Report(started, early), B: b.Report(started, early),
	}
	c.Model = c.A.Model
	for i := range a.blocks {
		p, q := &a.blocks[i], &b.blocks[i]
		pair := ComparedPair{At: p.report.Started.Sub(started).Seconds(), First: "a", A: p.sample.Quantile(.5), B: q.sample.Quantile(.5)}
		if q.report.Started.Before(p.report.Started) {
			pair.At, pair.First = q.report.Started.Sub(started).Seconds(), "b"
		}
		c.Blocks = append(c.Blocks, pair)
	}
	test := paired.NewTest(len(a.blocks), rng)
	blocks := paired.NewBlocks(samplesOf(a), samplesOf(b))
	mean := func(of func(*blockResult) paired.Share) paired.Ratio {
		return test.Compare(paired.Mean(a.shares(of), b.shares(of)))
	}
	figures := []figure{
		{"median", "median", "ms", test.Compare(blocks.Quantile(.5))},
		{"p95", "p95", "ms", test.Compare(blocks.Quantile(.95))},
		{"p99", "p99", "ms", test.Compare(blocks.Quantile(.99))},
		{"rate", "rate", "/s", mean(func(r *blockResult) paired.Share { return r.rate })},
	}
	if len(c.A.Processes) > 0 && len(c.B.Processes) > 0 {
		figures = append(figures, figure{"cpu", "CPU per request", "ms", mean(func(r *blockResult) paired.Share {
			var used float64
			for _, p := range r.report.Processes {
				used += p.CPU
			}
			return paired.Share{Sum: used, Of: float64(r.report.Completed)}
		})})
	}
	failed := func(r *blockResult) paired.Share {
		return paired.Share{Sum: float64(r.report.Failed), Of: float64(r.report.Requests)}
	}
	figures = append(figures, figure{"errors", "error rate", "", test.Compare(paired.Counted(a.shares(failed), b.shares(failed)))})
	c.judge(figures)
	if spent := c.A.Seconds + c.B.Seconds; spent > 2*2*d.Block.Seconds()*float64(len(a.blocks)) {
		c.Warnings = append(c.Warnings, fmt.Sprintf("blocks of %v took %.1f times as long until their last user was done: the targets did not keep up, or "+
			"users live long; latencies are those of such short bursts, and a longer --block shows what a queue does",
			d.Block, spent/(2*d.Block.Seconds()*float64(len(a.blocks)))))
	}
	return c
}

// shares collects one mean's parts of all blocks.
func (t *sideRun) shares(of func(*blockResult) paired.Share) []paired.Share {
	out := make([]paired.Share, len(t.blocks))
	for i := range t.blocks {
		out[i] = of(&t.blocks[i])
	}
	return out
}

func samplesOf(t *sideRun) []paired.Sample {
	out := make([]paired.Sample, len(t.blocks))
	for i := range t.blocks {
		out[i] = t.blocks[i].sample
	}
	return out
}
