// Package report presents the profiles of a service, and the difference of two,
// in words, as JSON and as one HTML file.
package report

import (
	"fmt"
	"slices"
	"time"

	"whittle/internal/units"
	"whittle/profile"
	"whittle/profile/smell"
)

// Format identifies the JSON's format; it changes when the format does
// incompatibly.
const Format = "whittle.profile/1"

// How many rows of each list there are.
const (
	hotRows  = 15
	siteRows = 8
)

// Report is what profiles of one service, taken over the same time, show.
type Report struct {
	Format string `json:"format"`
	// Words is the message: the dearest line, and what the dearest endpoint costs.
	Words   string          `json:"words"`
	Service string          `json:"service"`
	Runtime profile.Runtime `json:"runtime"`
	Started time.Time       `json:"started_at"`
	Seconds float64         `json:"duration_s"`
	// Cores is the CPU time over the duration.
	Cores float64 `json:"cores"`
	// Lines is how those of a live Node process came about: "cheap" or "exact".
	Lines    profile.Lines `json:"lines,omitempty"`
	Samples  int64         `json:"samples"`  // of the CPU's profile
	Requests int64         `json:"requests"` // 0: not known
	// CPUPerRequest is in milliseconds. 0: not known.
	CPUPerRequest float64       `json:"cpu_ms_per_request"`
	Parts         []Part        `json:"parts"`
	Endpoints     []Endpoint    `json:"endpoints"`
	Sites         []Site        `json:"own_lines"`
	Self          []Function    `json:"by_self"`
	Total         []Function    `json:"by_total"`
	Others        []Other       `json:"other_kinds,omitempty"`
	Smells        []smell.Smell `json:"smells"`
	Warnings      []string      `json:"warnings,omitempty"`

	cpu *profile.Profile // nil: none of the profiles is of the CPU
}

// Part is a kind of work's share of the CPU time.
type Part struct {
	Kind  string  `json:"kind"`
	Share float64 `json:"share"`
}

// Endpoint is what one endpoint's requests cost.
type Endpoint struct {
	Name          string  `json:"name"` // "": of no request that is known
	Share         float64 `json:"share"`
	Samples       int64   `json:"samples"`
	Requests      int64   `json:"requests"`
	CPUPerRequest float64 `json:"cpu_ms_per_request"` // 0: not known
}

// Frame is one step of a chain.
type Frame struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Own      bool   `json:"own"`
	// FunctionOnly says that the line within the function is not known: Line is where it
	// begins, and Ends where it ends. 0: that is not known.
	FunctionOnly bool `json:"function_only,omitempty"`
	Ends         int  `json:"ends,omitempty"`
}

// Where gives file:line, or the lines of the function where no more is known.
func (f *Frame) Where() string {
	switch {
	case f.File == "":
		return "(native)"
	case f.Line == 0:
		return f.File
	case f.Ends > f.Line:
		return fmt.Sprintf("%s:%d to %d", f.File, f.Line, f.Ends)
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// Site is a line of the service's own code with what it asked for.
type Site struct {
	Frame
	Share         float64 `json:"share"`
	Samples       int64   `json:"samples"`
	CPUPerRequest float64 `json:"cpu_ms_per_request"`
	// Callee is what the line called into for most of it, and CalleeShare how
	// much of the profile's total. "": the line's own work is more.
	Callee      string  `json:"callee,omitempty"`
	CalleeShare float64 `json:"callee_share,omitempty"`
	// Chain goes from the outermost own function through the line to the leaf.
	Chain []Frame `json:"chain"`
}

// Function is a hot function.
type Function struct {
	Frame
	Self  float64 `json:"self_share"`
	Total float64 `json:"total_share"`
	// SelfPerRequest is in milliseconds. 0: not known.
	SelfPerRequest float64 `json:"self_cpu_ms_per_request"`
}

// Other is a profile of another kind than CPU.
type Other struct {
	Kind profile.Kind `json:"kind"`
	// PerSecond is in the kind's unit; of what has no duration (all since the process
	// began), the amount itself.
	PerSecond float64 `json:"per_second"`
	Sites     []Site  `json:"own_lines"`
	// Self and Total are only of a report without a profile of the CPU.
	Self  []Function `json:"by_self,omitempty"`
	Total []Function `json:"by_total,omitempty"`

	whole bool // PerSecond is the amount itself
}

// New looks at profiles of one service. One of them is of the CPU, or none.
func New(profiles []*profile.Profile) *Report {
	r := &Report{Format: Format, Smells: smell.Find(profiles)}
	hasCPU := slices.ContainsFunc(profiles, func(p *profile.Profile) bool { return p.Kind == profile.CPU })
	if r.Smells == nil {
		r.Smells = []smell.Smell{}
	}
	for _, p := range profiles {
		if r.Service == "" {
			r.Service, r.Runtime, r.Started = p.Service, p.Runtime, p.Began
		}
		if p.Kind == profile.CPU && r.cpu == nil {
			r.describe(p)
			continue
		}
		o := Other{Kind: p.Kind, PerSecond: float64(p.Total()), Sites: sites(p, 0)}
		if o.whole = p.Duration <= 0; !o.whole {
			o.PerSecond /= p.Duration.Seconds()
		}
		if !hasCPU {
			o.Self, o.Total = functions(p, profile.BySelf, 0), functions(p, profile.ByTotal, 0)
		}
		r.Others = append(r.Others, o)
	}
	r.Words = r.Sentence()
	return r
}

func (r *Report) describe(p *profile.Profile) {
	r.cpu, r.Seconds = p, p.Duration.Seconds()
	total := p.Total()
	r.Cores = float64(total) / float64(max(p.Duration, 1))
	r.Requests = p.AllRequests()
	r.CPUPerRequest = perRequest(total, r.Requests)
	for _, part := range p.Parts() {
		r.Parts = append(r.Parts, Part{part.Category.String(), part.Share})
	}
	for _, e := range p.ByEndpoint() {
		if !profile.Counted(e.Samples) {
			e.PerRequest = 0
		}
		r.Endpoints = append(r.Endpoints, Endpoint{e.Endpoint, e.Share, e.Samples, e.Requests, e.PerRequest / 1e6})
	}
	r.Lines = p.Lines
	r.Sites = sites(p, r.Requests)
	r.Self, r.Total = functions(p, profile.BySelf, r.Requests), functions(p, profile.ByTotal, r.Requests)
	r.Samples = samplesOf(p)
	if elsewhere := int64(p.Elsewhere()); p.Runtime == profile.Node && 2*elsewhere > total {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%.0f %% of the CPU is in threads that V8 does not profile, and for no line here: "+
			"libuv's pool, V8's helpers, native code, or worker threads that started meanwhile", 100*float64(elsewhere)/float64(total)))
	}
	if p.Cut {
		r.Warnings = append(r.Warnings, "requests were noted only for a part of the time, until there were half a million: what they are of all is too little; profile for a shorter time")
	}
	if n := r.Samples; n < enoughForALine {
		r.Warnings = append(r.Warnings, fmt.Sprintf("only %s: the process used %.3f of a core; put load on it, or profile longer", units.Counted(n, "sample"), r.Cores))
	}
}

const (
	// enoughForALine is the fewest samples by which one line is said to ask for the CPU.
	enoughForALine = 100
	// enoughForAShare is the fewest of which percentages are shown: with 30, a half is
	// 31 to 69 % at 95 % confidence (Clopper and Pearson).
	enoughForAShare = 30
)

func samplesOf(p *profile.Profile) (n int64) {
	for i := range p.Samples {
		if p.CategoryOf(&p.Samples[i]) != profile.Idle {
			n += max(p.Samples[i].Objects, 1)
		}
	}
	return n
}

// perRequest is in milliseconds, of nanoseconds.
func perRequest(value, requests int64) float64 {
	if requests == 0 {
		return 0
	}
	return float64(value) / float64(requests) / 1e6
}

func frame(p *profile.Profile, f profile.Frame) Frame {
	fn := p.Functions[f.Function]
	out := Frame{Function: fn.Name, File: fn.File, Line: int(f.Line), Own: fn.Owner == profile.Own}
	if out.Line == 0 {
		out.Line = fn.Line
		if out.Own {
			out.FunctionOnly, out.Ends = true, fn.Ends
		}
	}
	return out
}

func sites(p *profile.Profile, requests int64) []Site {
	out := []Site{}
	for _, s := range p.Sites(siteRows) {
		site := Site{Frame: frame(p, profile.Frame{Function: s.Function, Line: s.Line}), Share: s.Share, Samples: s.Samples, CPUPerRequest: perRequest(s.Value, requests)}
		if s.Callee >= 0 {
			site.Callee, site.CalleeShare = p.Functions[s.Callee].Name, s.Share*float64(s.CalleeValue)/float64(max(s.Value, 1))
		}
		for _, f := range s.Chain {
			site.Chain = append(site.Chain, frame(p, f))
		}
		out = append(out, site)
	}
	return out
}

func functions(p *profile.Profile, by func(profile.Cost) int64, requests int64) []Function {
	out := []Function{}
	total := float64(max(p.Total(), 1))
	for _, c := range p.Hot(by) {
		if len(out) == hotRows || by(c) == 0 {
			break
		}
		out = append(out, Function{
			frame(p, profile.Frame{Function: c.Function, Line: c.HotLine}),
			float64(c.Self) / total, float64(c.Total) / total, perRequest(c.Self, requests),
		})
	}
	return out
}
