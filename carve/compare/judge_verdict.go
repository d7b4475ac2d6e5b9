package compare

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/header"
	"whittle/carve/compare/noise"
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

// Served is what is known of responses that users got from the candidate.
func (j *Judge) Served() whittle.Served {
	k, n := j.served.open()
	alpha := alphaOf(j.c)
	mirrored, _ := j.mirrored.open()
	out := whittle.Served{Compared: n, Differing: k, Bound: eprocess.Share{N: n, Differing: k}.High(alpha)}
	out.UserBound, out.Users = j.users.bound(alpha, k == 0 && mirrored == 0)
	out.Seconds = j.seconds.N
	out.Suspected = j.rechecks.Lopsided.lately()
	return out
}

// ServedNeeded is how many exchanges that the candidate served, none of them differing, bring the bound
// on their share to most.
func (j *Judge) ServedNeeded(most float64) int { return ServedNeeded(most, j.c) }

// ServedNeeded is how many of the candidate's responses to users have to be compared, none of them
// differing, until at most the given share can differ, at a comparison's confidence.
func ServedNeeded(most float64, c whittle.Comparison) int {
	return eprocess.NeededFor(most, alphaOf(c))
}

// bound is the upper bound on the share of users, or of their requests, that could be wrong unseen; n is
// how many users it stands on. Once all differences are explained, it forgets who met one.
func (u *users) bound(alpha float64, explained bool) (high float64, n int) {
	if explained && u.Open > 0 {
		for h := range u.Seen {
			u.Seen[h] = false
		}
		u.Open = 0
	}
	high = eprocess.Share{N: len(u.Seen), Differing: u.Open}.High(alpha / 2)
	if m := u.From[1]; m.N > 0 && u.Open == 0 {
		since := eprocess.Share{N: u.Requests.N - m.N, Differing: u.Requests.Differing - m.Differing}
		high = min(high, since.High(eprocess.OfNth(alpha/2, bits.Len(uint(m.N)))))
	}
	return high, len(u.Seen) << u.Level
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

// looseNow is Loose with the differences in headers that are no noise.
func (s *series) looseNow() int { return min(s.Asked, s.Loose+s.headers.Open()) }

// explained is how many of looseNow the monolith itself explains: at each of status, content type and
// failure at most as often as it was seen to vary there, in proportion. So one failure of its own
// excuses about one, and nothing elsewhere. elder is the other order's evidence, of the same monolith.
func (s *series) explained(elder *series, asked *rechecks) int {
	sum := 0.0
	for i := range heads {
		h, other := &s.Heads[i], &elder.Heads[i]
		varied := eprocess.Ratio(h.SelfCount+other.SelfCount, h.Repeats+other.Repeats)
		if i == failureHead {
			varied += eprocess.Ratio(s.Failed+elder.Failed, s.Asked+elder.Asked)
		}
		noise, _ := asked.varied(heads[i].kind, s.order)
		// Which of two equal sides is the odd one is a fair coin.
		sum += min(float64(h.Count), max(varied*float64(h.N), float64(2*noise)))
	}
	return int(sum)
}

// looseBound bounds the share of exchanges that differ by themselves, whatever the others are. Those
// seen are within the limit only if there are no more than it allows beyond what the monolith explains.
func (s *series) looseBound(explained int) whittle.Bound {
	loose, alpha := s.looseNow(), alphaOf(s.c)
	share := eprocess.Share{N: s.Asked, Differing: loose}
	b := whittle.Bound{
		ID: "exchanges", What: "share of responses", High: share.High(alpha), MarginHigh: s.margin(),
		Estimate: eprocess.Ratio(loose, s.Asked), More: share.MoreUntil(alpha, s.margin()),
	}
	excused := s.within(loose-explained, s.Asked)
	b.Inside = b.High <= b.MarginHigh && excused
	what := "another status, content type or header, or no response"
	if s.c.Kind == whittle.Statistical {
		what = "another status, content type, header or text, a wrong value, or no response"
	}
	b.Summary = fmt.Sprintf("%s of %s exchanges had %s: at most %s can",
		units.Grouped(loose), units.Grouped(s.Asked), what, display.InPercent(b.High))
	if !excused {
		b.Summary += seenTooOften(s.limit())
	}
	if !excused || s.Asked == 0 && s.Excused > 0 {
		b.More = -1
	}
	return b
}

// seenTooOften says that no number of equal responses outweighs the differences seen.
func seenTooOften(limit float64) string {
	return fmt.Sprintf("; only %s may be seen to differ (compare.max_differ), so fix and reset, or declare the difference", display.InPercent(limit))
}

// within reports whether the limit allows k differences of n.
func (s *series) within(k, n int) bool { return float64(k) <= s.limit()*float64(n) }

// findings are those of the series, decided ones first.
func (s *series) findings(explained int) ([]whittle.Finding, []whittle.Bound) {
	found, bounds := s.method.Report(alphaOf(s.c))
	list := []whittle.Finding{}
	for i := range heads {
		list = append(list, s.Heads[i].Findings(heads[i].kind, heads[i].words)...)
	}
	ofHeaders, further := s.headers.report(alphaOf(s.c))
	return slices.Concat(list, ofHeaders, found), append(append(bounds, further...), s.looseBound(explained))
}

// open is how many of n exchanges differ undeclared, at places of headers and bodies that are not the
// monolith's noise. Of status, type and failure explained says how many are the monolith's.
func (s *series) open() (k, n int) {
	k, n = s.looseNow(), s.Asked
	if s.c.Kind != whittle.Statistical { // whose own differences are in Loose
		k += s.method.Open()
	}
	return min(k, n), n
}

// Report implements method.
func (m *match) Report(alpha float64) ([]whittle.Finding, []whittle.Bound) {
	findings, bounds := m.doubts(alpha)
	low, high := m.share.Low(alpha), m.share.High(alpha)
	limit := marginOf(m.c.MaxDiffer)
	b := whittle.Bound{
		What: "share of responses", Low: low, High: high, MarginHigh: limit,
		Estimate: eprocess.Ratio(m.share.Differing, m.n), More: m.share.MoreUntil(alpha, limit),
	}
	b.Inside = m.n > 0 && high <= limit && b.Estimate <= m.c.MaxDiffer
	b.Summary = fmt.Sprintf("%s of %s responses differed: at most %s can (%s)",
		units.Grouped(m.share.Differing), units.Grouped(m.n), display.InPercent(high), display.Percent(1-alphaOf(m.c)))
	if m.n == 0 {
		b.Summary = "nothing has been compared yet"
	}
	if b.Estimate > m.c.MaxDiffer {
		b.Summary += seenTooOften(m.c.MaxDiffer)
		b.More = -1 // nobody knows when the differences will be explained
	}
	return findings, append([]whittle.Bound{b}, bounds...)
}

// doubts are the findings, and the bounds that EQUIVALENT waits for at single places.
func (m *match) doubts(alpha float64) (findings []whittle.Finding, bounds []whittle.Bound) {
	m.refresh()
	findings = m.findings()
	if noise, ok := m.noiseBound(alpha); ok {
		bounds = append(bounds, noise)
	}
	if places, ok := m.unsureBound(); ok {
		bounds = append(bounds, places)
	}
	if form, ok := m.forms.Bound(m.n); ok {
		bounds = append(bounds, form)
	}
	for _, f := range m.forms.Findings() { // one fault, one name
		if f.Decided || !slices.ContainsFunc(findings, func(g whittle.Finding) bool { return g.Decided && g.Path == f.Path }) {
			findings = append(findings, f)
		}
	}
	orderFindings(findings)
	return findings, bounds
}

// findings lists open and declared differences: decided ones first, then the most frequent.
func (m *match) findings() []whittle.Finding {
	list := make([]whittle.Finding, 0, len(m.marks))
	for i, k := range m.marks {
		if k.Count == 0 || (k.Expect < 0 && !m.isOpen(i) && !m.isUnsure(k)) {
			continue
		}
		list = append(list, m.finding(k))
	}
	orderFindings(list)
	return list[:min(len(list), display.MaxShown)]
}

// Open implements method.
func (m *match) Open() int {
	m.refresh()
	return m.share.Differing
}

// refresh updates the share of responses that differ, since noise learned later explains earlier
// differences. At most as many differ as did when they came, unless their noise is shown to be none, and
// at most as many as all open places count together. So the share is never too small.
func (m *match) refresh() {
	m.tell()
	sum, most := 0, m.opened
	for i, k := range m.marks {
		if m.isOpen(i) {
			sum += k.Count
			if m.noise.Learnt[k.noise()] {
				most = m.n
			}
		}
	}
	m.share.N, m.share.Differing = m.n, min(sum, most)
}

// boundNoise is the name of the bound on what noise excuses.
const boundNoise = "noise"

// noiseBound bounds how much more often than the monolith the candidate changes what was learned as
// noise, at the worst place (noise.Beyond). Without it, one change in one repeat would excuse a
// candidate that is wrong there in any share of responses, until the bets on repeats find it. ok is
// false where nothing was learned.
//
// Both shares have a confidence sequence (eprocess.Share) at alpha/2, so the difference holds at all
// times at once with 1 − alpha. EQUIVALENT is wrong here only if the interval of the place outside its
// margin is wrong, so the places need not split alpha (an intersection–union test, Berger 1982).
func (m *match) noiseBound(alpha float64) (b whittle.Bound, ok bool) {
	list := m.changedByNoise()
	if len(list) == 0 {
		return b, false
	}
	worst := noise.Worst(list, alpha)
	b = worst.AsBound(boundNoise, alphaOf(m.c))
	b.More = worst.Left(alpha)
	return b, true
}

// changedByNoise counts the learned noise that excuses a difference, in the order of first sight.
func (m *match) changedByNoise() []noise.Changed {
	var list []noise.Changed
	for _, k := range m.marks {
		if !m.noise.Learnt[k.noise()] || k.Expect >= 0 || k.decided() || m.forms.Replaces(k.noise()) {
			continue
		}
		c := m.changed(k)
		if c.Path = m.pathWords(k.Path); m.chosen {
			c.Candidate = eprocess.Share{N: m.repeats, Differing: k.Again}
		}
		list = append(list, c)
	}
	return list
}

// unsureBound prevents EQUIVALENT while a mark is unsure (isUnsure).
func (m *match) unsureBound() (b whittle.Bound, ok bool) {
	for _, k := range m.marks {
		if m.isUnsure(k) {
			b = whittle.Bound{ID: "places", What: boundNoise, High: 1, MarginHigh: noise.Slack, More: -1}
			b.Summary = m.pathWords(k.Path) + ": " + m.unsureWords(k)
			return b, true
		}
	}
	return b, false
}

// report gives the findings and bounds so far.
func (h *headers) report(alpha float64) (findings []whittle.Finding, bounds []whittle.Bound) {
	findings, bounds = h.doubts(alpha)
	for i := range findings {
		f := &findings[i]
		if f.Kind == whittle.FoundForm && f.Cause != "" { // only fields of JSON may declare a form
			f.Cause = "if it is each side's own, " + h.settles(f.Path) + "; if not, the candidate's is wrong"
		}
		f.Kind, f.Path = whittle.FoundHeader, header.NameOf(f.Path)
	}
	for i := range bounds {
		b := &bounds[i]
		b.ID, b.What = "header "+cmp.Or(b.ID, b.What), "header "+b.What
	}
	return findings, bounds
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

// unlisted are findings of rechecks at places where the monolith was seen to vary, which no other method
// lists. Noise explains that a place varies, not that the candidate varies where the monolith does not.
// Of the places of one proof it names those with at least half the evidence of the strongest.
func (t *rechecks) unlisted(listed []whittle.Finding, body whittle.FindingKind) (list []whittle.Finding) {
	known := map[string]bool{}
	for i := range listed {
		if listed[i].Decided {
			known[placeOfFinding(&listed[i])] = true
		}
	}
	most := map[*eprocess.Bets]int{}
	for i := range t.Places {
		for order := range 2 {
			for _, s := range t.proofs(&t.Places[i], order) {
				most[s.by] = max(most[s.by], s.count)
			}
		}
	}
	for i := range t.Places {
		p := &t.Places[i]
		for order := range 2 {
			for _, s := range t.proofs(p, order) {
				if !known[p.Place] && s.by.At > 0 && s.count > 0 && 2*s.count >= most[s.by] {
					list = append(list, s.finding(p, order, body))
					break
				}
			}
		}
	}
	return list
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

// coverage is what the verdict stands on; nil where responses are compared by distribution.
func (j *Judge) coverage() *whittle.Coverage {
	if j.mirrored.match == nil {
		return nil
	}
	c := &whittle.Coverage{ByForm: []whittle.FormField{}, NotCompared: []whittle.Uncompared{}}
	j.mirrored.match.cover(c)
	j.mirrored.headers.cover(c)
	j.served.headers.texts.Cover(c)
	if s := j.mirrored; s.Partly > 0 {
		c.Not("what else "+units.Grouped(s.Partly)+" responses say",
			"their status or content type differs as declared: of "+units.Grouped(s.Compared)+" responses nothing else of these is compared")
	}
	for i := range c.ByForm {
		f := &c.ByForm[i]
		f.Path, f.Form = j.show.Text(f.Path), j.show.Text(f.Form)
	}
	for i := range c.NotCompared {
		f := &c.NotCompared[i]
		f.Path, f.Reason = j.show.Text(f.Path), j.show.Text(f.Reason)
	}
	c.Summary = coverageWords(c)
	return c
}

// cover adds which headers are compared by form, and which not at all.
func (h *headers) cover(c *whittle.Coverage) {
	h.forms.Cover(c, h.n)
	h.texts.Cover(c)
	if c.Cookies = len(h.cookies); h.more {
		c.Not(header.SetCookie+" *", fmt.Sprintf("the values of more cookies than the %d that are compared by form", header.Most))
	}
}

// cover adds which places of bodies are compared by value, by form, and not at all.
func (m *match) cover(c *whittle.Coverage) {
	c.ByValue, c.WholeBody = 1, true
	if m.c.Kind == whittle.JSON {
		c.ByValue, c.AtLeast, c.WholeBody = m.forms.ByValue()
		m.forms.Cover(c, m.n)
		for _, path := range m.c.Ignore {
			c.Not(path, "ignored in the config")
		}
		for _, e := range m.c.Expect {
			if e.Kind == whittle.FoundField && e.From == "" && e.To == "" {
				c.Not(cmp.Or(e.Path, "$"), "declared: "+display.Reason(e))
			}
		}
	}
	if c.WholeBody {
		for _, pattern := range m.c.IgnoreText {
			c.Not(pattern, "text that matches is ignored in the config")
		}
	}
}

// coverageWords is a coverage in one sentence.
func coverageWords(c *whittle.Coverage) string {
	most := ""
	if c.AtLeast {
		most = "at least "
	}
	what := most + units.Counted(c.ByValue, "field")
	if c.WholeBody {
		what = "the whole body"
	}
	if c.Cookies > 0 {
		what += " and the attributes of " + units.Counted(c.Cookies, "cookie")
	}
	s := fmt.Sprintf("%s compared by value, %d by form", what, len(c.ByForm))
	if len(c.ByForm) > 1 { // nobody looks at whether they go together
		s += ", each by itself"
	}
	s = fmt.Sprintf("%s, %d not compared", s, len(c.NotCompared))
	if len(c.NotCompared) == 0 {
		return s
	}
	var names []string
	for _, f := range c.NotCompared {
		names = append(names, f.Path)
	}
	return s + " (" + someOf(names) + ")"
}

// someOf names the first of a list, and how many more there are.
func someOf(names []string) string {
	if more := len(names) - display.MaxSamples; more > 0 {
		names = append(names[:display.MaxSamples:display.MaxSamples], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
