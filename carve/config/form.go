package config

import (
	"slices"

	"whittle"
	"whittle/carve/compare/form"
)

// maxForms bounds the fields whose form is declared.
const maxForms = 64

// forms reads how the values of fields are compared, by JSON path.
func (r *reader) forms(m *object, c *whittle.Comparison) {
	f, ok := m.child("form", "{$.quote_id: uuid, $.expires_at: any}")
	if !ok {
		return
	}
	if len(f.n.entries) > maxForms {
		r.fail(f.n.at, f.path, "has %d entries, and at most %d are read", len(f.n.entries), maxForms)
		return
	}
	for _, e := range f.n.entries {
		at := f.sub(e.key)
		if err := jsonPath(e.key); err != nil {
			r.fail(e.at, at, "%v", err)
			continue
		}
		if slices.Contains(c.Ignore, e.key) {
			r.fail(e.at, at, "is ignored as well: leave it out here or there")
			continue
		}
		name := ""
		if readNode(r, e.value, at, "a form such as uuid", &name, parseForm) {
			c.Forms = append(c.Forms, whittle.FieldForm{Path: e.key, Form: name})
		}
	}
	if len(f.n.entries) > 0 && !c.LearnNoise {
		r.fail(f.n.at, f.path, "has no effect with learn_noise: false, where everything is compared by value")
	}
}

func parseForm(s string) (string, error) { return oneOf(s, form.Names()) }
