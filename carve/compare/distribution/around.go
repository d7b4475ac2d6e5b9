package distribution

import (
	"bytes"
	"regexp"
	"strings"

	"whittle"
)

// aPath is a value expression that is a path into the response's JSON.
var aPath = regexp.MustCompile(`^(?:float\(|int\(|)json((?:\.[A-Za-z_][A-Za-z0-9_]*|\[\d+\]|\["[^"\\]*"\])*)\)?$`)

// NumberPath is the place of the number in the response's JSON, as compare.ignore has it. It is
// empty where compare.value is another expression: then no number of a response is compared as it is.
func NumberPath(c *whittle.Comparison) string {
	found := aPath.FindStringSubmatch(strings.TrimSpace(c.Value))
	if found == nil {
		return ""
	}
	return "$" + found[1]
}

// Around is what stands around the number of a response: its JSON, or its text with a sign in the
// place of the first number, or of all of them where compare.value reads others.
func (s *Method) Around(a *whittle.Response) []byte {
	if s.IsJSON(a) {
		return a.Body
	}
	b, out := a.Body, make([]byte, 0, len(a.Body))
	for {
		start, end, ok := numberAt(b)
		if !ok {
			return append(out, b...)
		}
		out = append(append(out, b[:start]...), '#')
		if b = b[end:]; s.read.value == nil {
			return append(out, b...)
		}
	}
}

// IsJSON reports whether a response is read as JSON.
func (s *Method) IsJSON(a *whittle.Response) bool { return s.read.valueReads["json"] || saysJSON(a) }

// SameAround is the quick look at texts that differ in their first number only.
func (s *Method) SameAround(a, b []byte) bool {
	i, endA, _ := numberAt(a)
	j, endB, _ := numberAt(b)
	return s.read.value == nil && bytes.Equal(a[:i], b[:j]) && bytes.Equal(a[endA:], b[endB:])
}

func saysJSON(a *whittle.Response) bool {
	kind, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	return strings.HasSuffix(strings.ToLower(strings.TrimSpace(kind)), "json")
}
