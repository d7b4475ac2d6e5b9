package form

import (
	"strings"

	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/noise"
)

// ByName says that the values are those of headers and cookies, whose places are called as a
// function has it.
func (f *Forms) ByName(name func(path string) string) { f.named = name }

// Declare has every difference of form in a cookie count as intended, for the reason given.
func (f *Forms) Declare(reason string) { f.declared = reason }

// said is a sentence that begins with a place, by what the place is called.
func (f *Forms) said(p *formPath, s string) string {
	if f.named != nil {
		return strings.Replace(s, p.Path, f.named(p.Path), 1)
	}
	return s
}

// NameFresh makes a place of a cookie, which is not known to vary, from exchange n on.
func (f *Forms) NameFresh(path string, n int) {
	f.take(noise.Key{Path: path, Way: jsondiff.HowValue}, n)
	if len(f.paths) > 0 && f.paths[len(f.paths)-1].Path == path {
		f.paths[len(f.paths)-1].Fresh = true
	}
}

// Any reports whether anything is compared by form.
func (f *Forms) Any() bool { return len(f.paths) > 0 }
