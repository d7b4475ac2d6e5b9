package jsondiff

import "strings"

// The ways to differ at a place. A difference of type is HowType with both
// types in alphabetical order.
const (
	HowValue    = "value"
	HowMissing  = "missing"
	HowExtra    = "extra"
	HowType     = "type"
	HowLength   = "length"
	HowOrder    = "order"
	HowSyntax   = "syntax"
	HowLimit    = "limit"
	HowMore     = "more"
	HowExpected = "expected"
	WayPresence = "presence"
)

// MaxPerBody bounds the differences that are listed of one pair of bodies;
// ManyPaths is the path of what stands for further ones.
const (
	MaxPerBody = 64
	ManyPaths  = "$..*"
)

// Way is the class of noise that explains a way to differ: a value that
// changes explains no missing field and no other type.
func Way(how string) string {
	switch how {
	case HowMissing, HowExtra:
		return WayPresence
	}
	return how
}

// TypesOf splits "type null/string".
func TypesOf(how string) (string, bool) { return strings.CutPrefix(how, HowType+" ") }
