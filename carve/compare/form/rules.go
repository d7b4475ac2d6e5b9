package form

import (
	"slices"
	"strings"

	"whittle"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/jsondoc"
	"whittle/carve/compare/noise"
	"whittle/internal/jsonpath"
)

// formRule is a declared form.
type formRule struct {
	path jsonpath.Path
	form string
}

// New compiles the rules of a comparison.
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

// rule is the declared form of a pattern; empty: none.
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

// Teaches reports whether what the monolith changes by itself may be learned as
// noise: not where the config has it compared by value.
func (f *Forms) Teaches(k noise.Key) bool {
	return k.Way != jsondiff.HowValue || f.rule(k.Path) != formValue
}

// Excuses reports whether the config says that a value is compared by form, or not
// at all, before the monolith was seen to change it.
func (f *Forms) Excuses(k noise.Key) bool {
	r := f.rule(k.Path)
	return k.Way == jsondiff.HowValue && r != "" && r != formValue
}

// Replaces reports whether comparing by form takes the place of comparing by value:
// where the config says so, and at times that are made anew, which two clocks a
// second apart write otherwise though the monolith's own second response may not.
func (f *Forms) Replaces(k noise.Key) bool {
	i, ok := f.index[k.Path]
	return f.Excuses(k) || k.Way == jsondiff.HowValue && ok && f.paths[i].ofNow()
}
