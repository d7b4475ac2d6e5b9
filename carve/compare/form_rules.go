package compare

import (
	"strings"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/internal/jsonpath"
)

// formRule is a declared form.
type formRule struct {
	path jsonpath.Path
	form string
}

type formExpectation struct {
	path   jsonpath.Path // nil: any place
	reason string
}

// newForms compiles the rules of a comparison.
func newForms(c whittle.Comparison) (*forms, error) {
	f := &forms{index: map[uint64]int{}, below: map[uint64]bool{}}
	f.sampleOf = f.sample
	for i, r := range c.Forms {
		p, err := parsePath(r.Path)
		if err != nil {
			return nil, inField(err, "compare.form")
		}
		if !formKnown(r.Form) {
			return nil, whittle.Errorf(whittle.Invalid, "form %d is %q", i, r.Form).
				WithField("compare.form").WithHint("write one of: " + strings.Join(FormNames(), ", "))
		}
		f.rules = append(f.rules, formRule{p, r.Form})
	}
	for _, e := range c.Expect {
		if e.Kind != whittle.FoundForm {
			continue
		}
		x := formExpectation{reason: reasonOf(e)}
		if e.Path != "" {
			p, err := parsePath(e.Path)
			if err != nil {
				return nil, inField(err, "compare.expect")
			}
			x.path = p
		}
		f.expect = append(f.expect, x)
	}
	var err error
	f.ignore, err = parsePaths("compare.ignore", c.Ignore)
	f.fields = newFieldCount()
	return f, err
}

// rule is the declared form of a pattern; empty: none.
func (f *forms) rule(pattern string) string {
	if len(f.rules) == 0 {
		return ""
	}
	trail := trailOf(pattern)
	for _, r := range f.rules {
		if r.path.Matches(trail) {
			return r.form
		}
	}
	return ""
}

// teaches reports whether what the monolith changes by itself may be learned as
// noise: not where the config has it compared by value.
func (f *forms) teaches(k noiseKey) bool {
	return f == nil || k.way != howValue || f.rule(k.path) != formValue
}

// excuses reports whether the config says that a value is compared by form, or not
// at all, before the monolith was seen to change it.
func (f *forms) excuses(k noiseKey) bool {
	if f == nil || k.way != howValue {
		return false
	}
	r := f.rule(k.path)
	return r != "" && r != formValue
}

// replaces reports whether comparing by form takes the place of comparing by value:
// where the config says so, and at times that are made anew, which two clocks a
// second apart write otherwise though the monolith's own second response may not.
func (f *forms) replaces(k noiseKey) bool {
	if f.excuses(k) {
		return true
	}
	if f == nil || k.way != howValue {
		return false
	}
	i, ok := f.index[digest.FNV([]byte(k.path))]
	return ok && f.paths[i].ofNow()
}
