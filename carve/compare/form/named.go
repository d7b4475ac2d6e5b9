package form

import (
	"cmp"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/display"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/jsondoc"
	"whittle/carve/compare/noise"
)

// The following compares by form values that stand in no JSON body but have names
// of their own, such as cookies: their place is a name.

// Named says of what values with names are.
type Named struct {
	// Vary says that each is known to vary, and is a number where it is one of JSON.
	Vary bool
	// Sample shows an exchange in which the candidate's form at a place was unusual, with
	// both sides' forms in words.
	Sample func(x *whittle.Exchange, path, from, to string) whittle.Sample
}

// NewNamed compares values that have names, none of them declared.
func NewNamed(show *display.View, n Named) *Forms {
	f := &Forms{index: map[uint64]int{}, own: map[string]bool{}, below: map[uint64]bool{}, fields: newFieldCount(), Show: show, named: true, vary: n.Vary}
	f.sampleOf = func(x *whittle.Exchange, path string, e *formExchange) whittle.Sample {
		return n.Sample(x, path, formSaid(e.monolith), formSaid(e.candidate))
	}
	return f
}

// Declare has every difference of form count as intended, for the reason given.
func (f *Forms) Declare(reason string) {
	f.declared = cmp.Or(f.declared, reason)
}

// Begin forgets the values of the exchange before.
func (f *Forms) Begin() {
	f.asked = false
	for side := range f.sides {
		f.empty(side)
	}
}

// Name makes a place, from exchange n on.
func (f *Forms) Name(path string, n int) { f.take(noise.Key{Path: path, Way: jsondiff.HowValue}, n) }

// Give takes a value of one side at a place of the present exchange.
func (f *Forms) Give(side int, path string, text []byte, x *whittle.Exchange) {
	s := &f.sides[side]
	i, ok := f.index[digest.FNV([]byte(path))]
	if !ok || i >= len(s.values) || len(s.values[i]) >= formValues {
		return
	}
	v := valueOfText(text)
	if f.vary && jsondoc.IsNumber(text) {
		v = valueOfNumber(text)
	}
	v.raw = text
	if v.form.class != classEmpty {
		f.echo(&v, text, x)
	}
	s.values[i] = append(s.values[i], v)
}

// Places are the paths of what is compared by form, in the order in which they came.
func (f *Forms) Places() []string {
	list := make([]string, 0, len(f.paths))
	for _, p := range f.paths {
		list = append(list, p.Path)
	}
	return list
}

// EachSample calls a function for every sample that is kept.
func (f *Forms) EachSample(do func(*whittle.Sample)) {
	for _, p := range f.paths {
		for k := range p.Samples {
			do(&p.Samples[k])
		}
	}
}

// formSaid is the form of the first of a side's values.
func formSaid(values []value) string {
	if len(values) == 0 {
		return "missing"
	}
	s := values[0].form.String()
	if values[0].size >= 0 {
		s += ", " + sizeWords(values[0].form, values[0].size)
	}
	return s
}
