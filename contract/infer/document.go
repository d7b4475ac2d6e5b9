package infer

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"

	"whittle/contract"
)

// Bounds of a document that is looked into.
const (
	maxDocumentDepth  = 60
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

type kind uint8

const (
	kindNull kind = iota
	kindBool
	kindNumber
	kindText
	kindArray
	kindObject
)

var kindNames = [...]string{"null", "bool", "number", "string", "array", "object"}

// value is a JSON value. Numbers keep their digits.
type value struct {
	kind kind
	// text is a string, a number as it is written, "true" or "false".
	text string
	// items are an array's, or an object's in the order of keys.
	items []value
	keys  []string
}

// member gives an object's member, nil where there is none.
func (v *value) member(key string) *value {
	for i, k := range v.keys {
		if k == key {
			return &v.items[i]
		}
	}
	return nil
}

// parse reads one JSON text. Its errors say why the text is not JSON, or why a
// message cannot carry it.
func parse(text []byte) (*value, error) {
	if !utf8.Valid(text) {
		return nil, errUTF8
	}
	if halfPair(text) {
		return nil, errSurrogate
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	p := parser{d: d}
	v := &value{}
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

func (p *parser) value(v *value, depth int) error {
	t, err := p.d.Token()
	if err != nil {
		return err
	}
	if p.n++; p.n > maxDocumentValues {
		return errMany
	}
	switch t := t.(type) {
	case nil:
		v.kind = kindNull
	case bool:
		v.kind, v.text = kindBool, strconv.FormatBool(t)
	case json.Number:
		v.kind, v.text = kindNumber, string(t)
	case string:
		v.kind, v.text = kindText, t
	case json.Delim:
		if depth >= maxDocumentDepth {
			return errDeep
		}
		if t == '[' {
			return p.array(v, depth+1)
		}
		return p.object(v, depth+1)
	}
	return nil
}

func (p *parser) array(v *value, depth int) error {
	v.kind = kindArray
	for p.d.More() {
		var item value
		if err := p.value(&item, depth); err != nil {
			return err
		}
		v.items = append(v.items, item)
	}
	_, err := p.d.Token()
	return err
}

func (p *parser) object(v *value, depth int) error {
	v.kind = kindObject
	var known map[string]bool
	for p.d.More() {
		t, err := p.d.Token()
		if err != nil {
			return err
		}
		key, _ := t.(string)
		switch {
		case known != nil && known[key], known == nil && v.member(key) != nil:
			return errTwice
		case known != nil:
			known[key] = true
		case len(v.keys) == 16:
			known = make(map[string]bool, 64)
			for _, k := range v.keys {
				known[k] = true
			}
			known[key] = true
		}
		var item value
		if err := p.value(&item, depth); err != nil {
			return err
		}
		v.keys, v.items = append(v.keys, key), append(v.items, item)
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

// same reports whether two values are the same JSON value: numbers by what they
// stand for, objects without regard to order.
func same(a, b *value) bool { return firstDifference(a, b, "$") == "" }

// firstDifference is the path at which two values differ, "" where they are the
// same.
func firstDifference(a, b *value, path string) string {
	if a.kind != b.kind || a.kind == kindArray && len(a.items) != len(b.items) {
		return path
	}
	switch a.kind {
	case kindNumber:
		if a.text != b.text && canonical(a.text) != canonical(b.text) {
			return path
		}
	case kindArray:
		for i := range a.items {
			if d := firstDifference(&a.items[i], &b.items[i], path+"[*]"); d != "" {
				return d
			}
		}
	case kindObject:
		index := make(map[string]int, len(b.keys))
		for i, k := range b.keys {
			index[k] = i
		}
		for i, k := range a.keys {
			j, ok := index[k]
			if !ok {
				return path + step(k)
			}
			if d := firstDifference(&a.items[i], &b.items[j], path+step(k)); d != "" {
				return d
			}
			delete(index, k)
		}
		for _, k := range b.keys {
			if _, more := index[k]; more {
				return path + step(k)
			}
		}
	default:
		if a.text != b.text {
			return path
		}
	}
	return ""
}

// step is a member's step in a JSON path.
func step(key string) string { return contract.PathStep(key) }

func quoted(s string) string {
	b, _ := json.Marshal(s) // a string always can be
	return string(b)
}
