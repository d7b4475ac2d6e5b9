package openapi

import (
	"slices"

	"whittle/contract"
)

// maxPaths bounds the paths that are listed of a body. Below, what a message
// within itself says again has no end.
const maxPaths = 500

// unset lists how the fields of a body that are not set are written.
func (r *reader) unset(message string, form contract.BodyForm, field string) contract.Unset {
	w := pathWalk{r: r}
	m := r.c.Message(message)
	if m == nil || form != contract.Object && form != contract.Whole {
		return w.u
	}
	for i := range m.Fields {
		f := &m.Fields[i]
		switch {
		case form == contract.Object:
			w.field(message, f, "$"+contract.PathStep(f.JSON), nil)
		case f.Name == field:
			w.field(message, f, "$", nil)
		}
	}
	return w.u
}

type pathWalk struct {
	r *reader
	u contract.Unset
	n int // fields looked at
}

func (w *pathWalk) field(message string, f *contract.Field, path string, inside []string) {
	if w.n++; len(w.u.Nulls)+len(w.u.Omits) >= maxPaths || w.n > 100*maxPaths {
		return
	}
	p := w.r.presence[message][f.JSON]
	list := f.Repeated || f.Map
	switch {
	case f.Type == contract.Value && !list:
	case p.nullable:
		w.u.Nulls = append(w.u.Nulls, path)
	case p.optional && list:
		w.u.Omits = append(w.u.Omits, path)
	}
	if f.Type != contract.MessageType || slices.Contains(inside, f.Ref) {
		return
	}
	switch {
	case f.Repeated:
		path += "[*]"
	case f.Map:
		path += ".*"
	}
	m := w.r.c.Message(f.Ref)
	for i := range m.Fields {
		w.field(f.Ref, &m.Fields[i], path+contract.PathStep(m.Fields[i].JSON), append(inside, f.Ref))
	}
}
