package shape

import (
	"fmt"
	"slices"

	"whittle/contract/infer/pattern"
)

// mapped says why the objects at this place are maps, empty where they are none. A
// map needs names that vary: all of them look like ids, or there are many of them and
// none is in most objects, with values of one kind.
func (s *Shape) mapped() string {
	switch {
	case s.Closed || s.Members == 0:
		return ""
	case s.idKeys():
		return fmt.Sprintf("all %d names in %d objects look like ids", len(s.Keys), s.Objects)
	case s.odd:
		return "a name is one that no field can have"
	case s.manyKeys():
		return fmt.Sprintf("%d names in %d objects, none in a quarter of them", len(s.Keys), s.Objects)
	}
	return ""
}

// idKeys says that all names look like ids, and that there are some.
func (s *Shape) idKeys() bool {
	return len(s.Keys) > 0 && !slices.ContainsFunc(s.Keys, func(k string) bool { return !pattern.IsID(k) })
}

// manyKeys says that names are many and come and go: more than 16, each in less
// than a quarter of the objects, and the values have one kind.
func (s *Shape) manyKeys() bool {
	if len(s.Keys) <= 16 {
		return false
	}
	for _, k := range s.Keys {
		if 4*s.Fields[k].Seen >= s.Objects {
			return false
		}
	}
	return len(s.values().Kinds()) <= 1
}

// onceKeys counts the names that were seen a single time: of the next member,
// Good and Turing's estimate that its name is new is once/members.
func (s *Shape) onceKeys() int {
	n := 0
	for _, k := range s.Keys {
		if s.Fields[k].Seen == 1 {
			n++
		}
	}
	return n
}

// MessageEvidence says why the objects were taken for messages.
func (s *Shape) MessageEvidence() string {
	return fmt.Sprintf("%d names in %d objects, %d of them seen once", len(s.Keys), s.Objects, s.onceKeys())
}

// Settle decides for all objects below whether they are maps. It comes once,
// when all has been seen.
func (s *Shape) Settle() {
	if s.Objects > 0 && s.Any == nil {
		if why := s.mapped(); why != "" {
			s.Why = why
			s.gather()
		}
	}
	if s.Any != nil {
		s.Any.Settle()
	}
	if s.Element != nil {
		s.Element.Settle()
	}
	for _, k := range s.Keys {
		s.Fields[k].Settle()
	}
}
