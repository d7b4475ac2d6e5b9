package contract

import (
	"slices"
	"strings"
)

// NewEnum makes an enum without words: its only value is the unspecified one,
// which no text in JSON stands for. taken says which names the contract has;
// values share them with messages and enums.
func NewEnum(name string, taken func(string) bool) Enum {
	e := Enum{Name: name}
	e.value("UNSPECIFIED", "", taken)
	return e
}

// Add gives a word a value, with the number after the largest. A word that the
// enum has keeps its own.
func (e *Enum) Add(word string, taken func(string) bool) {
	if word != "" && e.Value(word) == nil {
		e.value(strings.ToUpper(FieldName(word)), word, taken)
	}
}

// value adds one. Compilers refuse two names that differ only in case and
// underscores.
func (e *Enum) value(name, word string, taken func(string) bool) {
	plain := func(s string) string { return strings.ToUpper(strings.ReplaceAll(s, "_", "")) }
	next := int32(0)
	for _, v := range e.Values {
		next = max(next, v.Number+1)
	}
	name = Unique(strings.ToUpper(FieldName(e.Name))+"_"+name, "_", func(s string) bool {
		return taken(s) || slices.ContainsFunc(e.Values, func(v EnumValue) bool { return plain(v.Name) == plain(s) })
	})
	e.Values = append(e.Values, EnumValue{Name: name, JSON: word, Number: next})
}

// Value is the one that a text in JSON stands for, nil where there is none.
func (e *Enum) Value(word string) *EnumValue {
	return find(e.Values, func(v *EnumValue) bool { return v.JSON == word && word != "" })
}

// Words are the texts in JSON, in the order of the values.
func (e *Enum) Words() []string {
	var out []string
	for _, v := range e.Values {
		if v.JSON != "" {
			out = append(out, v.JSON)
		}
	}
	return out
}

// Enum gives an enum by its name, nil where there is none.
func (c *Contract) Enum(name string) *Enum {
	return find(c.Enums, func(e *Enum) bool { return e.Name == name })
}
