package jsondiff

import (
	"whittle/carve/compare/jsondoc"
	"whittle/internal/jsonpath"
)

// Spelling is the first place at which two bodies have numbers of one value that are written
// otherwise, as 1 and 1.0 or 0 and -0.0 are. No client of JSON has to tell them apart, and some do.
type Spelling struct{ Path, Monolith, Candidate string }

// spelt takes note of two numbers of one value.
func (j *Differ) spelt(s, t []byte) {
	if j.Spelling == nil || j.Spelling.Path != "" || j.tolerance > 0 || jsonpath.AnyCovers(j.ignore, j.trail) {
		return
	}
	path := string(jsondoc.AppendPattern(nil, j.trail))
	*j.Spelling = Spelling{Path: path, Monolith: j.Show.Value(j.trail, s), Candidate: j.Show.Value(j.trail, t)}
}
