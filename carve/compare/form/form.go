// Package form compares by form the values that the monolith changes by itself: ids,
// times, counters. Their format, length, age and repetition are what a faithful
// candidate shares, and each is tested by betting.
package form

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/jsondoc"
	"whittle/carve/compare/noise"
	"whittle/carve/compare/twosample"
	"whittle/internal/jsonpath"
)

// Bounds of what is compared by form.
const (
	most = 64 // places, values at one place of a body and of a side's last ones, and sizes that are told apart
	few  = 16 // categories of one derived place, and distances of the last times
)

// Forms compares by form what the monolith changes by itself. A value that is
// another one in each response says nothing of the candidate; its format, its
// length, whether it came before, how far it is from now and which of a few words it is do.
// Each is a place that is derived from the value.
//
// What it tests, for each derived place: the hypothesis that the form of
// the candidate's value and that of the monolith's are exchangeable given the
// request and the past. The past says how unusual each form h is among the
// monolith's own, from 0 (the most frequent one) to 1 (never seen); the payoff
// h(candidate) − h(monolith) has expectation 0 then. Only the candidate's deviations win.
//
// What varies with who is asked second (a cache that says MISS and then HIT) is not
// exchangeable. So a finding also takes that the monolith's own second response
// does not deviate by half as much as the candidate's.
//
// Error rate: alpha in all. The j-th place gets the part 1/(j(j+1)) of it, in equal parts for
// those derived from it. A test begins with the exchange after the one that named the place.
// Source: Ville's inequality; Shekhar & Ramdas 2023, arXiv 2112.09162.
type Forms struct {
	rules  []formRule
	ignore []jsonpath.Path
	// declared is why every difference of form in cookies is intended; empty: it is not.
	declared string
	Show     *display.View
	// Timeless says that the two responses are not of the same time.
	Timeless bool

	known   int // entries of the learned noise that were taken
	paths   []*formPath
	named   func(path string) string // see ByName
	over    int                      // places beyond most
	dropped int                      // places of which nothing was kept over a restart
	index   map[uint64]int
	own     map[string]bool // see MarkOwn
	below   map[uint64]bool
	pieced  map[uint64]bool // texts of which pieces are compared
	fields  fieldCount
	samples int

	walk  walker
	sides [3][][]value // of the present exchange, the values at each place
	lists [3][]category
	drawn [3][]twosample.Value
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
	f.over = 0
	for _, k := range slices.SortedFunc(maps.Keys(learnt), noise.Key.Compare) {
		if !IsPiece(k.Path) || f.named != nil { // else the whole is looked at
			f.take(k, n)
		}
	}
}

// take adds a place, or another way in which a known place varies.
func (f *Forms) take(k noise.Key, n int) {
	h := digest.FNV([]byte(k.Path))
	if i, ok := f.index[h]; ok {
		f.paths[i].vary(k.Way)
		return
	}
	if len(f.paths) >= most {
		f.over++
		return
	}
	p := newFormPath(k.Path, n, f.rule(k.Path))
	p.own = f.own[k.Path]
	p.vary(k.Way)
	f.put(p)
}

func (f *Forms) put(p *formPath) {
	f.index[digest.FNV([]byte(p.Path))] = len(f.paths)
	f.paths = append(f.paths, p)
	prefixHashes(f.below, p.Path)
	if IsPiece(p.Path) {
		f.pieced[digest.FNV([]byte(p.Path[:strings.LastIndex(p.Path, " (")]))] = true
	}
}

// See takes exchange n of a route, after what it teaches of noise was learned.
// alpha is the error rate of all places together. repeat is nil where the monolith
// was asked once.
func (f *Forms) See(x *whittle.Exchange, repeat []byte, alpha float64, n int) {
	if f.named == nil && f.fields.due(n) {
		f.fields.see(&f.walk, x.Monolith.Body, x.Candidate.Body, f.ignore)
	}
	same := bytes.Equal(x.Monolith.Body, x.Candidate.Body) && repeat == nil
	if len(f.paths) == 0 || same && !isWhole(n) {
		return
	}
	if same {
		if f.gather(Monolith, x.Monolith.Body) {
			for i, p := range f.paths {
				p.settleSame(f.sides[Monolith][i], f.named != nil, &f.drawn)
			}
		}
		return
	}
	if !f.gather(Monolith, x.Monolith.Body) || !f.gather(Candidate, x.Candidate.Body) {
		return
	}
	f.Settle(x, repeat != nil && f.gather(Repeat, repeat), alpha, n)
}

// isWhole reports whether exchange n is one of those that are looked at though both sides say the
// same, which tells how often values come: the first ones, and later blocks of one in eight, so that
// it is seen what is held, and which of them are does not follow from what both sides say.
func isWhole(n int) bool { return n <= most*most || n/most%8 == 0 }

// Settle takes the values that were gathered to the tests of all places. again says
// that the monolith was asked twice.
func (f *Forms) Settle(x *whittle.Exchange, again bool, alpha float64, n int) {
	e := formExchange{n: n, at: x.At, again: again, timeless: f.Timeless, named: f.named != nil, lists: &f.lists, drawn: &f.drawn}
	e.clocks[Monolith], e.clocks[Candidate] = responseDate(&x.Monolith), responseDate(&x.Candidate)
	if again && x.Repeat != nil {
		e.clocks[Repeat] = responseDate(x.Repeat)
	}
	for i, p := range f.paths {
		e.values = [3][]value{f.sides[Monolith][i], f.sides[Candidate][i]}
		if again {
			e.values[Repeat] = f.sides[Repeat][i]
		}
		e.alpha = eprocess.OfNth(alpha, i+f.dropped+1) / features
		if p.settle(&e) && len(p.Samples) < display.MaxSamples && f.samples < display.MaxShown*display.MaxSamples && !f.Show.Has(p.Samples, x) {
			p.Samples = append(p.Samples, f.sample(x, p, &e))
			f.samples++
		}
	}
}

// sample shows an exchange and the first value at the place on each side.
func (f *Forms) sample(x *whittle.Exchange, p *formPath, e *formExchange) whittle.Sample {
	at := TrailOf(p.Path)
	shown := func(values []value) string {
		if len(values) == 0 {
			return "missing"
		}
		return f.Show.Value(at, values[0].raw)
	}
	return f.Show.SampleAt(x, display.Spot{Where: f.said(p, p.Path), From: shown(e.values[Monolith]), To: shown(e.values[Candidate])})
}

// MarkOwn takes note that each server holds a state of its own at a place. The forms of such
// values come in runs on either side, so they are not compared, and what was won is void.
func (f *Forms) MarkOwn(path string) {
	f.own[path] = true
	for _, p := range f.paths {
		if p.Path == path {
			p.void()
		}
	}
}

// gather reads the values at all places out of a body; false: it is not JSON.
func (f *Forms) gather(side int, body []byte) bool {
	values := f.empty(side)
	if f.walk.doc.Scan(body) != jsondoc.Scanned {
		return false
	}
	f.walk.each(func(h uint64) bool { return f.below[h] }, func(node uint32, at at) {
		if i, ok := f.index[at.pattern]; ok && len(values[i]) < most {
			values[i] = append(values[i], f.walk.look(node))
		}
		if f.pieced[at.pattern] {
			f.gatherPieces(values, node, at.pattern)
		}
	})
	return true
}

// gatherPieces reads the values of the pieces of a text.
func (f *Forms) gatherPieces(values [][]value, node uint32, pattern uint64) {
	list, _ := Pieces(f.walk.text(node))
	for _, piece := range list {
		i, ok := f.index[digest.FNVOn(pattern, []byte(" ("+f.Show.Text(piece.Name)+")"))]
		if !ok || len(values[i]) >= most {
			continue
		}
		text := []byte(piece.Text)
		v := valueOfText(text)
		if jsondoc.IsNumber(text) {
			v = valueOfNumber(text)
		}
		v.raw = text
		values[i] = append(values[i], v)
	}
}

// empty makes room for the values of one response.
func (f *Forms) empty(side int) [][]value {
	for len(f.sides[side]) < len(f.paths) {
		f.sides[side] = append(f.sides[side], nil)
	}
	for i, values := range f.sides[side] {
		f.sides[side][i] = values[:0]
	}
	return f.sides[side]
}
