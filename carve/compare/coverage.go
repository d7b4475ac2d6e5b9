package compare

import (
	"cmp"
	"fmt"
	"strings"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/internal/units"
)

// coverage is what the verdict stands on; nil where responses are compared by distribution.
func (j *Judge) coverage() *whittle.Coverage {
	if j.mirrored.match == nil {
		return nil
	}
	c := &whittle.Coverage{ByForm: []whittle.FormField{}, NotCompared: []whittle.Uncompared{}}
	j.mirrored.match.cover(c)
	j.mirrored.headers.cover(c)
	j.served.headers.texts.Cover(c)
	if s := j.mirrored; s.Partly > 0 {
		c.Not("what else "+units.Grouped(s.Partly)+" responses say",
			"their status or content type differs as declared: of "+units.Grouped(s.Compared)+" responses nothing else of these is compared")
	}
	for i := range c.ByForm {
		f := &c.ByForm[i]
		f.Path, f.Form = j.show.Text(f.Path), j.show.Text(f.Form)
	}
	for i := range c.NotCompared {
		f := &c.NotCompared[i]
		f.Path, f.Reason = j.show.Text(f.Path), j.show.Text(f.Reason)
	}
	c.Summary = coverageWords(c)
	return c
}

// cover adds which places of bodies are compared by value, by form, and not at all.
func (m *match) cover(c *whittle.Coverage) {
	c.ByValue, c.WholeBody = 1, true
	if m.c.Kind == whittle.JSON {
		c.ByValue, c.AtLeast, c.WholeBody = m.forms.ByValue()
		m.forms.Cover(c, m.n)
		for _, path := range m.c.Ignore {
			c.Not(path, "ignored in the config")
		}
		for _, e := range m.c.Expect {
			if e.Kind == whittle.FoundField && e.From == "" && e.To == "" {
				c.Not(cmp.Or(e.Path, "$"), "declared: "+display.Reason(e))
			}
		}
	}
	if c.WholeBody {
		for _, pattern := range m.c.IgnoreText {
			c.Not(pattern, "text that matches is ignored in the config")
		}
	}
}

// coverageWords is a coverage in one sentence.
func coverageWords(c *whittle.Coverage) string {
	most := ""
	if c.AtLeast {
		most = "at least "
	}
	what := most + units.Counted(c.ByValue, "field")
	if c.WholeBody {
		what = "the whole body"
	}
	if c.Cookies > 0 {
		what += " and the attributes of " + units.Counted(c.Cookies, "cookie")
	}
	s := fmt.Sprintf("%s compared by value, %d by form", what, len(c.ByForm))
	if len(c.ByForm) > 1 { // nobody looks at whether they go together
		s += ", each by itself"
	}
	s = fmt.Sprintf("%s, %d not compared", s, len(c.NotCompared))
	if len(c.NotCompared) == 0 {
		return s
	}
	var names []string
	for _, f := range c.NotCompared {
		names = append(names, f.Path)
	}
	return s + " (" + someOf(names) + ")"
}

// someOf names the first of a list, and how many more there are.
func someOf(names []string) string {
	if more := len(names) - display.MaxSamples; more > 0 {
		names = append(names[:display.MaxSamples:display.MaxSamples], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
