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

// NewNamed compares values that have names, none of them declared. vary says that each is known
// to vary, and is a number where it is one of JSON.
func NewNamed(show *display.View, vary bool) *Forms {
	return &Forms{index: map[uint64]int{}, own: map[string]bool{}, below: map[uint64]bool{}, fields: newFieldCount(), Show: show, named: true, vary: vary}
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

// NamePresence makes a place of what is there at times, from exchange n on; that it is has to
// come as often on both sides.
func (f *Forms) NamePresence(path string, n int) {
	f.take(noise.Key{Path: path, Way: jsondiff.WayPresence}, n)
}

// Give takes a value of one side at a place of the present exchange.
func (f *Forms) Give(side int, path string, text []byte, x *whittle.Exchange) {
	values := f.sides[side]
	i, ok := f.index[digest.FNV([]byte(path))]
	if !ok || i >= len(values) || len(values[i]) >= formValues {
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
	values[i] = append(values[i], v)
}

// Places are the paths of what is compared by form, in the order in which they came.
func (f *Forms) Places() []string {
	list := make([]string, 0, len(f.paths))
	for _, p := range f.paths {
		list = append(list, p.Path)
	}
	return list
}

// formSaid is the form of a value.
func formSaid(v *value) string {
	s := v.form.String()
	if v.size >= 0 {
		s += ", " + sizeWords(v.form, v.size)
	}
	return s
}
