package infer

import (
	"fmt"
	"strings"
)

// object is what an object at a place is taken for.
type object uint8

const (
	asMessage object = iota
	asMap
	asValue // nothing can be said
)

// object decides what the objects at this place are. A map needs names that
// vary: all of them look like ids, or there are many of them and none is in
// most objects, with values of one kind.
func (s *shape) object() object {
	switch {
	case s.closed || s.members == 0:
		return asValue
	case s.any != nil:
		return asMap
	case s.idKeys() || s.manyKeys():
		return asMap
	case s.odd:
		return asMap
	}
	return asMessage
}

// idKeys says that all names look like ids, and that there are several.
func (s *shape) idKeys() bool {
	if len(s.keys) < 2 {
		return len(s.keys) == 1 && isID(s.keys[0])
	}
	for _, k := range s.keys {
		if !isID(k) {
			return false
		}
	}
	return true
}

// manyKeys says that names are many and come and go: more than 16, each in less
// than a quarter of the objects, and the values have one kind.
func (s *shape) manyKeys() bool {
	if len(s.keys) <= 16 {
		return false
	}
	for _, k := range s.keys {
		if 4*s.fields[k].seen >= s.objects {
			return false
		}
	}
	return len(s.values().kinds()) <= 1
}

// onceKeys counts the names that were seen a single time: of the next member,
// Good and Turing's estimate that its name is new is once/members.
func (s *shape) onceKeys() int {
	n := 0
	for _, k := range s.keys {
		if s.fields[k].seen == 1 {
			n++
		}
	}
	return n
}

// objectEvidence says why an object was taken for what it was.
func (s *shape) objectEvidence(o object) string {
	switch {
	case o == asMap && s.any != nil:
		return fmt.Sprintf("more than %d names in %d objects", maxKeys, s.objects)
	case o == asMap && s.idKeys():
		return fmt.Sprintf("all %d names in %d objects look like ids", len(s.keys), s.objects)
	case o == asMap && s.odd:
		return "a name is one that no field can have"
	case o == asMap:
		return fmt.Sprintf("%d names in %d objects, none in a quarter of them", len(s.keys), s.objects)
	}
	return fmt.Sprintf("%d names in %d objects, %d of them seen once", len(s.keys), s.objects, s.onceKeys())
}

// isID reports whether a text looks made rather than chosen: digits, a UUID,
// hexadecimal with digits, a date, a word with a number ("order-1041"), or
// letters and digits in a long mix.
func isID(t string) bool {
	switch {
	case t == "" || len(t) > 128:
		return false
	case isInteger(t), isUUID(t), isDate(t), isTime(t), isEmail(t):
		return true
	}
	digits, letters, hex, other := 0, 0, 0, 0
	for i := range len(t) {
		c := t[i]
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			letters++
			if isHex(c) {
				hex++
			}
		case c == '-' || c == '_':
		default:
			other++
		}
	}
	switch {
	case other > 0 || digits == 0:
		return false
	case letters == hex && digits+letters >= 8 && digits+letters == len(t):
		return true
	case digits >= 3 && len(t) >= 12:
		return true
	}
	i := strings.LastIndexAny(t, "-_")
	return i > 0 && len(t)-i > 2 && isDigits(t[i+1:]) && !strings.ContainsAny(t[:i], "0123456789")
}
