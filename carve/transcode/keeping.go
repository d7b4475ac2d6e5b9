package transcode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// keeping holds requests to what the message keeps of them: each part is
// written from the message as a candidate writes it who asks the monolith, and
// has to be what came. A nil keeping lets everything pass.
type keeping struct {
	types *dynamicpb.Types
	words *words
	unset *absence                          // of the body
	apart map[protoreflect.FieldNumber]bool // fields of path and query
}

func newKeeping(t *Transcoder) (*keeping, error) {
	if !t.rpc.Lossless {
		return nil, nil
	}
	in := t.in.Descriptor()
	k := &keeping{types: t.types, words: t.words, apart: map[protoreflect.FieldNumber]bool{}}
	var err error
	if k.unset, err = newAbsence(t.rpc.AskedNulls, t.rpc.AskedAbsent, "request", in, t.body); err != nil {
		return nil, err
	}
	for _, w := range t.pattern {
		k.aside(in, w.field)
	}
	for name := range maps.Values(t.rpc.Query) {
		k.aside(in, name)
	}
	return k, nil
}

// aside notes that a field, by its dotted name, is not of the body.
func (k *keeping) aside(md protoreflect.MessageDescriptor, name string) {
	top, _, below := strings.Cut(name, ".")
	if f := fieldByName(md, top); f != nil && !below {
		k.apart[f.Number()] = true
	}
}

func (k *keeping) writer() *jsonWriter {
	return &jsonWriter{types: k.types, words: k.words, asks: true, apart: k.apart}
}

// givens are the fields that path, query, form or a whole body gave, by their names in
// proto, joined by dots; nil: nobody asks.
type givens map[string]bool

func (k *keeping) givens() givens {
	if k == nil {
		return nil
	}
	return givens{}
}

// note notes a field, and reports whether it was given before.
func (g givens) note(name string) (before bool) {
	before = g[name]
	if g != nil {
		g[name] = true
	}
	return before
}

var errLoss = errors.New("the message cannot hold it as it is")

// holdsObject looks at a body that is the message.
func (k *keeping) holdsObject(m protoreflect.Message, body []byte) error {
	if k == nil {
		return nil
	}
	w := k.writer()
	if err := w.message(m, 0, k.unset); err != nil {
		return err
	}
	if !equalJSON(w.b, body) {
		return errLoss
	}
	return nil
}

// holdsValue looks at a body that is one field, as JSON.
func (k *keeping) holdsValue(m protoreflect.Message, f protoreflect.FieldDescriptor, body []byte) error {
	if k == nil {
		return nil
	}
	w := k.writer()
	if !m.Has(f) && (f.HasPresence() || k.unset.isNull()) {
		w.b = append(w.b, "null"...)
	} else if err := w.field(f, m.Get(f), 0, k.unset); err != nil {
		return err
	}
	if !equalJSON(w.b, body) {
		return errLoss
	}
	return nil
}

// holdsText looks at a field that one text has filled, or, a list, several.
func (k *keeping) holdsText(m protoreflect.Message, f protoreflect.FieldDescriptor, texts ...string) error {
	if k == nil {
		return nil
	}
	if !f.IsList() && len(texts) != 1 || f.IsList() && m.Get(f).List().Len() != len(texts) {
		return fmt.Errorf("%d values: %w", len(texts), errLoss)
	}
	for i, text := range texts {
		v := m.Get(f)
		if f.IsList() {
			v = v.List().Get(i)
		}
		if f.Kind() == protoreflect.StringKind {
			if v.String() != text { // it was no UTF-8
				return fmt.Errorf("%.60q is no text: %w", text, errLoss)
			}
			continue
		}
		w := k.writer()
		if err := w.single(f, v, 0, nil); err != nil {
			return err
		}
		if strings.Trim(string(w.b), `"`) != text {
			return fmt.Errorf("%.60q would be %.60q: %w", text, strings.Trim(string(w.b), `"`), errLoss)
		}
	}
	return nil
}

// holdsAll looks for what was not given and would be written as zero. object
// says that the body was the message, so that its fields were looked at.
func (k *keeping) holdsAll(m protoreflect.Message, given givens, object bool) error {
	if k == nil {
		return nil
	}
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		switch {
		case f.HasPresence() || f.IsList() || f.IsMap() || m.Has(f) || k.words.unsaid(f):
		case given[string(f.Name())] || object && !k.apart[f.Number()]:
		default:
			return fmt.Errorf("there is no %s, which would be zero: %w", f.JSONName(), errLoss)
		}
	}
	return nil
}

// equalJSON compares two valid texts by their values, in whatever order members
// come. Numbers are the same where every reader has the same value of them.
func equalJSON(a, b []byte) bool {
	x, errX := decoded(a)
	y, errY := decoded(b)
	return errX == nil && errY == nil && sameValue(x, y)
}

func decoded(b []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

func sameValue(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for name, v := range x {
			if w, ok := y[name]; !ok || !sameValue(v, w) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !sameValue(x[i], y[i]) {
				return false
			}
		}
		return true
	case json.Number:
		y, ok := b.(json.Number)
		return ok && sameNumber(string(x), string(y))
	}
	return a == b
}

// sameNumber takes 1.0 for 1, and two numbers with more digits than a double
// surely tells apart only for the same where they are written the same.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	const surely = 15 // decimal digits, of any double
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y && digitsOf(a) <= surely && digitsOf(b) <= surely
}

// digitsOf counts the significant digits of a number, and zeros at its end with
// them.
func digitsOf(s string) int {
	s, _, _ = strings.Cut(strings.ToLower(s), "e")
	n := 0
	for _, c := range s {
		if c >= '1' && c <= '9' || c == '0' && n > 0 {
			n++
		}
	}
	return n
}
