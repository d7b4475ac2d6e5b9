package facebox

import (
	"cmp"
	"slices"

	pigo "github.com/esimov/pigo/core"
)

const (
	// overlap, of what two windows cover together, from which they are one face.
	overlap = 0.2
	// maxWindows that may be faces are clustered, in time that grows with their
	// square; a large face has some fifty.
	maxWindows = 2000
)

// cluster makes one face of all the windows that overlap the best of them: its
// place is their mean by score, its score their sum. pigo's own way can give a
// face to windows at both of its sides. The surest come first.
func cluster(windows []pigo.Detection) []pigo.Detection {
	best := func(a, b pigo.Detection) int { return cmp.Compare(b.Q, a.Q) }
	rest := slices.Clone(windows)
	slices.SortStableFunc(rest, best)
	rest = rest[:min(len(rest), maxWindows)]
	var faces []pigo.Detection
	for len(rest) > 0 {
		var col, row, side, score float64
		rest = slices.DeleteFunc(rest, func(first pigo.Detection) func(pigo.Detection) bool {
			return func(w pigo.Detection) bool {
				if shared(first, w) <= overlap {
					return false
				}
				q := float64(w.Q)
				col, row, side, score = col+q*float64(w.Col), row+q*float64(w.Row), side+q*float64(w.Scale), score+q
				return true
			}
		}(rest[0]))
		faces = append(faces, pigo.Detection{
			Col: int(col/score + 0.5), Row: int(row/score + 0.5), Scale: int(side/score + 0.5), Q: float32(score),
		})
	}
	slices.SortStableFunc(faces, best)
	return apart(faces)
}

// apart leaves out faces that have their middle within a surer one, or one's
// middle within them: windows that were just too far from its best.
func apart(faces []pigo.Detection) []pigo.Detection {
	kept := faces[:0:0]
	for _, f := range faces {
		if !slices.ContainsFunc(kept, func(k pigo.Detection) bool { return holds(k, f) || holds(f, k) }) {
			kept = append(kept, f)
		}
	}
	return kept
}

// holds reports whether b's middle is in a.
func holds(a, b pigo.Detection) bool {
	far := max(a.Col-b.Col, b.Col-a.Col, a.Row-b.Row, b.Row-a.Row)
	return 2*far < a.Scale
}

// shared is the part that two windows have in common, of what they cover.
func shared(a, b pigo.Detection) float64 {
	along := func(x, y int) int {
		return min(x+a.Scale/2, y+b.Scale/2) - max(x-a.Scale/2, y-b.Scale/2)
	}
	both := float64(max(along(a.Col, b.Col), 0)) * float64(max(along(a.Row, b.Row), 0))
	return both / (float64(a.Scale*a.Scale+b.Scale*b.Scale) - both)
}
