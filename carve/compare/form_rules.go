package compare

import (
	"strings"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/display"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/jsondoc"
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
		p, err := jsondoc.ParsePath(r.Path)
		if err != nil {
			return nil, jsondoc.InField(err, "compare.form")
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
		x := formExpectation{reason: display.Reason(e)}
		if e.Path != "" {
			p, err := jsondoc.ParsePath(e.Path)
			if err != nil {
				return nil, jsondoc.InField(err, "compare.expect")
			}
			x.path = p
		}
		f.expect = append(f.expect, x)
	}
	var err error
	f.ignore, err = jsondoc.ParsePaths("compare.ignore", c.Ignore)
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
	return f == nil || k.way != jsondiff.HowValue || f.rule(k.path) != formValue
}

// excuses reports whether the config says that a value is compared by form, or not
// at all, before the monolith was seen to change it.
func (f *forms) excuses(k noiseKey) bool {
	if f == nil || k.way != jsondiff.HowValue {
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
	if f == nil || k.way != jsondiff.HowValue {
		return false
	}
	i, ok := f.index[digest.FNV([]byte(k.path))]
	return ok && f.paths[i].ofNow()
}
