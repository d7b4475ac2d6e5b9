package main

import (
	"whittle"
	"whittle/load/report"
)

// countFigures is what the demo found, act by act; it is written as
// demo-count.json, whose keys are documented in docs/systems/count.md.
type countFigures struct {
	played

	Contract    contractBlock `json:"contract"`
	Monolith    loadBlock     `json:"monolith"`
	AsPublished shadowBlock   `json:"as_published"`
	Mended      shadowBlock   `json:"mended"`
	Rollout     rolloutBlock  `json:"rollout"`
	After       loadBlock     `json:"after"`
}

// loadBlock is one run of the same plan through the gateway.
type loadBlock struct {
	Requests  int64   `json:"requests"`
	Completed int64   `json:"completed"`
	Failed    int64   `json:"failed"`
	Rate      float64 `json:"rate"`
	MedianMS  float64 `json:"median_ms"`
	P95MS     float64 `json:"p95_ms"`
	P99MS     float64 `json:"p99_ms"`
	// CPUPerRequest is the CPU time of the process that does the work: the
	// monolith before, the service after, each with the gateway's added.
	CPUPerRequest float64 `json:"cpu_ms_per_request"`
	// CPUByProcess is each process's own part of it.
	CPUByProcess map[string]float64 `json:"cpu_ms_per_request_by_process"`
	// Void says why the run cannot be trusted; empty if it can.
	Void string `json:"void,omitempty"`
}

func newLoadBlock(r *report.Report) loadBlock {
	b := loadBlock{
		Requests: r.Requests, Completed: r.Completed, Failed: r.Failed, Rate: r.Rate,
		MedianMS: r.Median, P95MS: r.P95, P99MS: r.P99, CPUPerRequest: r.CPUPerRequest,
		CPUByProcess: map[string]float64{}, Void: r.Void,
	}
	for _, p := range r.Processes {
		b.CPUByProcess[p.Name] = p.CPUPerRequest
	}
	return b
}

// shadowBlock is the result of shadowing a service.
type shadowBlock struct {
	Verdict  whittle.State     `json:"verdict"`
	Compared int               `json:"compared"`
	Summary  string            `json:"summary"`
	Findings []whittle.Finding `json:"findings"`
	Bounds   []whittle.Bound   `json:"bounds"`
	Ledger   whittle.Ledger    `json:"ledger"`
	// MaxShare is the greatest share of users, in percent, that the service
	// ever had while it was shadowed.
	MaxShare float64 `json:"max_share"`
	// Refused is the error of promoting it by hand.
	Refused string `json:"promotion_refused,omitempty"`
	// Flaws says which published flaw was named by which finding.
	Flaws map[string]string `json:"flaws_named,omitempty"`
}

func newShadowBlock(r *whittle.RouteStatus) shadowBlock {
	return shadowBlock{
		Verdict: r.Verdict.State, Compared: r.Verdict.Compared, Summary: r.Verdict.Summary,
		Findings: r.Verdict.Findings, Bounds: r.Verdict.Bounds, Ledger: r.Ledger,
	}
}

// rolloutBlock is the shift, with the break in the middle.
type rolloutBlock struct {
	// Shares, in percent, in the order in which they were in force.
	Shares []float64 `json:"shares"`
	// Harm is the harm budget at each of them.
	Harm []harmPoint `json:"harm"`
	// RolledBackMS is from the candidate's end to the share 0 in force.
	RolledBackMS float64 `json:"rolled_back_ms"`
	// RequestsTouched is how many users' requests met the broken candidate.
	RequestsTouched int64 `json:"requests_touched"`
	// seen is from the first shadowed request to the end of the shift.
	seen
	Timeline []whittle.Decision `json:"timeline"`
}
