// Package document parses JSON into a tree that keeps what encoding/json loses:
// the order of members, and each number as it was written. Bodies that no
// contract can carry fail to parse.
package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"whittle/contract"
)

// Bounds of a document that is looked into.
const (
	// MaxDepth is how deep a document may nest.
	MaxDepth          = 60
	maxDocumentValues = 1 << 18
)

// A document that protobuf's messages cannot say again.
var (
	errTwice     = errors.New("a member of an object is there twice")
	errSurrogate = errors.New("a string has half of a surrogate pair")
	errUTF8      = errors.New("it is not UTF-8")
	errDeep      = errors.New("it is nested too deeply")
	errMany      = errors.New("it has too many values")
)

// Kind is what a value is in JSON.
type Kind uint8

// The kinds. Numbers and texts keep what was written.
const (
	Null Kind = iota
	Bool
	Number
	Text
	Array
	Object
)

// KindNames are the kinds in words.
var KindNames = [...]string{"null", "bool", "number", "string", "array", "object"}

// Value is a JSON value. Numbers keep their digits.
type Value struct {
	Kind Kind
	// text is a string, a number as it is written, "true" or "false".
	Text string
	// items are an array's, or an object's in the order of keys.
	Items []Value
	Keys  []string
}

// Member gives an object's member, nil where there is none.
func (v *Value) Member(key string) *Value {
	for i, k := range v.Keys {
		if k == key {
			return &v.Items[i]
		}
	}
	return nil
}

// Parse reads one JSON text. Its errors say why the text is not JSON, or why a
// message cannot carry it.
func Parse(text []byte) (*Value, error) {
	if !utf8.Valid(text) {
		return nil, errUTF8
	}
	if halfPair(text) {
		return nil, errSurrogate
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	p := parser{d: d}
	v := &Value{}
	if err := p.value(v, 0); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON text")
	}
	return v, nil
}

type parser struct {
	d *json.Decoder
	n int
}

func (p *parser) value(v *Value, depth int) error {
	t, err := p.d.Token()
	if err != nil {
		return err
	}
	if p.n++; p.n > maxDocumentValues {
		return errMany
	}
	switch t := t.(type) {
	case nil:
		v.Kind = Null
	case bool:
		v.Kind, v.Text = Bool, strconv.FormatBool(t)
	case json.Number:
		v.Kind, v.Text = Number, string(t)
	case string:
		v.Kind, v.Text = Text, t
	case json.Delim:
		if depth >= MaxDepth {
			return errDeep
		}
		if t == '[' {
			return p.array(v, depth+1)
		}
		return p.object(v, depth+1)
	}
	return nil
}

func (p *parser) array(v *Value, depth int) error {
	v.Kind = Array
	for p.d.More() {
		var item Value
		if err := p.value(&item, depth); err != nil {
			return err
		}
		v.Items = append(v.Items, item)
	}
	_, err := p.d.Token()
	return err
}

func (p *parser) object(v *Value, depth int) error {
	v.Kind = Object
	var known map[string]bool
	for p.d.More() {
		t, err := p.d.Token()
		if err != nil {
			return err
		}
		key, _ := t.(string)
		switch {
		case known != nil && known[key], known == nil && v.Member(key) != nil:
			return errTwice
		case known != nil:
			known[key] = true
		case len(v.Keys) == 16:
			known = make(map[string]bool, 64)
			for _, k := range v.Keys {
				known[k] = true
			}
			known[key] = true
		}
		var item Value
		if err := p.value(&item, depth); err != nil {
			return err
		}
		v.Keys, v.Items = append(v.Keys, key), append(v.Items, item)
	}
	_, err := p.d.Token()
	return err
}

// halfPair reports an escaped surrogate without its other half: the decoder
// would put U+FFFD in its place without a word.
func halfPair(text []byte) bool {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 || i+1 >= len(text) {
			return false
		}
		text = text[i+1:]
		r, ok := escaped(text)
		if !ok || r < 0xD800 || r > 0xDFFF {
			text = text[1:]
			continue
		}
		if r >= 0xDC00 || len(text) < 6 || text[5] != '\\' {
			return true
		}
		if low, ok := escaped(text[6:]); !ok || low < 0xDC00 || low > 0xDFFF {
			return true
		}
		text = text[11:]
	}
}

// escaped reads "uXXXX".
func escaped(b []byte) (rune, bool) {
	if len(b) < 5 || b[0] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[1:5]), 16, 32)
	return rune(n), err == nil
}

// Same reports whether two values are the same JSON value: numbers by what they
// stand for, objects without regard to order.
func Same(a, b *Value) bool { return FirstDifference(a, b, "$") == "" }

// FirstDifference is the path at which two values differ, "" where they are the
// same.
func FirstDifference(a, b *Value, path string) string {
	if a.Kind != b.Kind || a.Kind == Array && len(a.Items) != len(b.Items) {
		return path
	}
	switch a.Kind {
	case Number:
		if a.Text != b.Text && Canonical(a.Text) != Canonical(b.Text) {
			return path
		}
	case Array:
		for i := range a.Items {
			if d := FirstDifference(&a.Items[i], &b.Items[i], path+"[*]"); d != "" {
				return d
			}
		}
	case Object:
		index := make(map[string]int, len(b.Keys))
		for i, k := range b.Keys {
			index[k] = i
		}
		for i, k := range a.Keys {
			j, ok := index[k]
			if !ok {
				return path + contract.PathStep(k)
			}
			if d := FirstDifference(&a.Items[i], &b.Items[j], path+contract.PathStep(k)); d != "" {
				return d
			}
			delete(index, k)
		}
		for _, k := range b.Keys {
			if _, more := index[k]; more {
				return path + contract.PathStep(k)
			}
		}
	default:
		if a.Text != b.Text {
			return path
		}
	}
	return ""
}

// Quote writes a text as a string of JSON.
func Quote(s string) string {
	b, _ := json.Marshal(s) // a string always can be
	return string(b)
}

// Canonical gives numbers that stand for the same value the same text: sign,
// digits without zeros at either end, the decimal exponent. An exponent of more
// than nine digits is taken for a value of its own.
func Canonical(number string) string {
	sign, rest := "", number
	if r, ok := strings.CutPrefix(rest, "-"); ok {
		sign, rest = "-", r
	}
	exp := 0
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		e := rest[i+1:]
		if len(e) > 10 {
			return number
		}
		n, err := strconv.Atoi(strings.TrimPrefix(e, "+"))
		if err != nil {
			return number
		}
		exp, rest = n, rest[:i]
	}
	whole, fraction, _ := strings.Cut(rest, ".")
	digits := whole + fraction
	exp += len(whole)
	trimmed := strings.TrimLeft(digits, "0")
	exp -= len(digits) - len(trimmed)
	digits = strings.TrimRight(trimmed, "0")
	if digits == "" {
		return "0"
	}
	return sign + digits + "e" + strconv.Itoa(exp)
}

// Remove takes a member out of an object.
func (v *Value) Remove(key string) {
	if i := slices.Index(v.Keys, key); i >= 0 {
		v.Keys, v.Items = slices.Delete(v.Keys, i, i+1), slices.Delete(v.Items, i, i+1)
	}
}
