package infer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"whittle/contract"
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
		parts = append(parts, p.shape.says(p.typed)...)
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
func (s *shape) says(t typed) []string {
	in := s
	if t.repeated && s.element != nil {
		in = s.element
	}
	if t.isMap && s.any != nil {
		in = s.any
	}
	var out []string
	if t.typ == contract.Value {
		out = append(out, s.whyValue(t))
	}
	switch {
	case in.number.n > 0 && len(in.kinds()) == 1:
		out = append(out, in.number.says()...)
	case in.text.n > 0 && len(in.kinds()) == 1:
		out = append(out, in.text.says()...)
	}
	if t.isMap {
		out = append(out, "A map, for "+s.why)
	}
	return out
}

// whyValue says what was seen that no narrower type holds.
func (s *shape) whyValue(t typed) string {
	of := s
	what := "values"
	switch {
	case t.repeated && s.element != nil:
		of, what = s.element, "elements"
	case t.isMap && s.any != nil:
		of, what = s.any, "values of the map"
	case t.repeated:
		return fmt.Sprintf("All %d arrays were empty", s.arrays)
	}
	var seen []string
	for _, k := range of.kinds() {
		seen = append(seen, kindNames[k])
	}
	if of.nulls > 0 {
		seen = append(seen, kindNames[kindNull])
	}
	switch {
	case of.closed:
		return fmt.Sprintf("Not looked into: %s %s lie too deep or are too many", group(of.seen), what)
	case len(seen) > 1:
		return fmt.Sprintf("%s %s were %s", group(of.seen), what, strings.Join(seen, ", "))
	case of.objects > 0 && of.members == 0:
		return fmt.Sprintf("All %s objects were empty", group(of.objects))
	case len(seen) == 1:
		return fmt.Sprintf("%s %s were all %s, but what it was before, or how it was left out, only a Value tells apart", group(of.seen), what, seen[0])
	}
	return "Never seen with a value"
}

func (s *numbers) says() []string {
	var out []string
	switch {
	case s.fractions == 0 && s.wide == 0 && s.ints > 0:
		high := strconv.FormatUint(s.high, 10)
		if s.high == 0 && s.negative {
			high = strconv.FormatFloat(s.max, 'f', -1, 64)
		}
		low := strconv.FormatInt(s.low, 10)
		if s.low == 1<<63-1 {
			low = high
		}
		out = append(out, "Seen from "+low+" to "+high)
	default:
		out = append(out, fmt.Sprintf("Seen from %.17g to %.17g, with at most %d digits after the point", s.min, s.max, s.places))
	}
	if s.epochs == s.n && s.fractions == 0 {
		out = append(out, "Looks like a Unix time")
	}
	if s.high > exactly || s.negative && s.low < -exactly {
		out = append(out, "Beyond 2^53, where a client that reads doubles loses digits")
	}
	return out
}

func (s *texts) says() []string {
	switch f := s.format(); {
	case f == formatRedacted:
		return []string{"It was redacted when it was recorded"}
	case f < formats && (s.n > 1 || f < formatInteger):
		return []string{"In all " + group(s.n) + " cases " + formatNames[f]}
	case s.fewWords() && len(s.words) == 1:
		return []string{"Always " + slices.Collect(maps.Keys(s.words))[0] + " in " + group(s.n) + " cases"}
	case s.fewWords():
		return []string{"One of " + strings.Join(slices.Sorted(maps.Keys(s.words)), ", ") + " in " + group(s.n) + " cases"}
	}
	return nil
}

// fewWords says that the strings look like a set of words: at least 20 of them,
// each word seen five times in the mean, none only once.
func (s *texts) fewWords() bool {
	return !s.many && s.n >= 20 && len(s.words) > 0 && len(s.words) <= mostWords && s.n >= 5*len(s.words) && s.once() == 0
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

// group writes a count with its thousands apart.
func group(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
