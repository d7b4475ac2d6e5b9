package header

import (
	"fmt"
	"math"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/noise"
	"whittle/carve/compare/twosample"
	"whittle/internal/units"
)

// headerNoise is what the monolith was seen to vary in by itself. The evidence of
// both orders of asking shares one, since it is about the monolith alone.
type headerNoise struct {
	ways map[string][headerHows]bool
	// version changes whenever something is learned.
	version int
}

func newHeaderNoise() *headerNoise { return &headerNoise{ways: map[string][headerHows]bool{}} }

// headerNoiseMost bounds the names of which noise is shared.
const headerNoiseMost = 2 * (HeaderNames + 1)

func (n *headerNoise) learn(name string, way headerHow) {
	ways, known := n.ways[name]
	if ways[way] || !known && len(n.ways) >= headerNoiseMost {
		return
	}
	ways[way] = true
	n.ways[name] = ways
	n.version++
}

// ShareNoise lets two orders of asking learn of one monolith.
func (h *Headers) ShareNoise(other *Headers) {
	for _, o := range []*Headers{h, other} {
		for i := range o.Names {
			for way := range o.Names[i].Ways {
				if o.Names[i].Ways[way].Noisy {
					h.noise.learn(o.Names[i].Name, headerHow(way))
				}
			}
		}
	}
	other.noise, other.adopted = h.noise, 0
	h.adopt()
	other.adopt()
}

// adopt takes over what was learned since.
func (h *Headers) adopt() {
	if h.adopted == h.noise.version {
		return
	}
	h.adopted = h.noise.version
	for i := range h.Names {
		n := &h.Names[i]
		for way, noisy := range h.noise.ways[n.Name] {
			if noisy && !n.Ways[way].Noisy {
				h.mark(n, headerHow(way))
			}
		}
	}
	h.excuse()
}

func (n *headerName) adopt(from *headerNoise) {
	for way, noisy := range from.ways[n.Name] {
		n.Ways[way].Noisy = noisy
	}
}

// mark takes one way of a header for noise.
func (h *Headers) mark(n *headerName, way headerHow) {
	n.Ways[way].Noisy = true
	h.Presence.learned(n.Name, way)
	h.Text.learned(n.Name, way)
}

// Varies takes note that the monolith gave two different responses to a request.
func (h *Headers) Varies(x *whittle.Exchange, a, b *whittle.Response) {
	if a.Status != b.Status {
		return
	}
	one, pairs := h.pairsOf(x, a, b)
	if one == nil {
		return
	}
	for i := range pairs {
		h.learn(&pairs[i])
	}
	h.learnPieces(one, b)
	h.excuse()
}

// learn marks a way as one in which the monolith varies by itself, and reports
// whether that is new. What varies in form varies in value.
func (h *Headers) learn(p *Pair) (learned bool) {
	n := h.name(p.Path)
	if n == nil {
		return false
	}
	ways := []headerHow{p.way}
	if p.way == headerForm {
		ways = append(ways, headerValue)
	}
	for _, way := range ways {
		if !n.Ways[way].Noisy {
			learned = true
			h.mark(n, way)
			h.noise.learn(p.Path, way)
		}
	}
	return learned
}

// NoiseBound bounds by how much more often than the monolith itself the candidate
// differs in what was learned as noise, as match.noiseBound does for fields. ok is
// false where nothing was learned; more is how many exchanges it still takes, -1
// where it cannot be said.
func (h *Headers) NoiseBound(alpha float64) (b whittle.Bound, more int, ok bool) {
	var list []noise.Changed
	for i := range h.Names {
		if w := &h.Names[i].Ways[headerThere]; w.Noisy && w.oneSided() {
			return oneSidedBound(h.Names[i].Name, w.Leant), -1, true
		}
		if b, suspected := h.seldomBound(i); suspected {
			return b, -1, true
		}
		for way := range h.Names[i].Ways {
			if h.Names[i].Ways[way].Noisy {
				list = append(list, h.changed(i, headerHow(way)))
			}
		}
	}
	if len(list) == 0 {
		return b, 0, false
	}
	worst := noise.Worst(list, alpha)
	b, more = worst.AsBound(BoundHeaderNoise, alpha), worst.Left(alpha)
	for i := range h.Names {
		if p := h.alone(i); p != nil && more >= 0 {
			if n := p.Missing(aloneAlpha, twosample.KindMargin); n < 0 || n > more {
				b, more = aloneBound(h.Names[i].Name, p), n
			}
		}
	}
	return b, more, true
}

// aloneAlpha is the chance that an interval of which side has a header more often is wrong on
// one side.
const aloneAlpha = 0.005

// alone are the payoffs of who alone has a header that is there now and then: of two sides that
// have it as often, each by itself, a fair coin. nil: the header is always there, is each
// server's own, or the monolith's own second response has it as much more often.
func (h *Headers) alone(name int) *eprocess.Payoffs {
	n := &h.Names[name]
	w := &n.Ways[headerThere]
	if !w.Noisy || n.held.own {
		return nil
	}
	p := &eprocess.Payoffs{N: h.N, Sum: float64(w.Net), Squares: float64(w.Candidate)}
	self := &eprocess.Payoffs{N: h.Repeats, Sum: float64(w.SelfNet), Squares: float64(w.Self)}
	if p.Mean()*self.Mean() > 0 && 2*math.Abs(self.Mean()) >= math.Abs(p.Mean()) && self.LogEValue(0) >= math.Log(aloneSecond) {
		return nil
	}
	return p
}

// Evidence that the monolith's own second response deviates, and by which share of responses
// one side may have a header more often.
const (
	aloneSecond = 100
	aloneSlack  = 0.02
)

// seldomBound keeps EQUIVALENT from being said where one side is suspected to have a header more
// often.
//
// Hypothesis: given the past, the two sides have it as often, to within aloneSlack. Error rate: 1
// in twosample.Suspect, however often one looks. Source: Payoffs of eprocess.
func (h *Headers) seldomBound(name int) (b whittle.Bound, suspected bool) {
	p := h.alone(name)
	if p == nil || p.LogEValue(aloneSlack) < math.Log(twosample.Suspect) {
		return b, false
	}
	b = aloneBound(h.Names[name].Name, p)
	b.High = 1
	b.Summary += ": suspected, not shown"
	return b, true
}

func aloneBound(name string, p *eprocess.Payoffs) whittle.Bound {
	low, high := p.Interval(aloneAlpha)
	return whittle.Bound{
		ID: BoundHeaderNoise, What: BoundHeaderNoise, Estimate: math.Abs(p.Mean()), High: max(high, -low), MarginHigh: twosample.KindMargin,
		Summary: fmt.Sprintf("header %s is there in %s of the monolith's responses more than of the candidate's, of %s; %s either way counts as none",
			name, display.PercentRange(low, high), units.Grouped(p.N), display.InPercent(twosample.KindMargin)),
	}
}

// oneSidedLeast is in how many exchanges one side alone must have had a header, and never
// the other alone: two services that are the same come there with a chance of 2^-19.
const oneSidedLeast = 20

// oneSided reports whether of two sides it is always the same one that lacks a header. That
// the monolith has it now and then excuses how often they differ, not this. It is no proof,
// for whoever is asked second may be another matter.
func (w *headerWay) oneSided() bool {
	return !w.Broken && max(w.Leant, -w.Leant) >= oneSidedLeast
}

func oneSidedBound(name string, leant int32) whittle.Bound {
	who, times := "candidate", leant
	if leant < 0 {
		who, times = "monolith", -leant
	}
	return whittle.Bound{
		ID: BoundHeaderNoise, What: BoundHeaderNoise, High: 1, MarginHigh: noise.Slack,
		Summary: fmt.Sprintf("header %s is there now and then, and where one side alone has it, it is the %s that lacks it each time, %s times so far", name, who, units.Grouped(int(times))),
	}
}

// BoundHeaderNoise is the name of that bound.
const BoundHeaderNoise = "header noise"

// changed counts how often a header differed in one way.
func (h *Headers) changed(name int, way headerHow) noise.Changed {
	w := &h.Names[name].Ways[way]
	c := noise.Changed{Path: "header " + h.Names[name].Name, Candidate: w.Candidate, N: h.N, Monolith: w.Self, Repeats: h.Repeats}
	if h.chosen {
		c.Candidate, c.N = w.Again, h.Repeats
	}
	return c
}
