package transcode

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"

	"whittle/internal/jsonscan"
)

// words are what enum values are called in JSON: their own words where the
// route gives any to a value of the enum (names of proto are unique in a
// package and words of JSON are not), else their proto names. An enum with
// words has no others: neither a name nor a number is read for one, and a value
// without a word cannot be written.
type words struct {
	of    map[string]string                           // JSON by proto name
	names map[protoreflect.FullName]map[string]string // proto name by JSON, of each enum with words
	reach map[protoreflect.FullName]bool              // messages that reach an enum, or a list of anything
}

func newWords(of map[string]string, roots ...protoreflect.MessageDescriptor) *words {
	w := &words{of: of, names: map[protoreflect.FullName]map[string]string{}, reach: map[protoreflect.FullName]bool{}}
	// A message may reach itself, so marks are made until none is new; each
	// round marks at least one of finitely many.
	for changed := true; changed; {
		changed = false
		seen := map[protoreflect.FullName]bool{}
		for _, root := range roots {
			changed = w.mark(root, seen) || changed
		}
	}
	return w
}

// mark notes what md reaches and reports whether any of it is new. The messages
// of google.protobuf have a JSON of their own.
func (w *words) mark(md protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) (changed bool) {
	if seen[md.FullName()] || md.FullName().Parent() == "google.protobuf" {
		return false
	}
	seen[md.FullName()] = true
	was := w.reach[md.FullName()]
	for i := range md.Fields().Len() {
		f := valueOf(md.Fields().Get(i))
		switch {
		case isListOfAny(f):
			w.reach[md.FullName()] = true
		case f.Message() != nil:
			changed = w.mark(f.Message(), seen) || changed
			if w.reach[f.Message().FullName()] {
				w.reach[md.FullName()] = true
			}
		case f.Enum() != nil:
			w.note(f.Enum())
			w.reach[md.FullName()] = true
		}
	}
	return changed || w.reach[md.FullName()] != was
}

// note keeps the words of an enum that has some.
func (w *words) note(e protoreflect.EnumDescriptor) {
	for i := range e.Values().Len() {
		name := string(e.Values().Get(i).Name())
		if word, ok := w.of[name]; ok {
			if w.names[e.FullName()] == nil {
				w.names[e.FullName()] = map[string]string{}
			}
			w.names[e.FullName()][word] = name
		}
	}
}

// valueOf gives the field that carries a map's values, and any other itself.
func valueOf(f protoreflect.FieldDescriptor) protoreflect.FieldDescriptor {
	if f.IsMap() {
		return f.MapValue()
	}
	return f
}

// has reports whether an enum has words; a nil w has none.
func (w *words) has(e protoreflect.EnumDescriptor) bool {
	return w != nil && w.names[e.FullName()] != nil
}

// word is what JSON has for a value of an enum, and what a template sees: a
// value without a name is its number.
func (w *words) word(e protoreflect.EnumDescriptor, n protoreflect.EnumNumber) (word string, ok bool) {
	v := e.Values().ByNumber(n)
	if v == nil {
		return strconv.Itoa(int(n)), false
	}
	if !w.has(e) {
		return string(v.Name()), true
	}
	if word, ok := w.of[string(v.Name())]; ok {
		return word, true
	}
	return string(v.Name()), false
}

// unsaid reports whether a field that is not set has no word for that.
func (w *words) unsaid(f protoreflect.FieldDescriptor) bool {
	if f.Enum() == nil || f.IsList() || f.IsMap() {
		return false
	}
	_, ok := w.word(f.Enum(), f.Default().Enum())
	return !ok
}

// wordless says that a candidate gave a value which no word of JSON stands for.
func wordless(f protoreflect.FieldDescriptor, name string) error {
	return fmt.Errorf("%s is %s, which no word of JSON stands for", f.FullName(), name)
}

// asked gives the JSON from which protojson reads what a user wrote for an enum.
func (w *words) asked(f protoreflect.FieldDescriptor, token []byte) ([]byte, error) {
	e := f.Enum()
	if !w.has(e) {
		return known(f, token)
	}
	if string(token) == "null" && f.HasPresence() {
		return token, nil
	}
	text, ok := textOf(token)
	if ok {
		text, ok = w.names[e.FullName()][text]
	}
	if !ok {
		return nil, fmt.Errorf("%.60s is no word of %s", token, e.FullName())
	}
	return strconv.AppendQuote(nil, text), nil
}

// known refuses a name that an enum does not have: protojson, which leaves
// unknown fields out, would leave it out too.
func known(f protoreflect.FieldDescriptor, token []byte) ([]byte, error) {
	if token[0] != '"' {
		return token, nil
	}
	if text, ok := textOf(token); !ok || f.Enum().Values().ByName(protoreflect.Name(text)) == nil {
		return nil, fmt.Errorf("%.60s is no value of %s", token, f.Enum().FullName())
	}
	return token, nil
}

// textOf reads a string of JSON. What stands for no text (bytes that are no
// UTF-8, half of a surrogate pair) is not read as another one.
func textOf(token []byte) (text string, ok bool) {
	if token[0] != '"' {
		return "", false
	}
	inside := token[1 : len(token)-1]
	if bytes.IndexByte(inside, '\\') >= 0 {
		inside, _ = jsonscan.AppendText(nil, inside)
	}
	text = string(inside)
	return text, utf8.ValidString(text) && !strings.ContainsRune(text, utf8.RuneError)
}
