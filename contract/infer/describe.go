package infer

import (
	"cmp"
	"fmt"
	"strings"

	"whittle/contract"
	"whittle/contract/infer/document"
	"whittle/contract/infer/shape"
	"whittle/internal/units"
)

// doc is one sentence for the .proto file.
func (p *planned) doc() string {
	var parts []string
	switch {
	case p.about != "":
		parts = append(parts, p.about)
	case p.shape == nil && p.was != nil:
		return strings.TrimSpace(strings.TrimSuffix(p.was.Doc, notNow) + " " + notNow)
	case p.shape != nil:
		parts = append(parts, says(p.shape, p.typed)...)
	}
	if p.moved {
		parts = append(parts, fmt.Sprintf("Until now it was %s, as number %d", typeName(typed{typ: p.was.Type, repeated: p.was.Repeated, isMap: p.was.Map}), p.was.Number))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ". ") + "."
}

const notNow = "No exchange of the last run had it."

// says lists what is worth a comment, without full stops.
func says(s *shape.Shape, t typed) []string {
	in := cmp.Or(inside(s, t), s)
	var out []string
	if t.typ == contract.Value {
		out = append(out, whyValue(s, t))
	}
	switch {
	case in.Number.N > 0 && len(in.Kinds()) == 1:
		out = append(out, in.Number.Says()...)
	case in.Text.N > 0 && len(in.Kinds()) == 1:
		out = append(out, in.Text.Says()...)
	}
	if t.isMap {
		out = append(out, "A map, for "+s.Why)
	}
	return out
}

// whyValue says what was seen that no narrower type holds.
func whyValue(s *shape.Shape, t typed) string {
	of := s
	what := "values"
	switch {
	case t.repeated && s.Element != nil:
		of, what = s.Element, "elements"
	case t.isMap && s.Any != nil:
		of, what = s.Any, "values of the map"
	case t.repeated:
		return fmt.Sprintf("All %d arrays were empty", s.Arrays)
	}
	var seen []string
	for _, k := range of.Kinds() {
		seen = append(seen, document.KindNames[k])
	}
	if of.Nulls > 0 {
		seen = append(seen, document.KindNames[document.Null])
	}
	switch {
	case of.Closed:
		return fmt.Sprintf("Not looked into: %s %s lie too deep or are too many", units.Grouped(of.Seen), what)
	case len(seen) > 1:
		return fmt.Sprintf("%s %s were %s", units.Grouped(of.Seen), what, strings.Join(seen, ", "))
	case of.Objects > 0 && of.Members == 0:
		return fmt.Sprintf("All %s objects were empty", units.Grouped(of.Objects))
	case len(seen) == 1:
		return fmt.Sprintf("%s %s were all %s, but what it was before, or how it was left out, only a Value tells apart", units.Grouped(of.Seen), what, seen[0])
	}
	return "Never seen with a value"
}

// typeName is a type as the .proto file has it.
func typeName(t typed) string {
	name := string(t.typ)
	if t.child != nil && t.child.name != "" {
		name = t.child.name
	}
	switch {
	case t.isMap:
		return "map<string, " + name + ">"
	case t.repeated:
		return "repeated " + name
	}
	return name
}
