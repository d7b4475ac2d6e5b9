package header

import (
	"cmp"

	"whittle/carve/compare/eprocess"
)

// headerHead is one of the two heads of headers.
type headerHead struct{ Head }

// settle gives one exchange's headers to the head. repeated: the monolith was asked
// twice; bet settles the bet on one difference. open: a header differs that is not
// declared; clean: one of these was never seen to vary.
func (t *headerHead) settle(r *headerRound, repeated bool, at Level, bet func(*Pair, float64, int)) (open, clean bool) {
	t.N++
	opens, cleans, on := 0, 0, -1
	for i := range r.candidate {
		p := &r.candidate[i]
		t.record(p)
		if p.Reason == "" {
			opens++
			cleans += int(eprocess.Indicator(!p.noisy))
		}
		if (p.Reason == "" || !p.OneWay) && (on < 0 || t.before(p, &r.candidate[on])) {
			on = i
		}
	}
	open, clean = opens > 0, cleans > 0
	t.Count += int(eprocess.Indicator(open))
	if on >= 0 {
		bet(&r.candidate[on], at.Alpha, at.N)
	}
	t.Share.See(open, at.Limit, at.Alpha, at.N)
	if !repeated {
		return open, clean
	}
	own := false
	for i := range r.again {
		if p := &r.again[i]; p.Reason == "" {
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
	t.Self.Bet(float64(more), at.Alpha, at.N)
	return open, clean
}

// before orders the candidates for a bet: first headers that are declared in neither
// direction, then those never seen to vary, then those that leaned to one side most.
func (t *headerHead) before(a, b *Pair) bool {
	rank := func(p *Pair) int {
		return 2*int(eprocess.Indicator(p.OneWay || p.Reason != "")) + int(eprocess.Indicator(p.noisy))
	}
	leant := func(p *Pair) int32 {
		slot, _ := t.slot(p)
		return max(*slot, -*slot)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(leant(b), leant(a))) < 0
}

// record keeps a change; where the header has many, as one of other values.
func (t *headerHead) record(p *Pair) {
	variants, known := 0, false
	for i := range t.Changes {
		c := &t.Changes[i]
		if c.Path == p.Path && c.Way == p.way && c.Expected == p.Reason && (!p.absent || (c.From == Missing) == (p.From == Missing)) {
			variants++
			known = known || c.From == p.From && c.To == p.To
		}
	}
	one := *p
	if !known && variants >= headerVariants {
		one.From, one.To = other(p.From, p), other(p.To, p)
	}
	t.keep(&one, HeaderChangesMost, 1, func(c *Change) bool { return c.Expected != "" || c.Noisy && !p.noisy })
}

// other is the word for further values; a header that is not there has no other.
func other(word string, p *Pair) string {
	if p.absent && word == Missing {
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
