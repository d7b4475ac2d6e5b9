package compare

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"whittle"
	"whittle/carve/compare/cause"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/form"
	"whittle/carve/compare/header"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/noise"
	"whittle/carve/compare/own"
)

// The bounds of what a match keeps.
const (
	maxMarks  = 160 // different differences
	maxExpect = 32  // declared differences
)

// match judges responses that should be the same: exact and json.
//
// Without learned noise it tests that a difference at one path comes in at most MaxDiffer of the
// responses, given the past (eprocess.Bets.SeeShare).
//
// With learned noise it tests that, for each request, the candidate's response and the monolith's
// second one are exchangeable given the monolith's first. On each repeated request the payoff
// 1[candidate deviates] − 1[monolith deviates from itself] then has expectation 0, whatever the noise
// is and however requests depend on each other. Other requests are no evidence, for nobody knows what
// the monolith would have done; they count in the bound that EQUIVALENT needs.
//
// Error rate: alpha in all. The j-th path that shows a difference gets 1/(j(j+1)) of the part places.
// Its test begins with the exchange after the one that named it, so choosing paths costs nothing.
// Source: Ville's inequality; Shekhar & Ramdas 2023, arXiv 2112.09162.
type match struct {
	c      whittle.Comparison
	kind   whittle.FindingKind
	differ *jsondiff.Differ
	show   *display.View
	learn  bool
	direct bool // bets on the direction of differences too
	alpha  float64
	places float64     // the part of alpha for differences at single places; forms have the rest
	forms  *form.Forms // nil for exact
	others *cause.Owners
	evidence

	// learnAfter repeats must come before any exchange is called different.
	learnAfter int
	// chosen says that the repeated requests were not drawn by chance.
	chosen bool
	// log says that the exchanges are those of a log.
	log bool

	cand, self []int // scratch: the marks of the present exchange
}

// evidence is what the exchanges have come to.
type evidence struct {
	n, repeats int
	marks      []*mark
	index      map[markKey]int
	noise      *noise.Learned
	told       int // the noise's version that the marks know of
	share      eprocess.Share
	samples    int     // in all marks
	opened     int     // exchanges that differed beyond the noise known then
	earlier    earlier // learned anew in each process
}

func newEvidence() evidence {
	return evidence{index: map[markKey]int{}, noise: noise.New()}
}

func bodyKind(c whittle.Comparison) whittle.FindingKind {
	if c.Kind == whittle.JSON {
		return whittle.FoundField
	}
	return whittle.FoundBody
}

// newMatch makes a match with findings of one kind. Declarations of that kind and of others count. A
// wrong path is a *whittle.Error with Field relative to the route.
func newMatch(c whittle.Comparison, show *display.View, kind whittle.FindingKind, others ...whittle.FindingKind) (*match, error) {
	m := &match{
		c: c, kind: kind, show: show, alpha: methodAlpha(c), places: eprocess.OfMain,
		learn: c.LearnNoise, learnAfter: own.Enough, evidence: newEvidence(),
	}
	var err error
	if m.differ, err = jsondiff.NewDiffer(c, append(others, kind)...); err != nil {
		return nil, err
	}
	if n := m.differ.Declared(); n > maxExpect && kind != whittle.FoundHeader {
		return nil, whittle.Errorf(whittle.Invalid, "%d declared differences of kind %s are more than %d", n, m.kind, maxExpect).
			WithField("compare.expect").WithHint("declare one difference for a whole path, or ignore the path")
	}
	m.differ.Quiet, m.differ.Show = true, show
	if m.forms, err = form.New(c); err != nil {
		return nil, err
	}
	m.forms.Show = show
	return m, nil
}

// ShowAgain implements method.
func (m *match) ShowAgain() {
	for _, k := range m.marks {
		at := form.TrailOf(k.Path)
		m.show.Again(k.Samples, at)
		for i := range k.Changes {
			c := &k.Changes[i]
			c.From, c.To = m.show.Kept(at, c.From), m.show.Kept(at, c.To)
		}
	}
	m.forms.ShowAgain()
}

// Observe compares one exchange.
func (m *match) Observe(x *whittle.Exchange) Observation {
	m.tell()
	m.n++
	m.noise.N++
	repeated := x.Repeat != nil && header.Usable(x.Repeat, &x.Monolith)
	m.readBy(&x.Monolith)
	m.cand = m.note(m.cand[:0], m.diffShown(x.Monolith.Body, x.Candidate.Body), x, repeated)
	m.self = m.self[:0]
	if repeated {
		m.repeats++
		m.noise.Repeats++
		m.self = m.note(m.self, m.diff(x.Monolith.Body, x.Repeat.Body), nil, true)
	}
	selfAny := m.anyOpen(m.self)
	m.test(repeated)
	if m.learn && repeated {
		m.learnFrom(m.self)
	}
	if m.watching() {
		m.recall(x)
	}
	open, early := m.anyOpen(m.cand), m.learning() // with what was just learned
	m.opened += int(eprocess.Indicator(open))
	o := Observation{
		Differs: open && !early, Early: open && early, Ask: slices.ContainsFunc(m.cand, m.worthAsking),
		Repeated: repeated, SelfDiffers: selfAny, SelfSeldom: slices.ContainsFunc(m.self, m.worthAsking),
	}
	if !early && slices.ContainsFunc(m.cand, m.isSeldom) {
		for i := range m.marks {
			o.Seldom += int(eprocess.Indicator(m.isSeldom(i)))
		}
	}
	m.seeForms(x, repeated)
	return o
}

// learnCompared is after how many exchanges the candidate is called different despite too few repeats.
const learnCompared = 500 // exchanges

// learning reports whether too few requests were repeated to tell noise from difference.
func (m *match) learning() bool {
	return m.learn && m.noise.Repeats < m.learnAfter && m.noise.N < learnCompared
}

// watching reports whether both sides' responses are to be compared with earlier ones.
func (m *match) watching() bool {
	return (m.learn || m.kind == whittle.FoundHeader) && slices.ContainsFunc(m.marks, m.watches)
}

// diff lists how two bodies differ; equal bytes never do. The list is valid until the next comparison.
func (m *match) diff(a, b []byte) []jsondiff.Difference {
	if bytes.Equal(a, b) {
		return nil
	}
	list := m.differ.Diff(a, b)
	if m.direct {
		list = m.directWays(list, a, b)
	}
	return list
}

// diffShown is diff with words for what differs.
func (m *match) diffShown(monolith, candidate []byte) []jsondiff.Difference {
	m.differ.Quiet = false
	defer func() { m.differ.Quiet = true }()
	return m.diff(monolith, candidate)
}

// seeForms has the forms of varying values compared in the present exchange.
func (m *match) seeForms(x *whittle.Exchange, repeated bool) {
	if m.kind == whittle.FoundBody {
		return
	}
	m.forms.Timeless = m.chosen
	var again []byte
	if repeated {
		again = x.Repeat.Body
	}
	m.tell()
	m.forms.See(x, again, m.alpha*(1-m.places), m.n)
}

// readBy has bodies read as their content type says.
func (m *match) readBy(a *whittle.Response) {
	sent := a.Header.Get("Content-Type")
	m.differ.AsText = sent != "" && !strings.Contains(strings.ToLower(sent), "json")
}

// worthAsking reports whether both sides are to be asked again about a difference: nobody declared it,
// the monolith does not vary there as a rule, and no server holds a state of its own there, which would
// just be repeated.
func (m *match) worthAsking(i int) bool {
	mk := m.marks[i]
	return mk.Expect < 0 && !m.noise.Own[mk.noise()] && (!m.noise.Learnt[mk.noise()] || m.rare(mk.noise()))
}

// isSeldom reports whether the monolith was seen to vary at a mark, and seldom.
func (m *match) isSeldom(i int) bool {
	k := m.marks[i].noise()
	return m.worthAsking(i) && m.noise.Learnt[k] && !m.forms.Replaces(k)
}

// note turns differences into indices of marks, each once. With x they are the candidate's, and the
// marks keep what they saw.
func (m *match) note(list []int, ds []jsondiff.Difference, x *whittle.Exchange, repeated bool) []int {
	for i := range ds {
		j := m.mark(&ds[i])
		now := &m.marks[j].now[int(eprocess.Indicator(x == nil))]
		if slices.Contains(list, j) {
			*now += ds[i].Times
			continue
		}
		list, *now = append(list, j), ds[i].Times
		if x != nil {
			m.saw(m.marks[j], &ds[i], x)
			if direct := m.marks[j].Direct; direct != nil {
				direct.declared = m.isDeclaredAt(m.marks[j].Path, ds)
			}
			m.marks[j].Again += int(eprocess.Indicator(repeated))
		} else {
			m.marks[j].Self++
			m.noise.Self[m.marks[j].noise()]++
		}
	}
	slices.Sort(list)
	return list
}

// saw has a mark keep what the candidate did, with a sample while there is room.
func (m *match) saw(k *mark, d *jsondiff.Difference, x *whittle.Exchange) {
	if k.saw(d, m.n); d.At != "" {
		k.At = fmt.Sprintf("%s, %d against %d bytes", d.At, len(x.Monolith.Body), len(x.Candidate.Body))
	}
	if k.Direct != nil {
		from, to := m.differ.Values(d, x.Monolith.Body, x.Candidate.Body)
		k.Direct.now = directOf(d, from, to)
	}
	m.seeCauses(k, d, x)
	if m.samples < display.MaxShown*display.MaxSamples && len(k.Samples) < display.MaxSamples && !m.show.Has(k.Samples, x) {
		spot := m.differ.Spot(d)
		if m.kind == whittle.FoundHeader {
			spot.Where = headerWords(k.Path)
		}
		k.Samples = append(k.Samples, m.show.SampleAt(x, spot))
		m.samples++
	}
}

// mark finds or makes the entry of a difference. When the table is full, new ones share one entry, and
// one for each declaration.
func (m *match) mark(d *jsondiff.Difference) int {
	key := markKey{Path: d.Path, How: d.How, Expect: d.Expect}
	if i, ok := m.index[key]; ok {
		return i
	}
	if len(m.marks) >= maxMarks-maxExpect-1 {
		if key.Path, key.How = jsondiff.ManyPaths, jsondiff.HowMore; d.Expect >= 0 {
			key.How = jsondiff.HowExpected
		}
		if i, ok := m.index[key]; ok {
			return i
		}
	}
	mk := newMark(key, m.n)
	if m.direct {
		mk.Direct = &direction{Lean: header.NewLean(), Noisy: m.noise.Learnt[key.noise()], Any: m.kind != whittle.FoundHeader}
	}
	m.marks = append(m.marks, &mk)
	m.index[key] = len(m.marks) - 1
	if m.forms.Excuses(key.noise()) {
		m.noise.Learn(key.noise())
	}
	m.markOwn()
	return len(m.marks) - 1
}

// isOpen reports whether a mark counts as a difference: undeclared, and not the monolith's noise, unless
// the candidate was shown to do it more often.
func (m *match) isOpen(i int) bool {
	mk := m.marks[i]
	return mk.Expect < 0 && (mk.decided() || !m.noise.Learnt[mk.noise()])
}

func (m *match) anyOpen(list []int) bool {
	return slices.ContainsFunc(list, m.isOpen)
}

// test settles the present exchange in every test it concerns.
func (m *match) test(repeated bool) {
	if !m.learn || m.direct {
		for _, i := range m.cand {
			if mk := m.marks[i]; mk.Expect < 0 && mk.Born < m.n {
				mk.event(m.c.MaxDiffer, m.markAlpha(i), m.n)
				if m.direct {
					mk.Direct.bet(mk.How, m.markAlpha(i)*directPart, m.n)
				}
			}
		}
	}
	if !repeated || !m.learn && !m.direct {
		return
	}
	for _, k := range m.marks {
		if k.learnable() && k.State.Repeated(m.repeats, k.Self) {
			k.Pair.Void()
		}
	}
	for _, i := range m.cand {
		mk := m.marks[i]
		switch {
		case mk.Own || mk.Expect >= 0 || mk.Born >= m.n || m.forms.Replaces(mk.noise()):
		case !slices.Contains(m.self, i):
			m.bet(i, 1)
		case mk.State.Often():
			m.bet(i, eprocess.Sign(float64(mk.now[0]-mk.now[1])))
		}
	}
	for _, i := range m.self {
		if mk := m.marks[i]; !mk.Own && mk.Born < m.n && !slices.Contains(m.cand, i) {
			m.bet(i, -1)
		}
	}
}

// Places implements method.
func (m *match) Places(a, b *whittle.Response) (list, rare []string) {
	m.tell()
	m.readBy(a)
	for _, d := range m.diff(a.Body, b.Body) {
		if d.Expect >= 0 || slices.Contains(list, d.Path) {
			continue
		}
		switch k := (noise.Key{Path: d.Path, Way: jsondiff.Way(d.How)}); {
		case m.noise.Own[k]:
		case !m.noise.Learnt[k]:
			list = append(list, d.Path)
		case m.rare(k) && !slices.Contains(rare, d.Path):
			rare = append(rare, d.Path)
		}
	}
	return list, rare
}

// tell tells the marks what was learned of noise since.
func (m *match) tell() {
	if m.told != m.noise.Version {
		m.told = m.noise.Version
		m.markOwn()
		m.forms.Learn(m.noise, m.n)
	}
}
