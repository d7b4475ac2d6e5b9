// Package form compares by form the values that the monolith changes by itself: ids, times, counters. A
// faithful candidate shares their format, length, age and repetition. Each is tested by betting.
package form

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/jsondoc"
	"whittle/carve/compare/noise"
	"whittle/carve/compare/twosample"
	"whittle/internal/jsonpath"
)

// Bounds on what is compared by form.
const (
	most = 64 // places, values at one place of a body, a side's last values, distinct sizes
	few  = 16 // categories of one derived place, distances of the last times, ends of ids, and characters of an id with an end
)

// Forms compares by form what the monolith changes by itself. The value differs in each response and
// says nothing. Its format and length, whether it came before, how far it is from now, and which of a
// few words it is do say something. Each of these is a place derived from the value.
//
// Hypothesis, for each derived place: given the request and the past, the candidate's form and the
// monolith's are exchangeable. The past says how unusual each form h is among the monolith's own, from
// 0 (the most frequent) to 1 (never seen). The payoff h(candidate) − h(monolith) then has expectation
// 0, and only the candidate's deviations win. What varies with who is asked second (a cache that says
// MISS, then HIT) is not exchangeable, so a finding also takes that the monolith's second response
// deviates by less than half as much as the candidate's.
//
// Error rate: alpha in all. The j-th place gets 1/(j(j+1)) of it, in equal parts for what is derived
// from it. A test begins with the exchange after the one that named the place.
// Source: Ville's inequality; Shekhar & Ramdas 2023, arXiv 2112.09162.
type Forms struct {
	rules  []formRule
	ignore []jsonpath.Path
	Show   *display.View
	// Named says how a place of headers or cookies is called; nil: by its path, as in bodies.
	Named func(path string) string
	// Declared is why every difference of form in cookies is intended; empty: none is.
	Declared string
	// Timeless says that the two responses are from different times.
	Timeless bool

	paths   []*formPath
	over    int             // places beyond most
	dropped int             // places forgotten over a restart
	index   map[string]int  // by pattern
	below   map[string]bool // patterns that lead to places
	fields  map[uint64]bool // hashes of the places counted (countFields)
	samples int

	walk  walker
	drawn [3][]twosample.Value // scratch
}

// The three responses of an exchange: the monolith's, the candidate's, the monolith's second one.
const (
	Monolith = iota
	Candidate
	Repeat
)

// Learn takes up the places learned as noise, in a fixed order. Where each server holds a state of its own,
// values come in runs on either side, so forms are not compared there and earlier gains do not count.
func (f *Forms) Learn(l *noise.Learned, n int) {
	f.over = 0
	for _, k := range slices.SortedFunc(maps.Keys(l.Learnt), noise.Key.Compare) {
		f.take(k, n)
	}
	for k := range l.Own {
		if i, ok := f.index[k.Path]; ok {
			f.paths[i].own = true
		}
	}
}

// take adds a place, or another way in which a known place varies.
func (f *Forms) take(k noise.Key, n int) {
	if i, ok := f.index[k.Path]; ok {
		f.paths[i].vary(k.Way)
		return
	}
	if len(f.paths) >= most {
		f.over++
		return
	}
	p := newFormPath(k.Path, n)
	p.vary(k.Way)
	f.put(p)
}

// TakeCookie makes a place of a cookie, which is not known to vary, from exchange n on.
func (f *Forms) TakeCookie(path string, n int) {
	f.take(noise.Key{Path: path, Way: jsondiff.HowValue}, n)
	if i, ok := f.index[path]; ok {
		f.paths[i].Cookie = true
	}
}

func (f *Forms) put(p *formPath) {
	p.rule = f.rule(p.Path)
	if p.name = p.Path; f.Named != nil {
		p.name = f.Named(p.Path)
	}
	f.index[p.Path] = len(f.paths)
	f.paths = append(f.paths, p)
	trail := TrailOf(p.Path)
	for i := range trail {
		f.below[string(jsondoc.AppendPattern(nil, trail[:i]))] = true
	}
}

// See takes exchange n of a route, after its noise was learned. alpha is the error rate of all places
// together. repeat is nil where the monolith was asked once.
func (f *Forms) See(x *whittle.Exchange, repeat []byte, alpha float64, n int) {
	if f.Named == nil {
		f.countFields(x.Monolith.Body, x.Candidate.Body, n)
	}
	same := bytes.Equal(x.Monolith.Body, x.Candidate.Body) && repeat == nil
	if len(f.paths) == 0 || same && !isWhole(n) || !f.gather(Monolith, x.Monolith.Body) || !f.gather(Candidate, x.Candidate.Body) {
		return
	}
	e := formExchange{n: n, at: x.At, same: same, again: f.gather(Repeat, repeat), timeless: f.Timeless, drawn: &f.drawn}
	for side, response := range [3]*whittle.Response{&x.Monolith, &x.Candidate, x.Repeat} {
		if response != nil {
			e.clocks[side], _ = Date(response.Header.Get("Date"))
			e.took[side] = response.Latency
		}
	}
	for i, p := range f.paths {
		e.alpha = eprocess.OfNth(alpha, i+f.dropped+1) / features
		if p.settle(&e) && len(p.Samples) < display.MaxSamples && f.samples < display.MaxShown*display.MaxSamples && !f.Show.Has(p.Samples, x) {
			p.Samples = append(p.Samples, f.sample(x, p))
			f.samples++
		}
	}
}

// isWhole reports whether exchange n is looked at though both sides say the same, to learn how often
// values come. These are the first ones and later blocks of one in eight. Blocks show what is held, and
// which exchanges they hold does not depend on what both sides say.
func isWhole(n int) bool { return n <= most*most || n/most%8 == 0 }

// sample shows an exchange with the first value at the place on each side.
func (f *Forms) sample(x *whittle.Exchange, p *formPath) whittle.Sample {
	at := TrailOf(p.Path)
	shown := func(values []value) string {
		if len(values) == 0 {
			return "missing"
		}
		return f.Show.Value(at, values[0].raw)
	}
	return f.Show.SampleAt(x, display.Spot{Where: p.name, From: shown(p.now[Monolith]), To: shown(p.now[Candidate])})
}

// gather reads the values at all places of a body; false where it is not JSON.
func (f *Forms) gather(side int, body []byte) bool {
	for _, p := range f.paths {
		p.now[side] = p.now[side][:0]
	}
	if f.walk.doc.Scan(body) != jsondoc.Scanned {
		return false
	}
	f.walk.each(func(pattern []byte) bool { return f.below[string(pattern)] }, func(node uint32, pattern []byte, _ uint64) {
		if i, ok := f.index[string(pattern)]; ok {
			if p := f.paths[i]; len(p.now[side]) < most {
				p.now[side] = append(p.now[side], f.walk.look(node))
			}
		}
	})
	return true
}

// Any reports whether anything is compared by form.
func (f *Forms) Any() bool { return len(f.paths) > 0 }

// formRule is a declared form.
type formRule struct {
	path jsonpath.Path
	form string
}

// New compiles a comparison's rules.
func New(c whittle.Comparison) (*Forms, error) {
	f := &Forms{}
	f.forget()
	for i, r := range c.Forms {
		p, err := jsondoc.ParsePath(r.Path)
		if err != nil {
			return nil, jsondoc.InField(err, "compare.form")
		}
		if !slices.Contains(Names(), r.Form) {
			return nil, whittle.Errorf(whittle.Invalid, "form %d is %q", i, r.Form).
				WithField("compare.form").WithHint("write one of: " + strings.Join(Names(), ", "))
		}
		f.rules = append(f.rules, formRule{p, r.Form})
	}
	ignore, err := jsondoc.ParsePaths("compare.ignore", c.Ignore)
	f.ignore = ignore
	return f, err
}

// rule is the declared form of a pattern; empty where there is none.
func (f *Forms) rule(pattern string) string {
	if len(f.rules) == 0 {
		return ""
	}
	trail := TrailOf(pattern)
	for _, r := range f.rules {
		if r.path.Matches(trail) {
			return r.form
		}
	}
	return ""
}

// Teaches reports whether the monolith's changes may be learned as noise: not where the config has the
// place compared by value.
func (f *Forms) Teaches(k noise.Key) bool {
	return k.Way != jsondiff.HowValue || f.rule(k.Path) != formValue
}

// Excuses reports whether the config has a value compared by form, or not at all, before the monolith
// was seen to change it.
func (f *Forms) Excuses(k noise.Key) bool {
	r := f.rule(k.Path)
	return k.Way == jsondiff.HowValue && r != "" && r != formValue
}

// Replaces reports whether comparing by form replaces comparing by value: where the config says so, and
// for fresh times, which two clocks a second apart write differently though the monolith's own second
// response may not.
func (f *Forms) Replaces(k noise.Key) bool {
	i, ok := f.index[k.Path]
	return f.Excuses(k) || k.Way == jsondiff.HowValue && ok && f.paths[i].ofNow()
}
