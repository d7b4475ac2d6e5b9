package jsondiff

import (
	"maps"
	"slices"

	"whittle/carve/compare/jsondoc"
	"whittle/internal/jsonpath"
)

// Spelling is where two bodies have numbers of one value that are written otherwise, as 1 and
// 1.0 or 0 and -0.0 are. No client of JSON has to tell them apart, and some do.
type Spelling struct{ at map[string][2]string }

// Places are the patterns, sorted.
func (s *Spelling) Places() []string { return slices.Sorted(maps.Keys(s.at)) }

// Example is how both sides write the first number at a place.
func (s *Spelling) Example(path string) (monolith, candidate string) {
	return s.at[path][0], s.at[path][1]
}

// spelt takes note of two numbers of one value.
func (j *Differ) spelt(s, t []byte) {
	if j.Spelling == nil || j.tolerance > 0 || jsonpath.AnyCovers(j.ignore, j.trail) {
		return
	}
	j.pattern = jsondoc.AppendPattern(j.pattern[:0], j.trail)
	if _, known := j.Spelling.at[string(j.pattern)]; known || len(j.Spelling.at) >= MaxPerBody {
		return
	}
	if j.Spelling.at == nil {
		j.Spelling.at = map[string][2]string{}
	}
	j.Spelling.at[string(j.pattern)] = [2]string{j.Show.Value(j.trail, s), j.Show.Value(j.trail, t)}
}
