package transcode

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// words are what enum values are called in JSON where that is not their name,
// since names of proto are unique in a package and words of JSON are not.
type words struct {
	of    map[string]string                           // JSON by proto name
	names map[protoreflect.FullName]map[string]string // proto name by JSON, of each enum with words
	reach map[protoreflect.FullName]bool              // messages that reach such an enum
}

// newWords gives nil where nothing has a word of its own.
func newWords(of map[string]string, roots ...protoreflect.MessageDescriptor) *words {
	if len(of) == 0 {
		return nil
	}
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

// mark notes what md reaches and reports whether any of it is new.
func (w *words) mark(md protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) (changed bool) {
	if seen[md.FullName()] {
		return false
	}
	seen[md.FullName()] = true
	was := w.reach[md.FullName()]
	for i := range md.Fields().Len() {
		f := valueOf(md.Fields().Get(i))
		switch {
		case f.Message() != nil:
			changed = w.mark(f.Message(), seen) || changed
			if w.reach[f.Message().FullName()] {
				w.reach[md.FullName()] = true
			}
		case f.Enum() != nil && w.note(f.Enum()):
			w.reach[md.FullName()] = true
		}
	}
	return changed || w.reach[md.FullName()] != was
}

// note reports whether an enum has words.
func (w *words) note(e protoreflect.EnumDescriptor) bool {
	if w.names[e.FullName()] != nil {
		return true
	}
	names := map[string]string{}
	for i := range e.Values().Len() {
		name := string(e.Values().Get(i).Name())
		if word, ok := w.of[name]; ok {
			names[word] = name
		}
	}
	if len(names) == 0 {
		return false
	}
	w.names[e.FullName()] = names
	return true
}

// valueOf gives the field that carries a map's values, and any other itself.
func valueOf(f protoreflect.FieldDescriptor) protoreflect.FieldDescriptor {
	if f.IsMap() {
		return f.MapValue()
	}
	return f
}

// word is what JSON has for an enum's value.
func (w *words) word(name protoreflect.Name) string {
	if w != nil {
		if word, ok := w.of[string(name)]; ok {
			return word
		}
	}
	return string(name)
}

// name is the proto name of a word of e; false: e has words and this is none.
func (w *words) name(e protoreflect.EnumDescriptor, word string) (string, bool) {
	if w == nil || w.names[e.FullName()] == nil {
		return word, true
	}
	name, ok := w.names[e.FullName()][word]
	return name, ok
}

// rewrite puts proto's names for the words into a JSON text of message md, so
// that protojson can read it. A word that nobody knows is an error: protojson
// would leave it out.
func (w *words) rewrite(text []byte, md protoreflect.MessageDescriptor) ([]byte, error) {
	if w == nil || !w.reach[md.FullName()] {
		return text, nil
	}
	if !json.Valid(text) {
		return text, nil // protojson says better what is wrong
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if err := w.object(v, md, 0); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

func (w *words) object(v any, md protoreflect.MessageDescriptor, depth int) error {
	members, ok := v.(map[string]any)
	if !ok || !w.reach[md.FullName()] {
		return nil
	}
	if depth > maxDepth {
		return errTooDeep
	}
	for key, value := range members {
		f := fieldByName(md, key)
		if f == nil {
			continue
		}
		changed, err := w.value(value, f, depth)
		if err != nil {
			return err
		}
		members[key] = changed
	}
	return nil
}

func (w *words) value(v any, f protoreflect.FieldDescriptor, depth int) (any, error) {
	switch {
	case f.IsList():
		items, _ := v.([]any)
		for i := range items {
			changed, err := w.single(items[i], f, depth)
			if err != nil {
				return nil, err
			}
			items[i] = changed
		}
		return v, nil
	case f.IsMap():
		members, _ := v.(map[string]any)
		for k := range members {
			changed, err := w.single(members[k], f.MapValue(), depth)
			if err != nil {
				return nil, err
			}
			members[k] = changed
		}
		return v, nil
	}
	return w.single(v, f, depth)
}

func (w *words) single(v any, f protoreflect.FieldDescriptor, depth int) (any, error) {
	if f.Message() != nil {
		return v, w.object(v, f.Message(), depth+1)
	}
	text, ok := v.(string)
	if f.Enum() == nil || !ok {
		return v, nil
	}
	name, ok := w.name(f.Enum(), text)
	if !ok {
		return nil, fmt.Errorf("%.60q is no value of %s", text, f.Enum().FullName())
	}
	return name, nil
}
