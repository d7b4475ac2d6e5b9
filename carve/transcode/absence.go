package transcode

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"whittle"
)

// absence says what stands in JSON for a field that is unset or empty, as a
// tree over the body's fields. Nil: the rules of the package's documentation.
type absence struct {
	null   bool
	absent bool
	below  map[protoreflect.FieldNumber]*absence
}

func (a *absence) at(f protoreflect.FieldDescriptor) *absence {
	if a == nil {
		return nil
	}
	return a.below[f.Number()]
}

func (a *absence) isNull() bool   { return a != nil && a.null }
func (a *absence) isAbsent() bool { return a != nil && a.absent }

// newAbsence reads the paths of both kinds from the root of a body's JSON: the
// message, or the field that is the whole body. at is "request" or "response".
func newAbsence(nulls, absent []string, at string, md protoreflect.MessageDescriptor, whole protoreflect.FieldDescriptor) (*absence, error) {
	if len(nulls) == 0 && len(absent) == 0 {
		return nil, nil
	}
	root := &absence{}
	for _, kind := range []struct {
		name  string
		paths []string
		set   func(*absence)
	}{
		{"nulls", nulls, func(a *absence) { a.null = true }},
		{"absent", absent, func(a *absence) { a.absent = true }},
	} {
		for i, path := range kind.paths {
			node, err := root.walk(path, md, whole)
			if err != nil {
				return nil, whittle.Errorf(whittle.Invalid, "path %q: %w", path, err).
					WithField(fmt.Sprintf("candidate.%s.%s[%d]", at, kind.name, i))
			}
			kind.set(node)
		}
	}
	return root, nil
}

// walk gives the node of a path, which it makes.
func (a *absence) walk(path string, md protoreflect.MessageDescriptor, whole protoreflect.FieldDescriptor) (*absence, error) {
	rest, ok := strings.CutPrefix(path, "$")
	if !ok {
		return nil, fmt.Errorf("a path begins with $")
	}
	node, inside := a, whole // inside: the list, map or message that the next step goes into; nil: the message md
	items := whole != nil && (whole.IsList() || whole.IsMap())
	if whole != nil {
		md = valueOf(whole).Message()
	}
	for rest != "" {
		var name string
		name, rest, ok = step(rest)
		switch {
		case !ok:
			return nil, fmt.Errorf("write names and [*] only: $.items[*].note")
		case name == "*" && items:
			items = false
			continue
		case items && inside.IsMap():
			items = false // a key: what is said of one value is said of all
			continue
		case items || name == "*":
			return nil, fmt.Errorf("[*] goes with lists and maps, and only with them")
		case md == nil:
			return nil, fmt.Errorf("nothing lies below %s", inside.Name())
		}
		f := fieldByName(md, name)
		if f == nil {
			return nil, fmt.Errorf("%s has no field %q", md.FullName(), name)
		}
		if node.below == nil {
			node.below = map[protoreflect.FieldNumber]*absence{}
		}
		if node.below[f.Number()] == nil {
			node.below[f.Number()] = &absence{}
		}
		node, inside, items, md = node.below[f.Number()], f, f.IsList() || f.IsMap(), valueOf(f).Message()
	}
	if node == a && whole == nil {
		return nil, fmt.Errorf("it names no field")
	}
	return node, nil
}

// step takes ".name", "['name']", `["name"]`, "[*]" or ".*" off a path.
func step(s string) (name, rest string, ok bool) {
	if len(s) > 1 && s[0] == '[' && (s[1] == '"' || s[1] == '\'') {
		return quoted(s[1:])
	}
	if rest, ok = strings.CutPrefix(s, "[*]"); ok {
		return "*", rest, true
	}
	body, found := strings.CutPrefix(s, ".")
	if !found {
		return "", "", false
	}
	end := strings.IndexAny(body, ".[")
	if end < 0 {
		end = len(body)
	}
	return body[:end], body[end:], end > 0
}

// quoted takes a quoted name and the bracket behind it; a backslash stands
// before the quote or itself.
func quoted(s string) (name, rest string, ok bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case s[i] == s[0]:
			rest, ok = strings.CutPrefix(s[i+1:], "]")
			return b.String(), rest, ok
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}
