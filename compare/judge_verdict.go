package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"whittle"
)

// Verdict says what is known so far. It is computed when asked for and kept
// until the next exchange; its slices belong to the judge.
func (j *Judge) Verdict() whittle.Verdict {
	if j.verdict == nil {
		v := j.judge()
		j.verdict = &v
	}
	return *j.verdict
}

func (j *Judge) judge() whittle.Verdict {
	found, bounds, more := j.method.report(methodAlpha(j.c))
	v := whittle.Verdict{
		State: whittle.Undecided, Compared: j.compared, Confidence: 1 - alphaOf(j.c),
		Novelty: j.novelty.share(), Bounds: append(bounds, j.looseBound()),
		Findings: []whittle.Finding{},
	}
	v.Findings = append(v.Findings, j.failure.findings(whittle.FoundFailure, "the candidate gave")...)
	v.Findings = append(v.Findings, j.status.findings(whittle.FoundStatus, "status")...)
	v.Findings = append(v.Findings, j.kind.findings(whittle.FoundContentType, "content type")...)
	v.Findings = append(v.Findings, j.headers.findings(j.limit())...)
	v.Findings = append(v.Findings, found...)
	v.MoreNeeded = j.moreNeeded(more, &v)
	switch {
	case j.shown(&v):
		v.State, v.MoreNeeded = whittle.Different, 0
	case j.compared >= j.c.MinCompared && j.allInside(&v):
		v.State, v.MoreNeeded = whittle.Equivalent, 0
	}
	v.Summary = summarize(&v)
	return v
}

// looseBound bounds the share of exchanges that differ by themselves, whatever
// the others are.
func (j *Judge) looseBound() whittle.Bound {
	high := shareBound(j.loose, j.asked, alphaOf(j.c))
	b := whittle.Bound{
		What: "share of answers", High: high, MarginHigh: j.limit(),
		Estimate: float64(j.loose) / float64(max(1, j.asked)), Inside: high <= j.limit(),
	}
	what := "another status, content type or header, or no answer"
	if j.c.Kind == whittle.Statistical {
		what = "another status, content type, header or text, a wrong value, or no answer"
	}
	b.Summary = fmt.Sprintf("%s of %s exchanges had %s: at most %s can",
		commas(fmt.Sprint(j.loose)), commas(fmt.Sprint(j.asked)), what, inPercent(high))
	return b
}

// shown reports whether a difference is shown that nobody declared and that is
// not itself shown to be too small to matter.
func (j *Judge) shown(v *whittle.Verdict) bool {
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Decided && f.Expected == "" && !negligible(f, v.Bounds) {
			return true
		}
	}
	return false
}

// negligible reports whether a finding of law lies inside its margin for sure.
func negligible(f *whittle.Finding, bounds []whittle.Bound) bool {
	switch f.Kind {
	case whittle.FoundMean, whittle.FoundSpread, whittle.FoundDistribution:
	default:
		return false
	}
	for i := range bounds {
		if bounds[i].What == string(f.Kind) {
			return bounds[i].Inside
		}
	}
	return false
}

// allInside reports whether every bound lies inside its margin, but for those
// of which a difference is declared.
func (j *Judge) allInside(v *whittle.Verdict) bool {
	for i := range v.Bounds {
		if !v.Bounds[i].Inside && !j.declared(v.Bounds[i].What) {
			return false
		}
	}
	return true
}

func (j *Judge) declared(what string) bool {
	for _, e := range j.c.Expect {
		if string(e.Kind) == what {
			return true
		}
	}
	return false
}

// moreNeeded adds to the method's estimate what the judge itself waits for.
func (j *Judge) moreNeeded(more int, v *whittle.Verdict) int {
	if more < 0 {
		return -1
	}
	more = max(more, j.c.MinCompared-j.compared)
	b := &v.Bounds[len(v.Bounds)-1]
	if b.Inside {
		return more
	}
	if b.Estimate >= b.MarginHigh {
		return -1
	}
	// The room between estimate and bound shrinks about like 1/n.
	need := float64(j.asked) * ((b.High-b.Estimate)/(b.MarginHigh-b.Estimate) - 1)
	if j.asked == 0 {
		need = math.Log(1/alphaOf(j.c)) / b.MarginHigh
	}
	return max(more, int(min(1e9, need))+1)
}

func summarize(v *whittle.Verdict) string {
	after := fmt.Sprintf("%s after %s exchanges: ", v.State, commas(fmt.Sprint(v.Compared)))
	if v.Compared == 1 {
		after = fmt.Sprintf("%s after 1 exchange: ", v.State)
	}
	switch v.State {
	case whittle.Different:
		var kinds []string
		for _, f := range v.Findings {
			if k := string(f.Kind); f.Decided && f.Expected == "" && !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
		}
		return after + strings.Join(kinds, ", ") + " shown; an equal candidate is called so at most once in " +
			commas(fmt.Sprintf("%.0f", 1/(1-v.Confidence))) + " rollouts"
	case whittle.Equivalent:
		return after + "what could still differ lies inside every margin, at a confidence of " + inPercent(v.Confidence)
	}
	open := 0
	for _, f := range v.Findings {
		if f.Expected == "" {
			open++
		}
	}
	words := "nothing seen that differs"
	if open == 1 {
		words = "1 difference seen, not shown"
	} else if open > 1 {
		words = fmt.Sprintf("%d differences seen, none of them shown", open)
	}
	if v.MoreNeeded > 0 {
		words += fmt.Sprintf("; about %s more exchanges should decide", commas(fmt.Sprint(v.MoreNeeded)))
	}
	return after + words
}
