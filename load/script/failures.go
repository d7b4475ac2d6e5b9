package script

import (
	"cmp"
	"slices"
	"sync"
)

// Failure says that a script failed at one place, and how often.
type Failure struct {
	// Element is what the plan calls it, File and Line where it failed. Line is 0 where
	// it is not known.
	Element, File string
	Line          int
	Count         int64
	// Sample is the text of one of them.
	Sample string
}

// maxFailures bounds at how many places failures are counted apart.
const maxFailures = 200

// Failures counts how often a plan's scripts have failed, for whoever reports on a run.
// All copies of a plan have the same.
type Failures struct {
	mu  sync.Mutex
	all []Failure // guarded by mu
}

// Add counts a failure. Where there are too many places it is counted with the last.
func (s *Failures) Add(f Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.all, func(o Failure) bool { return o.Element == f.Element && o.File == f.File && o.Line == f.Line })
	switch {
	case i >= 0:
		s.all[i].Count += f.Count
	case len(s.all) < maxFailures:
		s.all = append(s.all, f)
	default:
		s.all[len(s.all)-1].Count += f.Count
	}
}

// Take gives what has been counted since it was taken last. Nil: nothing.
func (s *Failures) Take() []Failure {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.all
	s.all = nil
	slices.SortFunc(out, func(a, b Failure) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Element, b.Element))
	})
	return out
}
