package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
	"whittle/internal/units"
)

// Verdict says what is known so far. It is computed on demand and kept until the next exchange. Its
// slices belong to the judge.
func (j *Judge) Verdict() whittle.Verdict {
	if j.verdict == nil {
		v := j.judge()
		if v.State == whittle.Different {
			j.shownAt = v.Compared
		}
		v.Summary += j.takenBack(&v)
		j.verdict = &v
	}
	return *j.verdict
}

// takenBack says that DIFFERENT was said, and why it no longer is: the proof stood on independent draws,
// and later exchanges show that they are not.
func (j *Judge) takenBack(v *whittle.Verdict) string {
	if j.shownAt == 0 || v.State == whittle.Different {
		return ""
	}
	return "; the DIFFERENT after " + units.Grouped(j.shownAt) + " was taken back, for what had shown it turned out to vary, or to move in each server by itself"
}

func (j *Judge) judge() whittle.Verdict {
	found, bounds := j.findings(j.mirrored)
	v := whittle.Verdict{
		State: whittle.Undecided, Compared: j.compared(), Errors: j.mirrored.Errors + j.served.Errors, Confidence: 1 - alphaOf(j.c),
		Novelty: j.shapes.Share(), Bounds: bounds, Findings: found,
	}
	j.addServed(&v)
	v.Findings = append(v.Findings, j.rechecks.unlisted(v.Findings, bodyKind(j.c))...)
	orderFindings(v.Findings)
	for i := range v.Findings {
		f := &v.Findings[i] // a key of JSON may be a secret: a map by token
		f.Path, f.Summary, f.Cause = j.show.Text(f.Path), j.show.Text(f.Summary), j.show.Text(f.Cause)
	}
	for i := range v.Bounds {
		v.Bounds[i].Summary = j.show.Text(v.Bounds[i].Summary)
	}
	if v.MoreNeeded = moreFor(bounds); v.MoreNeeded >= 0 {
		v.MoreNeeded = max(v.MoreNeeded, j.c.MinCompared-j.mirrored.Compared)
	}
	switch {
	case j.shown(&v):
		v.State, v.MoreNeeded = whittle.Different, 0
	case j.mirrored.Compared >= j.c.MinCompared && j.allInside(&v) && !j.openWhenFirst():
		v.State, v.MoreNeeded = whittle.Equivalent, 0
	case v.MoreNeeded > 0 && j.mirrored.Asked > 0: // as much of the coming exchanges is compared as so far
		v.MoreNeeded = int(min(1e9, float64(v.MoreNeeded)*(1+float64(j.mirrored.Excused)/float64(j.mirrored.Asked))))
	}
	v.Coverage = j.coverage()
	v.Summary = summarize(&v, j.mirrored.Excused+j.served.Excused)
	return v
}

// findings are those of one order, with the results of rechecks, and its bounds.
func (j *Judge) findings(s *series) ([]whittle.Finding, []whittle.Bound) {
	found, bounds := s.findings(j.explained(s))
	for i := range found {
		j.annotate(s, &found[i])
	}
	return found, bounds
}

// addServed adds what was found where the candidate was asked first. A difference that the other order
// shows as well is listed once, unless it is decided only here.
func (j *Judge) addServed(v *whittle.Verdict) {
	found, _ := j.findings(j.served)
	for i := range found {
		f := &found[i]
		known, decided := false, false
		for k := range v.Findings {
			g := &v.Findings[k]
			if g.Kind == f.Kind && g.Path == f.Path && g.Order == "" {
				known, decided = true, decided || g.Decided
			}
		}
		if known && (decided || !f.Decided) {
			continue
		}
		words := "when the candidate is asked first, as users ask it"
		if !known {
			f.Order = whittle.AskedFirst
			words = "only when the candidate is asked first, as users ask it"
		}
		f.Summary += "; " + words
		v.Findings = append(v.Findings, *f)
	}
}

// openWhenFirst reports whether the candidate's users met more unexplained differences than may be
// excused, or whether it is suspected to be odd where the monolith is not, or to keep to a difference
// that noise excuses.
func (j *Judge) openWhenFirst() bool {
	for _, t := range []*spacedBets{&j.rechecks.First, &j.rechecks.Second, &j.rechecks.Kept} {
		if t.Now >= eprocess.Suspected {
			return true
		}
	}
	k, n := j.served.open()
	if j.served.within(k, n) {
		return false
	}
	return !j.served.within(k-j.explained(j.served), n) || eprocess.Share{N: n, Differing: k}.High(alphaOf(j.c)) > j.served.margin()
}

// explained is how many of an order's differences the monolith itself explains.
func (j *Judge) explained(s *series) int {
	elder := [...]*series{j.served, j.mirrored}[s.order]
	return s.explained(elder, &j.rechecks)
}

// annotate adds the results of rechecks. Where the monolith itself responded otherwise to the request
// sent again, as to a proof good for one use, a status, type or failure is decided only if the
// monolith's repeats show that the candidate differs more often.
func (j *Judge) annotate(s *series, f *whittle.Finding) {
	j.rechecks.annotate(f, s.order)
	if head := headOf(f.Kind); head < 0 || f.Expected != "" || s.Heads[head].Self.Decided() {
		return
	}
	noise, times := 0, 0
	for i := range 2 {
		n, of := j.rechecks.varied(f.Kind, i)
		noise, times = noise+n, times+of
	}
	if times > 0 && 2*noise >= times {
		f.Decided, f.DecidedAt = false, 0
		f.Cause = fmt.Sprintf("the monolith itself responds otherwise when it gets the same again (%d of %s), as where a request carries what is good for one use "+
			"(a DPoP proof, the nonce of OAuth 1): declare what is right with expect: [{kind: %s, from: %s, to: %s, reason: …}]", noise, timesOf(times), f.Kind, f.Monolith, f.Candidate)
	}
}

// shown reports whether an undeclared difference is shown, and not shown to be negligible.
func (j *Judge) shown(v *whittle.Verdict) bool {
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Decided && f.Expected == "" && !negligible(f, v.Bounds) {
			return true
		}
	}
	return false
}

// negligible reports whether a finding of distribution lies inside its margin for sure.
func negligible(f *whittle.Finding, bounds []whittle.Bound) bool {
	return slices.Contains(ofDistribution, f.Kind) &&
		slices.ContainsFunc(bounds, func(b whittle.Bound) bool { return b.What == string(f.Kind) && b.Inside })
}

// ofDistribution are the kinds of findings with a bound of their own, which has the same name.
var ofDistribution = []whittle.FindingKind{whittle.FoundMean, whittle.FoundSpread, whittle.FoundDistribution}

// allInside reports whether every bound lies inside its margin, except those of a distribution with a
// declared difference. A declaration of another kind covers only its place; other places stay open.
func (j *Judge) allInside(v *whittle.Verdict) bool {
	return !slices.ContainsFunc(v.Bounds, func(b whittle.Bound) bool {
		return !b.Inside && !slices.ContainsFunc(j.c.Expect, func(e whittle.Expectation) bool {
			return string(e.Kind) == b.What && slices.Contains(ofDistribution, e.Kind)
		})
	})
}

// moreFor estimates how many more exchanges bring all bounds inside their margins; -1 where that is
// unknown for all.
func moreFor(bounds []whittle.Bound) (more int) {
	for i := range bounds {
		switch b := &bounds[i]; {
		case b.Inside:
		case b.More < 0:
			return -1
		default:
			more = max(more, b.More, 1)
		}
	}
	return more
}

// summarize says a verdict in one sentence. excused exchanges came that were not compared.
func summarize(v *whittle.Verdict, excused int) string {
	after := fmt.Sprintf("%s after %s exchanges: ", v.State, units.Grouped(v.Compared))
	if v.Compared == 1 {
		after = fmt.Sprintf("%s after 1 exchange: ", v.State)
	}
	switch v.State {
	case whittle.Different:
		return after + provenWords(v.Findings) + " proven; an equal candidate is called so at most once in " +
			units.Grouped(int(math.Round(1/(1-v.Confidence)))) + " rollouts"
	case whittle.Equivalent:
		covered := ""
		if v.Coverage != nil {
			covered = "; " + v.Coverage.Summary
		}
		return after + "what could still differ lies inside every margin, at a confidence of " + display.InPercent(v.Confidence) + covered + unseenWords(v.Novelty) + errorWords(v)
	}
	open := 0
	for _, f := range v.Findings {
		if f.Expected == "" {
			open++
		}
	}
	words := "nothing seen that differs"
	switch {
	case open > 0:
		words = units.Counted(open, "difference") + " suspected, not proven"
	case v.Compared == 0:
		words = "nothing was compared"
	}
	if excused > 0 {
		words += fmt.Sprintf("; %s further exchanges could not be compared, since the monolith gave no response in time, or a body was too large", units.Grouped(excused))
	}
	if v.Compared > 0 && v.MoreNeeded > 0 {
		words += fmt.Sprintf("; about %s more exchanges should decide", units.Grouped(v.MoreNeeded))
	}
	return after + words + errorWords(v)
}

// provenWords name the subjects of decided findings.
func provenWords(findings []whittle.Finding) string {
	var names []string
	for _, f := range findings {
		name := string(f.Kind)
		if f.Kind == whittle.FoundField || f.Kind == whittle.FoundHeader {
			name = strings.TrimSpace(name + " " + f.Path)
		}
		if f.Decided && f.Expected == "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return someOf(names)
}

// errorWords says that only errors were compared.
func errorWords(v *whittle.Verdict) string {
	if v.Compared == 0 || v.Errors < v.Compared {
		return ""
	}
	return "; each of the monolith's responses was an error (4xx or 5xx)"
}

// unseenWords says of which share of the requests the verdict says nothing.
func unseenWords(share float64) string {
	if share < 0.0005 {
		return ""
	}
	return ", for requests of the shapes that came; about " + display.InPercent(share) + " of the requests are of others"
}

// orderFindings sorts findings: shown undeclared ones, then suspected ones, then declared ones. In each
// group those that affect most requests come first, so a small effect with a known cause hides no larger
// one.
func orderFindings(list []whittle.Finding) {
	slices.SortStableFunc(list, func(a, b whittle.Finding) int {
		return cmp.Or(priority(&a)-priority(&b), cmp.Compare(b.Count, a.Count))
	})
}

func priority(f *whittle.Finding) int {
	switch {
	case f.Expected != "":
		return 2
	case f.Decided:
		return 0
	}
	return 1
}
