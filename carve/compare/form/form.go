// Package form compares by form the values that the monolith changes by itself: ids,
// times, counters. Their format, length, age and order are features that a faithful
// candidate shares, and each is tested by betting.
package form

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/display"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/jsondoc"
	"whittle/carve/compare/noise"
	"whittle/carve/compare/twosample"
	"whittle/internal/jsonpath"
)

// Bounds of what is compared by form.
const (
	formPaths   = 64 // places
	formEntries = 12 // categories of one feature distinguished
	formWarm    = 4  // values of the monolith before a feature is bet on
	formSamples = 2  // of one place
	// formSuspect is the evidence from which a feature counts as suspected.
	formSuspect = 20
)

// Forms compares by form what the monolith changes by itself. A value that is
// another one in each response says nothing of the candidate; its format, its
// length, whether it came before, how far it is from now, whether it rises and
// where else the same value stands do.
//
// What it tests, for each place and each feature: the hypothesis that the form of
// the candidate's value and that of the monolith's are exchangeable given the
// request and the past. The past says how unusual each form h is among the
// monolith's own, from 0 (the most frequent one) to 1 (never seen); the payoff
// h(candidate) − h(monolith) has expectation 0 then. Only the candidate's deviations win.
//
// What varies with who is asked second (a cache that says MISS and then HIT) is not
// exchangeable. So a finding also takes that the monolith's own second response
// does not deviate by half as much as the candidate's.
//
// Error rate: alpha in all. The j-th place gets the part 1/(2j(j+1)) + 1/128 of it,
// which sums to at most 1 over 64 places, in equal parts for its features. A test
// begins with the exchange after the one that named the place.
// Source: Ville's inequality; Shekhar & Ramdas 2023, arXiv 2112.09162.
type Forms struct {
	rules  []formRule
	ignore []jsonpath.Path
	expect jsondiff.Expectations
	// declared is why every difference of form is intended; empty: it is not.
	declared string
	Show     *display.View
	// Timeless says that the two responses are not of the same time.
	Timeless bool

	known   int // entries of the learned noise that were taken
	paths   []*formPath
	named   bool // see NewNamed
	vary    bool // see Named.Vary
	over    int  // places beyond formPaths
	dropped int  // places of which nothing was kept over a restart
	index   map[uint64]int
	own     map[string]bool // see Own
	below   map[uint64]bool
	fields  fieldCount
	samples int
	// sampleOf shows an exchange with a place at which the candidate was unusual.
	sampleOf func(x *whittle.Exchange, path string, e *formExchange) whittle.Sample

	walk    walker
	request echoes
	asked   bool // request is that of the present exchange
	sides   [3]formSide
	lists   [3][]category
	drawn   [3][]twosample.Value
	keys    []uint64
}

// formSide is one response of the present exchange: the values at each place.
type formSide struct {
	values [][]value
	plain  map[uint64]int
}

// The three responses of an exchange: the monolith's, the candidate's, and the
// monolith's second one.
const (
	Monolith = iota
	Candidate
	Repeat
)

// Learn takes up the places of what was learned as noise since, in a fixed order.
func (f *Forms) Learn(learnt map[noise.Key]bool, n int) {
	if len(learnt) == f.known {
		return
	}
	f.known = len(learnt)
	keys := make([]noise.Key, 0, len(learnt))
	for k := range learnt {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b noise.Key) int {
		return strings.Compare(a.Path+"\x00"+a.Way, b.Path+"\x00"+b.Way)
	})
	f.over = 0
	for _, k := range keys {
		if IsPiece(k.Path) {
			continue // the whole is looked at
		}
		f.take(k, n)
	}
}

// take adds a place, or another way in which a known place varies.
func (f *Forms) take(k noise.Key, n int) {
	h := digest.FNV([]byte(k.Path))
	if i, ok := f.index[h]; ok {
		f.paths[i].vary(k.Way)
		return
	}
	if len(f.paths) >= formPaths {
		f.over++
		return
	}
	p := newFormPath(k.Path, n, f.rule(k.Path))
	p.own, p.holds = f.own[k.Path], f.varies()
	p.vary(k.Way)
	f.put(p)
}

// varies reports whether each place is one at which the monolith was seen to vary.
func (f *Forms) varies() bool { return !f.named || f.vary }

func (f *Forms) put(p *formPath) {
	f.index[digest.FNV([]byte(p.Path))] = len(f.paths)
	f.paths = append(f.paths, p)
	f.meet(len(f.paths) - 1)
	prefixHashes(f.below, p.Path)
}

// See takes exchange n of a route, after what it teaches of noise was learned.
// alpha is the error rate of all places together. repeat is nil where the monolith
// was asked once.
func (f *Forms) See(x *whittle.Exchange, repeat []byte, alpha float64, n int) {
	if f.fields.due(n) {
		f.fields.see(&f.walk, x.Monolith.Body, x.Candidate.Body, f.ignore)
	}
	same := bytes.Equal(x.Monolith.Body, x.Candidate.Body) && repeat == nil
	if len(f.paths) == 0 || same && !isWhole(n) {
		return
	}
	f.asked = false
	if same {
		if f.gather(Monolith, x.Monolith.Body, x) {
			for i, p := range f.paths {
				p.settleSame(f.sides[Monolith].values[i], &f.drawn)
			}
		}
		return
	}
	if !f.gather(Monolith, x.Monolith.Body, x) || !f.gather(Candidate, x.Candidate.Body, x) {
		return
	}
	f.Settle(x, repeat != nil && f.gather(Repeat, repeat, x), alpha, n)
}

// Bounds of when bodies are looked at in which both sides say the same: they tell how often
// values come again, and how often each comes.
const (
	wholeFirst = 4096
	wholeBlock = 64
	wholeEvery = 8 // blocks
)

// isWhole reports whether exchange n is one of those that are all looked at: the first ones,
// and later whole blocks, so that which of them are does not follow from what both sides say.
func isWhole(n int) bool { return n <= wholeFirst || n/wholeBlock%wholeEvery == 0 }

// Settle takes the values that were gathered to the tests of all places. again says
// that the monolith was asked twice.
func (f *Forms) Settle(x *whittle.Exchange, again bool, alpha float64, n int) {
	monolith, candidate := clockOf(&x.Monolith), clockOf(&x.Candidate)
	keys := requestKeys(x)
	for i := range f.paths {
		p := f.paths[i]
		e := formExchange{monolith: f.sides[Monolith].values[i], candidate: f.sides[Candidate].values[i], n: n, at: x.At, timeless: f.Timeless, named: f.named, lists: &f.lists, drawn: &f.drawn, sides: &f.sides, request: keys, keys: f.keys}
		e.clocks[Monolith], e.clocks[Candidate] = monolith, candidate
		if again {
			e.repeat, e.again = f.sides[Repeat].values[i], true
			if x.Repeat != nil {
				e.clocks[Repeat] = clockOf(x.Repeat)
			}
		}
		e.alpha = alpha * formWeight(i+f.dropped) / features
		if p.settle(&e) && len(p.Samples) < formSamples && f.samples < display.MaxKept {
			p.Samples = append(p.Samples, f.sampleOf(x, p.Path, &e))
			f.samples++
		}
		f.keys = e.keys
	}
}

// sample shows an exchange and the first value at the place on each side.
func (f *Forms) sample(x *whittle.Exchange, path string, e *formExchange) whittle.Sample {
	at := trailOf(path)
	shown := func(values []value) string {
		if len(values) == 0 {
			return "missing"
		}
		return f.Show.Value(at, values[0].raw)
	}
	return f.Show.SampleAt(x, display.Spot{Where: path, From: shown(e.monolith), To: shown(e.candidate)})
}

// formWeight is the part of the error rate of the place at index i.
func formWeight(i int) float64 {
	j := float64(i + 1)
	if i >= formPaths {
		return 0.5 / (j * (j + 1))
	}
	return 0.5/(j*(j+1)) + 0.5/formPaths
}

// Own takes note that each server holds a state of its own at a place. The forms of such
// values come in runs on either side, so they are not compared, and what was won is void.
func (f *Forms) Own(path string) {
	if f == nil {
		return
	}
	f.own[path] = true
	for _, p := range f.paths {
		if p.Path == path {
			p.void()
		}
	}
}

// gather reads the values at all places out of a body; false: it is not JSON.
func (f *Forms) gather(side int, body []byte, x *whittle.Exchange) bool {
	s := f.empty(side)
	if f.walk.doc.Scan(body) != jsondoc.Scanned {
		return false
	}
	if s.plain == nil {
		s.plain = map[uint64]int{}
	}
	clear(s.plain)
	f.walk.each(func(h uint64) bool { return f.below[h] }, func(node uint32, h uint64) {
		if i, ok := f.index[h]; ok && len(s.values[i]) < formValues {
			s.values[i] = append(s.values[i], f.look(node, i, s, x))
		}
	})
	if len(s.plain) > 0 {
		f.echoWithin(s)
	}
	return true
}

// empty makes room for the values of one response.
func (f *Forms) empty(side int) *formSide {
	s := &f.sides[side]
	for len(s.values) < len(f.paths) {
		s.values = append(s.values, nil)
	}
	for i := range s.values {
		s.values[i] = s.values[i][:0]
	}
	return s
}

// look makes a value of a node at the place of index i.
func (f *Forms) look(node uint32, i int, s *formSide, x *whittle.Exchange) value {
	v := f.walk.look(node)
	if v.hash == 0 || v.form.class == classBool || v.form.class == classEmpty {
		return v
	}
	text := f.walk.text(node)
	f.echo(&v, text, x)
	if v.echo == "" && len(text) >= echoLeast {
		s.plain[v.plain] = i
	}
	return v
}

// echo finds where in the request a value stands.
func (f *Forms) echo(v *value, text []byte, x *whittle.Exchange) {
	v.plain = digest.FNV(text)
	if len(text) < echoLeast {
		return
	}
	if !f.asked {
		f.request.read(&x.Request)
		f.asked = true
	}
	v.echo = f.request.at[v.plain]
	now := x.At
	if f.Timeless {
		now = time.Time{}
	}
	v.around = around(v.form.class, text, f.request.at, now)
}

// echoWithin finds where else in the body the values at the places stand.
func (f *Forms) echoWithin(s *formSide) {
	leaves := 0
	f.walk.each(func(uint64) bool { return leaves < formLeaves }, func(node uint32, h uint64) {
		k := f.walk.doc.Nodes[node].Kind
		if k != jsondoc.Number && k != jsondoc.String {
			return
		}
		leaves++
		plain := digest.FNV(f.walk.text(node))
		if _, ok := s.plain[plain]; !ok {
			return
		}
		own, at := -1, ""
		if i, ok := f.index[h]; ok {
			own = i
		}
		for i, values := range s.values {
			for k := range values {
				if i == own || values[k].plain != plain || values[k].echo != "" {
					continue
				}
				if at == "" {
					at = f.walk.patternOf(node) + " of the same response"
				}
				values[k].echo = at
			}
		}
	})
}
