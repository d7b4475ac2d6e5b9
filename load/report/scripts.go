package report

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"whittle/internal/units"
)

// ScriptFailure says that a script of the plan failed at one place, and how often.
type ScriptFailure struct {
	// Element is what the plan calls it, File and Line where it failed. Line is 0 where
	// it is not known.
	Element string `json:"element"`
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Count   int64  `json:"count"`
	// Sample is the text of one of them.
	Sample string `json:"sample"`
}

// maxFailures bounds at how many places failures are counted apart.
const maxFailures = 1000

// AddScriptFailure adds a count to counts, place by place. Where there are too many places
// it is counted with the last.
func AddScriptFailure(to []ScriptFailure, f ScriptFailure) []ScriptFailure {
	i := slices.IndexFunc(to, func(o ScriptFailure) bool { return o.Element == f.Element && o.File == f.File && o.Line == f.Line })
	switch {
	case i >= 0:
		to[i].Count += f.Count
	case len(to) < maxFailures:
		to = append(to, f)
	default:
		to[len(to)-1].Count += f.Count
	}
	return to
}

// ScriptFailures counts how often a plan's scripts have failed, for whoever reports on a
// run. All copies of a plan have the same.
type ScriptFailures struct {
	mu  sync.Mutex
	all []ScriptFailure // guarded by mu
}

// Add counts a failure.
func (s *ScriptFailures) Add(f ScriptFailure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = AddScriptFailure(s.all, f)
}

// Take gives what has been counted since it was taken last. Nil: nothing.
func (s *ScriptFailures) Take() []ScriptFailure {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.all
	s.all = nil
	slices.SortFunc(out, func(a, b ScriptFailure) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Element, b.Element))
	})
	return out
}

const maxScriptLines = 10

// ScriptLines say which scripts failed, a line for each place, the first ten.
func ScriptLines(failures []ScriptFailure) (lines []string) {
	for i, f := range failures {
		if i == maxScriptLines {
			return append(lines, fmt.Sprintf("and at %s more", units.Counted(len(failures)-i, "place")))
		}
		at := f.File
		if f.Line > 0 {
			at += fmt.Sprintf(":%d", f.Line)
		}
		lines = append(lines, fmt.Sprintf("%s (%s) %s, such as: %s", f.Element, at, units.Counted(int(f.Count), "time"), f.Sample))
	}
	return lines
}
