// Package smell names known wastes of CPU time in a profile: what, at which
// line of the service's own code, how much, and what to do.
package smell

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"whittle/internal/units"
	"whittle/profile"
)

// Smell is one finding.
type Smell struct {
	Name     string  `json:"name"`  // of a kind of smell, stable: "printed-message"
	Title    string  `json:"title"` // what is wrong, in a few words
	Function string  `json:"function"`
	File     string  `json:"file"` // of the service's own code; "" where none is on the stack
	Line     int     `json:"line"`
	Share    float64 `json:"share"`    // of the profile's total, 0 to 1
	Evidence string  `json:"evidence"` // what was seen, with figures
	Advice   string  `json:"advice"`
}

// Where gives file:line, short, or the function where there is no file.
func (s *Smell) Where() string {
	switch {
	case s.File == "":
		return s.Function
	case s.Line == 0:
		return s.File
	}
	return fmt.Sprintf("%s:%d", s.File, s.Line)
}

// Find names the smells of one service in its profiles, of any kinds; the
// worst first. A service that does its work and no more has none.
//
// A finding is a share of samples above a rule's threshold. Samples are few
// where a process idles, so the share's lower 95 % bound (Wilson 1927) must be
// above half the threshold, with at least minSamples samples.
func Find(profiles []*profile.Profile) []Smell {
	var out []Smell
	for _, p := range profiles {
		switch {
		case p.Kind == profile.CPU && p.Runtime == profile.Go:
			out = append(out, apply(p, goRules)...)
			out = append(out, collector(p, profiles)...)
		case p.Kind == profile.CPU && p.Runtime == profile.Node:
			out = append(out, apply(p, nodeRules)...)
			if waits := p.Waits(); waits != nil {
				out = append(out, apply(waits, nodeRules)...)
			}
			out = append(out, collector(p, profiles)...)
			out = append(out, blocked(p)...)
		case p.Kind == profile.Mutex:
			out = append(out, contended(p)...)
		}
	}
	out = particular(once(out))
	slices.SortStableFunc(out, func(a, b Smell) int { return cmp.Compare(b.Share, a.Share) })
	return out
}

// once keeps the worst finding of a name at a place: lock contention shows in
// the CPU's profile and in that of the locks.
func once(all []Smell) []Smell {
	type key struct{ name, where string }
	at := map[key]int{}
	var out []Smell
	for _, s := range all {
		k := key{s.Name, s.Where()}
		if i, ok := at[k]; ok {
			if s.Share > out[i].Share {
				out[i] = s
			}
			continue
		}
		at[k] = len(out)
		out = append(out, s)
	}
	return out
}

// minSamples is the fewest samples that anything is said of.
const minSamples = 5

// rule finds one kind of smell in CPU profiles.
type rule struct {
	name, title, advice string
	least               float64 // share of the total at one own line
	// match looks at a stack, leaf first, down to and with the own frame nearest
	// to the leaf, or all of it where none is own; and says what it saw.
	match matcher
	// asks matches, where the work is done in another thread than the code that
	// causes it, the stacks of that code: work without a line is attributed to
	// the line that asks most.
	asks func(v *view) bool
	// unless says that what was found of a profile is explained otherwise. nil: it never is.
	unless func(p *profile.Profile, found int64) bool
}

// view is a stack as a rule sees it.
type view struct {
	p     *profile.Profile
	stack []profile.Frame // leaf first; the last is the own frame, if any is
	whole []profile.Frame
}

// first gives the name of the first function of some frames that is one.
func (v *view) first(frames iter.Seq2[int, profile.Frame], is func(*profile.Function) bool) (string, bool) {
	for _, frame := range frames {
		if f := &v.p.Functions[frame.Function]; is(f) {
			return f.Name, true
		}
	}
	return "", false
}

// called knows a function whose name is, or begins with (a prefix ends in "*"), one of the
// patterns.
func called(patterns ...string) func(*profile.Function) bool {
	return func(f *profile.Function) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool {
			prefix, open := strings.CutSuffix(pattern, "*")
			return open && strings.HasPrefix(f.Name, prefix) || f.Name == pattern
		})
	}
}

// find gives the first function from the leaf on that is called so.
func (v *view) find(patterns ...string) (string, bool) {
	return v.first(slices.All(v.stack), called(patterns...))
}

// outermost gives the function nearest to the own code that is called so: the one that the
// own code called.
func (v *view) outermost(patterns ...string) (string, bool) {
	return v.first(slices.Backward(v.stack), called(patterns...))
}

// above looks at the whole stack, beyond the own frame too.
func (v *view) above(patterns ...string) bool {
	_, ok := v.first(slices.All(v.whole), called(patterns...))
	return ok
}

// codeLine is a line of the service's own code, or none.
type codeLine struct {
	function int32 // -1: no own code is on the stack
	line     int32
}

// finding gathers what a rule matched at one place.
type finding struct {
	value, samples int64
	seen           map[string]int64
}

// apply runs rules over a profile. A stack counts for the first rule that
// matches it: they stand from the particular to the general.
func apply(p *profile.Profile, rules []rule) []Smell {
	total, samples := p.Total(), int64(0)
	found := make([]map[codeLine]*finding, len(rules))
	asked := make([]map[codeLine]int64, len(rules))
	for r := range rules {
		found[r], asked[r] = map[codeLine]*finding{}, map[codeLine]int64{}
	}
	for i := range p.Samples {
		s := &p.Samples[i]
		if p.CategoryOf(s) == profile.Idle {
			continue
		}
		samples += max(s.Objects, 1)
		v := view{p: p, stack: s.Stack, whole: s.Stack}
		at := codeLine{function: -1}
		if own := p.NearestOwn(s); own >= 0 {
			v.stack = s.Stack[:own+1]
			at = codeLine{s.Stack[own].Function, s.Stack[own].Line}
			if at.line == 0 { // V8 knows the lines of leaves alone
				at.line = int32(p.Functions[at.function].Line)
			}
		}
		for r := range rules {
			if at.function >= 0 && rules[r].asks != nil && rules[r].asks(&v) {
				asked[r][at] += s.Value
			}
		}
		for r := range rules {
			seen, ok := rules[r].match(&v)
			if !ok {
				continue
			}
			f := found[r][at]
			if f == nil {
				f = &finding{seen: map[string]int64{}}
				found[r][at] = f
			}
			f.value += s.Value
			f.samples += max(s.Objects, 1)
			f.seen[seen] += s.Value
			break
		}
	}
	var out []Smell
	for r, places := range found {
		askers(places, asked[r])
		for at, f := range places {
			share := float64(f.value) / float64(max(total, 1))
			surely, _ := profile.Interval(f.samples, samples)
			if share < rules[r].least || f.samples < minSamples || surely < rules[r].least/2 ||
				rules[r].unless != nil && rules[r].unless(p, f.value) {
				continue
			}
			out = append(out, rules[r].smell(p, at, f, share))
		}
	}
	slices.SortFunc(out, func(a, b Smell) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Name+a.Where(), b.Name+b.Where()))
	})
	return out
}

// askers gives what was found at no line to the line that asked most.
func askers(found map[codeLine]*finding, asked map[codeLine]int64) {
	nowhere := codeLine{function: -1}
	f := found[nowhere]
	if f == nil || len(asked) == 0 {
		return
	}
	var most codeLine
	for at, v := range asked {
		if m := asked[most]; v > m || v == m && (at.function < most.function || at.function == most.function && at.line < most.line) {
			most = at
		}
	}
	delete(found, nowhere)
	if there := found[most]; there != nil {
		f.value, f.samples = f.value+there.value, f.samples+there.samples
		for name, v := range there.seen {
			f.seen[name] += v
		}
	}
	found[most] = f
}

// general are the smells that others explain, from the particular on.
var general = []string{"lock-contention", "logging", "printing", "formatting", "reflection", "gc-pressure"}

// particular keeps one finding of a line where several are one mistake: a
// message that is printed is also formatted, and garbage.
func particular(all []Smell) []Smell {
	rank := func(s *Smell) int { return slices.Index(general, s.Name) }
	best := map[string]int{}
	for i := range all {
		if s := &all[i]; s.File != "" && s.Name != "event-loop-blocked" {
			if b, ok := best[s.Where()]; !ok || rank(s) < rank(&all[b]) {
				best[s.Where()] = i
			}
		}
	}
	var out []Smell
	for i, s := range all {
		b, ok := best[s.Where()]
		if !ok || b == i || rank(&s) < 0 || s.Name == "event-loop-blocked" {
			out = append(out, s)
			continue
		}
		all[b].Evidence += "; " + s.Evidence
	}
	for i := range out {
		if b, ok := best[out[i].Where()]; ok && all[b].Name == out[i].Name {
			out[i].Evidence = all[b].Evidence
		}
	}
	return out
}

func (r *rule) smell(p *profile.Profile, at codeLine, f *finding, share float64) Smell {
	s := Smell{Name: r.name, Title: r.title, Advice: r.advice, Share: share}
	most := profile.Heaviest(f.seen)
	of := "CPU time is spent"
	if p.Kind == profile.Waits {
		of = "event loop's time goes by waiting"
	}
	s.Evidence = fmt.Sprintf("%s of the %s below %s", units.Percent(share), of, most)
	if at.function >= 0 {
		fn := p.Functions[at.function]
		s.Function, s.File, s.Line = fn.Name, fn.File, int(at.line)
		s.Evidence += fmt.Sprintf(", called by %s at %s", profile.ShortName(fn.Name), s.Where())
	} else {
		s.Function = most
	}
	return s
}
