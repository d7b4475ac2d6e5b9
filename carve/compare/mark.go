package compare

import (
	"slices"

	"whittle"
	"whittle/carve/compare/cause"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/form"
	"whittle/carve/compare/header"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/jsondoc"
	"whittle/carve/compare/noise"
	"whittle/carve/compare/own"
)

// markKey names one difference: where, how, and by which declaration.
type markKey struct {
	Path   string `json:"p,omitempty"`
	How    string `json:"h,omitempty"`
	Expect int    `json:"x"`
}

func (k markKey) noise() noise.Key { return noise.Key{Path: k.Path, Way: jsondiff.Way(k.How)} }

// learnable reports whether what the monolith changes by itself there can be told from what it does not.
// One name for many places says nothing of each, and a body compared as a whole is the whole response.
func (k markKey) learnable() bool {
	switch k.How {
	case jsondiff.HowLimit, jsondiff.HowBytes, jsondiff.HowSyntax:
		return false
	}
	return k.Path != jsondiff.ManyPaths
}

// change is a monolith's value and the candidate's instead.
type change struct {
	From  string `json:"f"`
	To    string `json:"t"`
	Count int    `json:"n"`
}

// mark is what is known of one difference.
type mark struct {
	markKey
	// Born is the exchange that first showed it; its tests begin after it.
	Born int `json:"born"`
	// The candidate showed it in Count exchanges, Again of them repeated, and the monolith in Self repeats.
	Count int `json:"n"`
	Again int `json:"again,omitempty"`
	Self  int `json:"self,omitempty"`
	// Pair bets on repeated requests, Rate on all. Settled is the last exchange that Rate has counted.
	Pair eprocess.Bets `json:"pair"`
	// State says what may move there, and Own that each server holds a state of its own.
	State own.State `json:"state"`
	Own   bool      `json:"own,omitempty"`
	// Direct bets on which side says what, for a header's difference.
	Direct  *direction       `json:"direct,omitempty"`
	Rate    eprocess.Bets    `json:"rate"`
	Settled int              `json:"settled"`
	At      string           `json:"first,omitempty"`
	Changes []change         `json:"changes,omitempty"`
	Samples []whittle.Sample `json:"samples,omitempty"`
	// holds says whether what differs is the same for all requests, until exchange last.
	holds own.Holding
	last  int
	// now is at how many places the present exchange shows it: on the candidate's side, and on that of
	// the monolith's second response.
	now [2]int
	// why counts the causes that fit.
	why cause.Tally
}

func newMark(key markKey, born int) mark {
	return mark{markKey: key, Born: born, Settled: born, Pair: eprocess.NewBets(), Rate: eprocess.NewBets()}
}

// event tells the rate's test that exchange n shows the difference and those since the last event do not.
func (k *mark) event(limit, alpha float64, n int) {
	k.Rate.Allow(1, n-k.Settled-1)
	k.Rate.SeeShare(true, limit, alpha, n)
	k.Settled = n
}

func (k *mark) decided() bool { return k.decidedAt() > 0 }

// decidedAt is the exchange at which the evidence passed its level, 0 before. Of a body only one of the two
// is bet on: Pair where noise is learned, Rate elsewhere.
func (k *mark) decidedAt() int {
	switch {
	case k.Direct != nil:
		return k.directedAt()
	case k.Own || k.isExplained():
		return k.Rate.At
	}
	return max(k.Rate.At, k.Pair.At)
}

// eValue is the highest evidence so far.
func (k *mark) eValue(learn bool) float64 {
	if learn {
		return k.Pair.EValue()
	}
	return k.Rate.EValue()
}

// saw keeps what the candidate did, and counts the first few of its changes.
func (k *mark) saw(d *jsondiff.Difference, n int) {
	k.Count++
	if k.last > 0 {
		k.holds.SeeSame(0, n-k.last-1) // it did not differ in between
	}
	k.holds.See(d.Hash())
	k.last = n
	i := slices.IndexFunc(k.Changes, func(c change) bool { return c.From == d.From && c.To == d.To })
	if i < 0 && len(k.Changes) < display.MaxSamples {
		i, k.Changes = len(k.Changes), append(k.Changes, change{From: d.From, To: d.To})
	}
	if i >= 0 {
		k.Changes[i].Count++
	}
}

// top is the most frequent of the counted changes; zero where there is none.
func (k *mark) top() change {
	var best change
	for _, c := range k.Changes {
		if c.Count > best.Count {
			best = c
		}
	}
	return best
}

// directPart is the part that bets on direction have of what bets on repeats have.
const directPart = 5. / 6

// markAlpha is the error rate of bets on repeats at the mark at index i. With those on direction, the
// sum is alpha*places.
func (m *match) markAlpha(i int) float64 {
	if m.direct {
		return eprocess.OfNth(m.alpha*m.places/(1+directPart), i+1)
	}
	return eprocess.OfNth(m.alpha*m.places, i+1)
}

// bet settles a repeated exchange by which response is further from the first: the candidate's, where g is
// 1, or the monolith's second one. Given the first they are exchangeable, but not where each server holds a
// state of its own that moves in small steps: two responses of one server are nearer to each other then. So
// where the monolith often varies nothing is decided, only EQUIVALENT prevented (isFurther).
func (m *match) bet(i int, g float64) {
	mk, alpha := m.marks[i], m.markAlpha(i)
	if mk.State.Often() {
		alpha = 0
	}
	mk.Pair.Bet(g, alpha, m.n)
}

// isFurther reports whether the candidate seems to differ more often or at more places than the monolith
// from itself, at a place where the monolith often varies.
func (k *mark) isFurther() bool {
	return k.State.Often() && k.Pair.Now >= eprocess.Suspected && !k.decided()
}

// direction is the evidence on which side says what. It speaks only where one side never has the value,
// or where the same two values come again and again and never change places. Counters, random values of
// any distribution, and moving states of each server's own do neither. It shows no noise of the
// monolith's either. Forms may take turns.
type direction struct {
	header.Lean
	// Pair is what the two sides said first, whichever said which, and Side which did. Broken says that
	// they said something else since, or changed places; Noisy that the monolith does.
	Pair   uint64 `json:"pair,omitempty"`
	Side   int    `json:"side,omitempty"`
	Broken bool   `json:"broken,omitempty"`
	// Any says that values that differ each time are bet on too, as in words around a random number.
	Any   bool `json:"any,omitempty"`
	Noisy bool `json:"noisy,omitempty"`

	now      header.Opposed
	declared bool // now, so that not all directions are seen
}

// directOf is what two sides say at a difference.
func directOf(d *jsondiff.Difference, from, to []byte) header.Opposed {
	switch {
	case from == nil:
		return header.Opposed{Pair: 1, Side: -1}
	case to == nil:
		return header.Opposed{Pair: 1, Side: 1}
	case d.How == howForm:
		return header.OpposedOf(shapeOf(from), shapeOf(to))
	case d.How == jsondiff.HowLength:
		return header.OpposedOf(d.From, d.To)
	}
	if _, ok := jsondiff.TypesOf(d.How); ok {
		a, _ := jsondoc.KindOf(from)
		b, _ := jsondoc.KindOf(to)
		return header.OpposedOf(jsondoc.KindNames[a], jsondoc.KindNames[b])
	}
	return header.OpposedOf(string(from), string(to))
}

// isDeclaredAt reports whether a declaration covers one of an exchange's differences at a place, as it
// is or with the two sides swapped.
func (m *match) isDeclaredAt(path string, ds []jsondiff.Difference) bool {
	return m.differ.Declared() > 0 && (path == jsondiff.ManyPaths || slices.ContainsFunc(ds, func(d jsondiff.Difference) bool {
		return d.Path == path && (d.Expect >= 0 || d.Reversed)
	}))
}

// bet settles a difference of the candidate's.
func (d *direction) bet(how string, alpha float64, n int) {
	if d.declared {
		return
	}
	switch {
	case d.Any:
		d.now.Pair = 1
	case d.Pair == 0:
		d.Pair, d.Side = d.now.Pair, d.now.Side
	case d.Pair != d.now.Pair || d.Side != d.now.Side:
		d.Broken = true
	}
	if !d.Broken || how == howForm {
		d.Bet(d.now, 0, alpha, n)
	}
}

// directedAt is the exchange at which a header's difference was shown, by direction or by repeats, to
// come more often than the config allows; 0: not.
func (k *mark) directedAt() int {
	if k.Rate.At == 0 || k.Own || k.isExplained() {
		return 0
	}
	at, fast := k.Pair.At, k.Direct.Bets.At
	if d := k.Direct; fast > 0 && !d.Noisy && (!d.Any || k.Self == 0) && (!d.Broken || k.How == howForm) && (at == 0 || fast < at) {
		at = fast
	}
	if at == 0 {
		return 0
	}
	return max(at, k.Rate.At)
}

// howForm is another form of a header's value: more differs than services make for each response.
const howForm = "form"

func shapeOf(quoted []byte) string {
	text, _ := jsondoc.Unquote(nil, quoted)
	return form.Shape(string(text))
}

// directWays replaces the ways to differ by those that stay when the two sides swap: present or not,
// another form, another value.
func (m *match) directWays(list []jsondiff.Difference, a, b []byte) []jsondiff.Difference {
	for i := range list {
		switch d := &list[i]; d.How {
		case jsondiff.HowMissing, jsondiff.HowExtra:
			d.How = jsondiff.WayPresence
		case jsondiff.HowValue:
			if from, to := m.differ.Values(d, a, b); shapeOf(from) != shapeOf(to) {
				d.How = howForm
			}
		}
	}
	return list
}
