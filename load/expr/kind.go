package expr

import "strconv"

// Kind is what sort of value something is, in JSON, YAML and conditions.
type Kind uint8

// The kinds of values; what is missing is of KindNull too.
const (
	KindNull Kind = iota
	KindBool
	KindNumber
	KindString
	KindList
	KindMap
)

func (k Kind) String() string {
	return [...]string{"nothing", "a boolean", "a number", "a text", "a list", "a mapping"}[k]
}

// FormatNumber writes a number as JSON.stringify would: no exponent where a
// person would not write one.
func FormatNumber(f float64) string {
	if f > -1e15 && f < 1e15 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}
