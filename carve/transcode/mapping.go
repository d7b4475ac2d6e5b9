package transcode

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"

	"whittle"
	"whittle/internal/httpfield"
)

// mapping holds what the route says of fields against the contract.
func (t *Transcoder) mapping() error {
	in, out := t.in.Descriptor(), t.out.Descriptor()
	t.words = newWords(t.rpc.Words, in, out)
	for _, names := range []struct {
		of map[string]string
		at string
	}{{t.rpc.Query, "query"}, {t.rpc.Path, "path"}, {t.rpc.Form, "form"}} {
		for name, field := range names.of {
			if f := dotted(in, field); f == nil || f.IsMap() || f.Message() != nil && !f.IsList() && !readsText(f.Message()) {
				return whittle.Errorf(whittle.Invalid, "%s has no field %q that a text can fill", in.FullName(), field).
					WithField("candidate.request." + names.at + "." + name)
			}
		}
	}
	var err error
	if t.body, err = whole(in, t.rpc.Body, "candidate.request.body"); err != nil {
		return err
	}
	if t.response, err = whole(out, t.rpc.Response, "candidate.response.body"); err != nil {
		return err
	}
	if t.unset, err = newAbsence(t.rpc.Nulls, t.rpc.Absent, "response", out, t.response); err != nil {
		return err
	}
	switch t.rpc.Content {
	case whittle.BodyJSON, whittle.BodyForm, whittle.BodyIgnored:
	default:
		return whittle.Errorf(whittle.Invalid, "unknown content %q of a body", t.rpc.Content).WithField("candidate.request.content")
	}
	return nil
}

func whole(md protoreflect.MessageDescriptor, name, at string) (protoreflect.FieldDescriptor, error) {
	if name == "" {
		return nil, nil
	}
	f := fieldByName(md, name)
	if f == nil {
		return nil, whittle.Errorf(whittle.Invalid, "%s has no field %q", md.FullName(), name).WithField(at)
	}
	return f, nil
}

// dotted finds a field by names that are joined by dots.
func dotted(md protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	var f protoreflect.FieldDescriptor
	for part := range strings.SplitSeq(name, ".") {
		if f != nil {
			if md = f.Message(); md == nil || f.IsList() || f.IsMap() {
				return nil
			}
		}
		if f = fieldByName(md, part); f == nil {
			return nil
		}
	}
	return f
}

// readsText reports whether a message is one of those that JSON has as a
// string, a number or a bool.
func readsText(md protoreflect.MessageDescriptor) bool {
	switch name, ok := strings.CutPrefix(string(md.FullName()), "google.protobuf."); name {
	case "Struct", "ListValue", "Any", "Empty":
		return false
	default:
		return ok
	}
}

// encoding is how a body is compressed; "": not at all.
func encoding(r *whittle.Request) string {
	if e := r.Header.Get("Content-Encoding"); !strings.EqualFold(e, "identity") {
		return e
	}
	return ""
}

// fillBody reads a body that is not empty.
func (t *Transcoder) fillBody(m protoreflect.Message, r *whittle.Request, given givens) error {
	contentType := r.Header.Get("Content-Type")
	if e := encoding(r); e != "" {
		return fmt.Errorf("the body is encoded with %.60q", e)
	}
	switch {
	case t.rpc.Content == whittle.BodyForm:
		if !httpfield.IsMedia(contentType, "application/x-www-form-urlencoded") {
			return fmt.Errorf("the body is declared as %.60q and not as a form", contentType)
		}
		return t.fillValues(m, "form", string(r.Body), t.rpc.Form, true, given)
	case t.body != nil:
		given.note(string(t.body.Name()))
		return t.fillWhole(m, r.Body, contentType)
	case !isJSON(contentType):
		return fmt.Errorf("the body is declared as %.60q and not as JSON", contentType)
	}
	if err := t.readJSON(r.Body, m); err != nil {
		return err
	}
	return t.keeps.holdsObject(m, r.Body)
}

// fillValues sets the fields of a query or form, by the names that the route gives them.
// all: names that the route does not know are those of fields, and else none of the
// contract. Where two names fill one field the last one holds, in their order.
func (t *Transcoder) fillValues(m protoreflect.Message, what, text string, names map[string]string, all bool, given givens) error {
	values, err := url.ParseQuery(text)
	if err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		field, named := names[name]
		switch {
		case named:
		case all:
			field = name
		case t.rpc.Strict:
			return fmt.Errorf("%s parameter %.60q is not of the contract", what, name)
		default:
			continue
		}
		if err := t.set(m, field, values[name], given); err != nil {
			return fmt.Errorf("%s parameter %.60q: %w", what, name, err)
		}
	}
	return nil
}

// fillWhole sets the one field that the body is: JSON of it, or, where it is a
// scalar, its text.
func (t *Transcoder) fillWhole(m protoreflect.Message, body []byte, contentType string) error {
	f := t.body
	doc := append(appendString([]byte{'{'}, f.JSONName()), ':')
	switch scalar := !f.IsList() && !f.IsMap() && f.Message() == nil; {
	case isJSON(contentType):
		// What follows a first value would be read as further fields.
		if !json.Valid(body) {
			return errors.New("the body is not JSON")
		}
		doc = append(doc, body...)
	case !scalar:
		return fmt.Errorf("the body is declared as %.60q and not as JSON", contentType)
	case f.Kind() == protoreflect.BytesKind:
		doc = append(base64.StdEncoding.AppendEncode(append(doc, '"'), body), '"')
	case !utf8.Valid(body):
		return errors.New("the body is not UTF-8")
	default:
		doc = t.appendText(doc, f, string(body))
	}
	if err := t.readJSON(append(doc, '}'), m); err != nil {
		return err
	}
	if isJSON(contentType) {
		return t.keeps.holdsValue(m, f, body)
	}
	return t.keeps.holdsText(m, f, string(body))
}

// whole writes a response's body: the message, or the one field that it is.
func (t *Transcoder) whole(w *jsonWriter, m protoreflect.Message) error {
	f := t.response
	if f == nil {
		return w.message(m, 0, t.unset)
	}
	asText := !isJSON(t.rpc.ContentType) && !f.IsList() && !f.IsMap()
	switch {
	case asText && f.Kind() == protoreflect.StringKind:
		w.b = append(w.b, m.Get(f).String()...)
	case asText && f.Kind() == protoreflect.BytesKind:
		w.b = append(w.b, m.Get(f).Bytes()...)
	case !m.Has(f) && (f.HasPresence() || t.unset.isNull()):
		if !asText {
			w.b = append(w.b, "null"...)
		}
	case asText && f.Enum() != nil:
		word, ok := t.words.word(f.Enum(), m.Get(f).Enum())
		if !ok && t.words.has(f.Enum()) {
			return wordless(f, word)
		}
		w.b = append(w.b, word...)
	default:
		return w.field(f, m.Get(f), 0, t.unset)
	}
	if len(w.b) > maxRendered {
		return errTooLong
	}
	return nil
}
