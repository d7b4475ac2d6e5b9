package form

import (
	"cmp"

	"whittle/carve/compare/digest"
	"whittle/carve/compare/display"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/jsondoc"
	"whittle/carve/compare/noise"
)

// The following compares by form values that stand in no JSON body but have names
// of their own, as those of headers and of cookies: their place is a name.

// NewNamed compares values that have names.
func NewNamed(show *display.View) *Forms {
	return &Forms{index: map[uint64]int{}, own: map[string]bool{}, below: map[uint64]bool{}, fields: newFieldCount(), Show: show, named: true}
}

// Declare has every difference of form in a cookie count as intended, for the reason given.
func (f *Forms) Declare(reason string) {
	f.declared = cmp.Or(f.declared, reason)
}

// said is what is said of a place where its kind does not say that it is a header.
func (f *Forms) said(p *formPath, s string) string {
	if f.named && !p.Fresh {
		return "header " + s
	}
	return s
}

// Begin forgets the values of the exchange before.
func (f *Forms) Begin() {
	for side := range f.sides {
		f.empty(side)
	}
}

// Name makes a place of what varies, from exchange n on. Of numbers it is compared how large
// they are.
func (f *Forms) Name(path string, n int) { f.take(noise.Key{Path: path, Way: jsondiff.HowValue}, n) }

// NameFresh makes a place of a cookie, which is not known to vary.
func (f *Forms) NameFresh(path string, n int) {
	if f.Name(path, n); len(f.paths) > 0 && f.paths[len(f.paths)-1].Path == path {
		f.paths[len(f.paths)-1].Fresh = true
	}
}

// NamePresence makes a place of what is there at times, from exchange n on; that it is has to
// come as often on both sides.
func (f *Forms) NamePresence(path string, n int) {
	f.take(noise.Key{Path: path, Way: jsondiff.WayPresence}, n)
}

// Give takes a value of one side at a place of the present exchange.
func (f *Forms) Give(side int, path string, text []byte) {
	values := f.sides[side]
	i, ok := f.index[digest.FNV([]byte(path))]
	if !ok || i >= len(values) || len(values[i]) >= most {
		return
	}
	v := valueOfText(text)
	if !f.paths[i].Fresh && jsondoc.IsNumber(text) {
		v = valueOfNumber(text)
	}
	v.raw = text
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
