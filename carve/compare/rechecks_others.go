package compare

import (
	"slices"

	"whittle"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/owner"
)

// recheckKind is what a recheck has come to at one place.
type recheckKind uint8

const (
	cameNoise recheckKind = iota
	cameReproducible
	cameIntermittent
	cameStale
)

// came says what so many rounds have shown.
func (o *recheckOutcome) came(rounds int) recheckKind {
	switch {
	case o.monolith:
		return cameNoise
	case !o.candidate:
		return cameReproducible
	case rounds > 2: // it stayed what it was at first
		return cameStale
	}
	return cameIntermittent
}

// count is where a kind is counted.
func (k recheckKind) count(a *whittle.Asked) *int {
	return [...]*int{&a.Noise, &a.Reproducible, &a.Intermittent, &a.Stale}[k]
}

// oddAlone counts in how many the candidate said something else than before, and the
// monolith did not.
func oddAlone(a *whittle.Asked) int {
	return a.Intermittent + a.Stale + a.AnotherRequest - a.AnotherKept
}

// recheckWaiting bounds the differences whose owner may still turn up.
const recheckWaiting = 64

// recheckWish is a settled difference of which it is not known whose value it is: the
// request that it belongs to may be under way.
type recheckWish struct {
	place string
	order int // 1 being that of users
	kind  recheckKind
	wish  *owner.Wish
}

// claim finds out whether the candidate's value at a place, or its whole body, is one
// that the monolith returned only to another request or user. If nobody has got it
// yet, claim waits. It decides nothing: the bet is on which side was odd.
func (t *rechecks) claim(s *series, o *owner.Memory, x *whittle.Exchange, w recheckWish) {
	m := s.match
	if m == nil {
		return // random responses belong to nobody
	}
	is, later := o.Whose(x, m.valueAt(x, w.place), m.kind == whittle.FoundField)
	switch {
	case is != owner.Nobody:
		t.belongs(w, is)
	case later != nil:
		if w.wish = later; len(t.waiting) == recheckWaiting {
			t.waiting = append(t.waiting[:0], t.waiting[1:]...)
		}
		t.waiting = append(t.waiting, w)
	}
}

// valueAt is what the candidate says at a place; nil: nothing that could be somebody's.
func (m *match) valueAt(x *whittle.Exchange, place string) []byte {
	for _, d := range m.diff(x.Monolith.Body, x.Candidate.Body) {
		if d.Path == place && d.Expect < 0 {
			_, to := m.differ.Values(&d, x.Monolith.Body, x.Candidate.Body)
			return to
		}
	}
	return nil
}

// belongs counts a difference as another request's instead of by its kind. The same
// request's own value of another time shows in the rounds.
func (t *rechecks) belongs(w recheckWish, is owner.Owner) {
	if is != owner.AnotherRequest && is != owner.AnotherCaller {
		return
	}
	p := t.find(w.place)
	if p == nil || *w.kind.count(p.in(w.order)) == 0 {
		return
	}
	a := p.in(w.order)
	*w.kind.count(a)--
	a.AnotherRequest++
	a.AnotherKept += int(eprocess.Indicator(w.kind == cameReproducible))
}

// claimLate takes what has turned out since to be another request's.
func (t *rechecks) claimLate() {
	t.waiting = slices.DeleteFunc(t.waiting, func(w recheckWish) bool {
		if w.wish.Is == owner.Nobody {
			return false
		}
		t.belongs(w, w.wish.Is)
		return true
	})
}

// validAsked reports whether restored counts are possible ones.
func validAsked(a *whittle.Asked) bool {
	sum := 0
	for _, n := range []int{a.Reproducible, a.Intermittent, a.Stale, a.Noise, a.AnotherRequest} {
		if n < 0 {
			return false
		}
		sum += n
	}
	return sum == a.Times && eprocess.UpTo(a.AnotherKept, a.AnotherRequest)
}
