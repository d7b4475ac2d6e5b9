package form

import (
	"bytes"
	"cmp"
	"slices"
)

// Of a place in a list, two things are looked at whatever its values are: whether one of
// them comes twice in the same response, and whether they are in order.

// sortedLeast is how many values must stand in a list for it to be in an order or in none.
const sortedLeast = 3

// twiceCategory says whether a value stands twice among those of one response.
func twiceCategory(list []category, values []value) []category {
	n, twice := 0, false
	for i := range values {
		if h := values[i].hash; h != 0 {
			n++
			twice = twice || slices.ContainsFunc(values[:i], func(v value) bool { return v.hash == h })
		}
	}
	if n < 2 {
		return list
	}
	return append(list, either(twice, "each element once", "an element twice"))
}

// sortedCategory says whether the values of one response rise or fall: as numbers, or as
// texts, byte by byte.
func sortedCategory(list []category, values []value) []category {
	if len(values) < sortedLeast {
		return list
	}
	rises, falls := false, false
	for i := 1; i < len(values); i++ {
		c, ok := order(&values[i-1], &values[i])
		if !ok {
			return list
		}
		rises, falls = rises || c < 0, falls || c > 0
	}
	switch {
	case rises && falls:
		return append(list, category{code: 0, word: "in no order"})
	case rises:
		return append(list, category{code: 1, word: "rising"})
	case falls:
		return append(list, category{code: 2, word: "falling"})
	}
	return list
}

// order compares two values of one list; ok is false where they have none.
func order(a, b *value) (c int, ok bool) {
	switch {
	case a.isNumeric() && b.isNumeric():
		return cmp.Compare(a.amount, b.amount), true
	case a.hash == 0 || b.hash == 0 || a.isNumeric() || b.isNumeric() || a.form.class == classBool || b.form.class == classBool:
		return 0, false
	case !a.at.IsZero() && !b.at.IsZero():
		return a.at.Compare(b.at), true
	}
	return bytes.Compare(a.raw, b.raw), true
}

// isNumeric reports whether it is a number, of which amount says how large it is.
func (v *value) isNumeric() bool {
	return v.form.class == classInteger || v.form.class == classDecimal
}
