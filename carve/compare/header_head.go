package compare

import (
	"cmp"

	"whittle/carve/compare/eprocess"
)

// headerHead is one of the two heads of headers.
type headerHead struct{ head }

// settle takes one exchange's headers to the head; repeated says that the monolith
// was asked twice, bet settles the bet on one difference. open says that one differs
// undeclared, clean that one does which was not seen to vary.
func (t *headerHead) settle(r *headerRound, repeated bool, at headersLevel, bet func(*headPair, float64, int)) (open, clean bool) {
	t.N++
	opens, cleans, on := 0, 0, -1
	for i := range r.candidate {
		p := &r.candidate[i]
		t.tell(p)
		if p.reason == "" {
			opens++
			cleans += int(eprocess.Indicator(!p.noisy))
		}
		if (p.reason == "" || !p.oneWay) && (on < 0 || t.before(p, &r.candidate[on])) {
			on = i
		}
	}
	open, clean = opens > 0, cleans > 0
	t.Count += int(eprocess.Indicator(open))
	if on >= 0 {
		bet(&r.candidate[on], at.alpha, at.n)
	}
	t.Share.See(open, at.limit, at.alpha, at.n)
	if !repeated {
		return open, clean
	}
	own := false
	for i := range r.again {
		if p := &r.again[i]; p.reason == "" {
			own = true
			opens--
			cleans -= int(eprocess.Indicator(!p.noisy))
		}
	}
	t.SelfCount += int(eprocess.Indicator(own))
	more := sign(int32(cleans))
	if more == 0 {
		more = sign(int32(opens))
	}
	t.Self.Bet(float64(more), at.alpha, at.n)
	return open, clean
}

// before orders what to bet on: what is declared in neither direction first, then
// what was not seen to vary, then what leaned to one side the most.
func (t *headerHead) before(a, b *headPair) bool {
	rank := func(p *headPair) int {
		return 2*int(eprocess.Indicator(p.oneWay || p.reason != "")) + int(eprocess.Indicator(p.noisy))
	}
	leant := func(p *headPair) int32 {
		slot, _ := t.slot(p)
		return max(*slot, -*slot)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(leant(b), leant(a))) < 0
}

// tell keeps a change, as one of other values where the header has many.
func (t *headerHead) tell(p *headPair) {
	told, known := 0, false
	for i := range t.Changes {
		c := &t.Changes[i]
		if c.Path == p.path && c.Way == p.way && c.Expected == p.reason && (!p.absent || (c.From == noHeader) == (p.from == noHeader)) {
			told++
			known = known || c.From == p.from && c.To == p.to
		}
	}
	one := *p
	if !known && told >= headerVariants {
		one.from, one.to = other(p.from, p), other(p.to, p)
	}
	t.keep(&one, headerChangesMost, 1, func(c *changeOf) bool { return c.Expected != "" || c.Noisy && !p.noisy })
}

// other is the word for further values; a header that is not there has no other.
func other(word string, p *headPair) string {
	if p.absent && word == noHeader {
		return word
	}
	return otherValues
}

// learned marks the changes that the monolith makes by itself.
func (t *headerHead) learned(name string, way headerHow) {
	for i := range t.Changes {
		if c := &t.Changes[i]; c.Path == name && c.Way == way {
			c.Noisy = true
		}
	}
}
