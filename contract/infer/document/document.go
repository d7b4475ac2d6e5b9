// Package document parses JSON into a tree that keeps what encoding/json loses:
// the order of members, and each number as it was written. Bodies that no
// contract can carry fail to parse.
package document

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"whittle/contract"
	"whittle/internal/jsonscan"
)

// Bounds of a document that is looked into.
const (
	// MaxDepth is how deep a document may nest: as a google.protobuf.Value each level is
	// three of protobuf's, and its readers stop at 100.
	MaxDepth          = 30
	maxDocumentValues = 1 << 18
)

// A document that protobuf's messages cannot say again.
var (
	errTwice     = errors.New("a member of an object is there twice")
	errSurrogate = errors.New("a string has half of a surrogate pair")
	errUTF8      = errors.New("it is not UTF-8")
	errEmpty     = errors.New("it is empty")
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
	// Text is a string, a number as it is written, "true" or "false".
	Text string
	// Items are an array's, or an object's in the order of Keys.
	Items []Value
	Keys  []string
}

// Member gives an object's member, nil where there is none.
func (v *Value) Member(key string) *Value {
	if i := slices.Index(v.Keys, key); i >= 0 {
		return &v.Items[i]
	}
	return nil
}

// Parse reads one JSON text. Its errors say why the text is not JSON, or why a
// message cannot carry it.
func Parse(text []byte) (*Value, error) {
	if !utf8.Valid(text) {
		return nil, errUTF8
	}
	if jsonscan.Space(text, 0) == len(text) {
		return nil, errEmpty
	}
	var p parser
	p.s.Reset(text, 0, MaxDepth)
	v := &Value{}
	if err := p.value(v, p.s.Next()); err != nil {
		return nil, err
	}
	if err := p.s.Finish(); err != nil {
		return nil, errors.New("something follows the JSON text")
	}
	return v, nil
}

type parser struct {
	s jsonscan.Scanner
	n int
}

// value reads the value that was begun.
func (p *parser) value(v *Value, kind jsonscan.Kind) (err error) {
	if p.n++; p.n > maxDocumentValues {
		return errMany
	}
	switch kind {
	case jsonscan.Null:
		v.Kind = Null
	case jsonscan.Bool:
		v.Kind, v.Text = Bool, string(p.s.Bytes())
	case jsonscan.Number:
		v.Kind, v.Text = Number, string(p.s.Bytes())
	case jsonscan.String:
		v.Kind = Text
		v.Text, err = p.text()
	case jsonscan.Array:
		v.Kind = Array
		return p.array(v)
	case jsonscan.Object:
		v.Kind = Object
		return p.object(v)
	default:
		return p.wrong()
	}
	return err
}

// wrong is why the text cannot be read on.
func (p *parser) wrong() error {
	err := p.s.Err()
	if errors.Is(err, jsonscan.TooDeep) {
		return errDeep
	}
	return err
}

// text is what the string or name in hand stands for. Half of a surrogate pair
// stands for nothing.
func (p *parser) text() (string, error) {
	if !p.s.Escaped() {
		return string(p.s.Inside()), nil
	}
	text, whole := jsonscan.AppendText(nil, p.s.Inside())
	if !whole {
		return "", errSurrogate
	}
	return string(text), nil
}

func (p *parser) array(v *Value) error {
	for {
		kind := p.s.Next()
		if kind == jsonscan.End {
			return nil
		}
		var item Value
		if err := p.value(&item, kind); err != nil {
			return err
		}
		v.Items = append(v.Items, item)
	}
}

func (p *parser) object(v *Value) error {
	var known map[string]bool
	for p.s.Next() == jsonscan.Key {
		key, err := p.text()
		switch {
		case err != nil:
			return err
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
		if err := p.value(&item, p.s.Next()); err != nil {
			return err
		}
		v.Keys, v.Items = append(v.Keys, key), append(v.Items, item)
	}
	return p.wrong()
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
