package script

import (
	"cmp"
	"slices"
	"sync"
)

// Failure says that a script of the plan failed at one place, and how often.
type Failure struct {
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

// AddFailure adds a count to counts, place by place. Where there are too many places it is
// counted with the last.
func AddFailure(to []Failure, f Failure) []Failure {
	i := slices.IndexFunc(to, func(o Failure) bool { return o.Element == f.Element && o.File == f.File && o.Line == f.Line })
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

// Failures counts how often a plan's scripts have failed, for whoever reports on a run.
// All copies of a plan have the same.
type Failures struct {
	mu  sync.Mutex
	all []Failure // guarded by mu
}

// Add counts a failure.
func (s *Failures) Add(f Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = AddFailure(s.all, f)
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
