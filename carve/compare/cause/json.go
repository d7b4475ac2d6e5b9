package cause

import (
	"bytes"
	"strings"

	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/jsondoc"
)

// valueCauses are the causes of two JSON values that are not the same; nil stands
// for one that is missing.
func valueCauses(from, to []byte) (keys []string) {
	if len(from) > textMost || len(to) > textMost {
		return nil
	}
	switch {
	case from == nil:
		return append(leftOut(to, "absent null", "absent empty:", "absent zero"), zeroTimes(to)...)
	case to == nil:
		return leftOut(from, "null absent", "empty absent:", "zero absent")
	}
	p, _ := jsondoc.KindOf(from)
	q, _ := jsondoc.KindOf(to)
	p, q = boolKind(p, from), boolKind(q, to)
	switch {
	case p == q && p == jsondoc.Number:
		return numberCauses(string(from), string(to))
	case p == q && p == jsondoc.String:
		a, okA := jsondoc.Unquote(nil, from)
		b, okB := jsondoc.Unquote(nil, to)
		if !okA || !okB {
			return nil
		}
		if len(a) == 0 {
			keys = zeroTimes(to)
		}
		return append(keys, textCauses(string(a), string(b))...)
	case p != q:
		return append(typeCauses(p, q, from, to), nothings(from, to)...)
	}
	return nil
}

func boolKind(k jsondoc.Kind, text []byte) jsondoc.Kind {
	if k == jsondoc.Null && len(text) > 0 && (text[0] == 't' || text[0] == 'f') {
		return jsondoc.Bool
	}
	return k
}

// emptyWord names an empty string, list or object; empty: it is none.
func emptyWord(v []byte) string {
	switch string(bytes.Join(bytes.Fields(v), nil)) {
	case `""`:
		return "string"
	case `[]`:
		return "list"
	case `{}`:
		return "object"
	}
	return ""
}

func isZero(v []byte) bool {
	switch string(v) {
	case "0", "0.0", "0.00", "false":
		return true
	}
	return emptyWord(v) != "" || string(v) == "null"
}

// leftOut are those of a value that only one side has.
func leftOut(v []byte, null, empty, zero string) (keys []string) {
	word := emptyWord(v)
	switch {
	case string(v) == "null":
		keys = append(keys, null)
	case word != "":
		keys = append(keys, empty+word)
	}
	if isZero(v) {
		keys = append(keys, zero)
	}
	return keys
}

// zeroTimes are those of a value that is the zero of a clock.
func zeroTimes(v []byte) []string {
	for _, zero := range []string{"0001-01-01", "1970-01-01", "1900-01-01"} {
		if bytes.HasPrefix(v, []byte(`"`+zero)) {
			return []string{"nothing time:the year " + zero[:4]}
		}
	}
	return nil
}

// nothings are those of null and its like.
func nothings(from, to []byte) (keys []string) {
	x, y := emptyWord(from), emptyWord(to)
	switch {
	case string(from) == "null" && y != "":
		keys = append(keys, "null empty:"+y)
	case string(to) == "null" && x != "":
		keys = append(keys, "empty null:"+x)
	case string(from) == "null" && isZero(to):
		keys = append(keys, "null zero:"+string(to))
	case string(to) == "null" && isZero(from):
		keys = append(keys, "zero null:"+string(from))
	case x == "list" && y == "object":
		keys = append(keys, "list object")
	case x == "object" && y == "list":
		keys = append(keys, "object list")
	}
	if string(from) == "null" {
		switch strings.ToLower(strings.Trim(string(to), `"`)) {
		case "null", "none", "nil", "undefined", "nan", "n/a":
			keys = append(keys, "null word")
		}
		keys = append(keys, zeroTimes(to)...)
	}
	return keys
}

// typeCauses are those of one value in two types.
func typeCauses(p, q jsondoc.Kind, from, to []byte) (keys []string) {
	there := [...]string{"number string", "bool string", "bool number", "json string", "one unwrapped", "number time:"}
	back := [...]string{"string number", "string bool", "number bool", "string json", "one wrapped", "time number:"}
	return append(oneWay(p, q, from, to, there), oneWay(q, p, to, from, back)...)
}

// oneWay are those of one value in the types p and q, by their names in this direction.
func oneWay(p, q jsondoc.Kind, v, w []byte, names [6]string) (keys []string) {
	text := func() string { s, _ := jsondoc.Unquote(nil, w); return string(s) }
	switch {
	case p == jsondoc.Number && q == jsondoc.String && sameFigure(string(v), text()):
		keys = append(keys, names[0])
	case p == jsondoc.Bool && q == jsondoc.String && truth(text()) == string(v):
		keys = append(keys, names[1])
	case p == jsondoc.Bool && q == jsondoc.Number && truth(string(w)) == string(v):
		keys = append(keys, names[2])
	case q == jsondoc.String && (p == jsondoc.Object || p == jsondoc.Array) && jsondiff.Same(v, []byte(text())):
		keys = append(keys, names[3])
	case p == jsondoc.Array && onlyElement(v, w):
		keys = append(keys, names[4])
	}
	if p == jsondoc.Number && q == jsondoc.String {
		if unit := timeNumber(text(), string(v)); unit != "" {
			keys = append(keys, names[5]+unit)
		}
	}
	return keys
}

// sameFigure reports whether two texts are one number.
func sameFigure(a, b string) bool {
	x, _, okX := readRat(a)
	y, _, okY := readRat(b)
	return okX && okY && x.Cmp(y) == 0
}

// truth reads a word for true or false; empty: it is none.
func truth(s string) string {
	switch strings.ToLower(s) {
	case "true", "1", "yes", "y", "on", "t":
		return "true"
	case "false", "0", "no", "n", "off", "f":
		return "false"
	}
	return ""
}

// onlyElement reports whether a list has one element, which is v.
func onlyElement(list, v []byte) bool {
	if len(list) < 2 {
		return false
	}
	inner := bytes.TrimSpace(list[1 : len(list)-1])
	return len(inner) > 0 && (bytes.Equal(inner, v) || jsondiff.Same(inner, v))
}
