package openapi

import (
	"slices"
	"strings"

	"whittle/contract"
)

// reading is what a schema comes to.
type reading struct {
	field    contract.Field
	nullable bool
}

// object is a schema's members, allOf joined.
type object struct {
	keys     []string
	schemas  map[string]*node
	required map[string]bool
	// open says that further members are declared; extra is their schema.
	open bool
	// choice is the alternative by which members depend on each other. nil: there is none.
	choice *node
	extra  *node
	doc    string
}

// whole reads the schema of a whole body: the members of an object as the
// method's own fields, or anything else, and what others share, as one field. Of a form
// each member is a field, whatever it is called.
func (r *reader) whole(s *node, form contract.BodyForm, message, name string) ([]contract.Field, contract.BodyForm) {
	n, ref := r.follow(s)
	if n != nil && ref == "" && r.kind(n) == "object" && len(n.get("properties").members()) > 0 && !nullable(n) {
		if o := r.object(n, 0); !o.open && o.choice == nil && (form == contract.Form || !slices.ContainsFunc(o.keys, contract.OddKey)) {
			return r.fields(o, message, 0), contract.Object
		}
	}
	hint := name
	if ref != "" {
		hint = nameOf(ref)
	}
	got := r.schema(s, hint, "", 0)
	f := got.field
	if f.Repeated && f.Type == contract.MessageType {
		hint = f.Ref + "s"
	}
	f.JSON = contract.DefaultJSON(contract.FieldName(hint))
	f.Optional = got.nullable && !f.Repeated && !f.Map
	r.mark(message, f.JSON, presence{nullable: got.nullable})
	return []contract.Field{f}, contract.Whole
}

func (n *node) members() []string {
	if n == nil {
		return nil
	}
	return n.keys
}

// absent says that additionalProperties is not there, or forbids them.
func (n *node) absent() bool { return n == nil || n.kind == isBool && n.text == "false" }

func (r *reader) mark(message, json string, p presence) {
	if r.presence[message] == nil {
		r.presence[message] = map[string]presence{}
	}
	r.presence[message][json] = p
}

// kind is a schema's type, guessed where it has none; "" where nothing is known.
func (r *reader) kind(n *node) string {
	t := n.get("type")
	switch {
	case t != nil && t.kind == isList:
		var types []string
		for _, i := range t.items {
			if i.text != "null" {
				types = append(types, i.text)
			}
		}
		if len(types) == 1 {
			return types[0]
		}
		return ""
	case t != nil && t.kind == isText:
		return t.text
	case n.get("properties") != nil, n.get("additionalProperties") != nil:
		return "object"
	case n.get("items") != nil:
		return "array"
	case n.get("enum") != nil || n.get("const") != nil:
		return "string"
	}
	return ""
}

// nullable reports whether a schema takes null.
func nullable(n *node) bool {
	if n.is("nullable") || n.is("x-nullable") { // the second is of older tools, and means the same
		return true
	}
	for _, key := range []string{"type", "enum"} {
		if t := n.get(key); t != nil && t.kind == isList {
			if slices.ContainsFunc(t.items, func(i *node) bool { return i.kind == isNull || key == "type" && i.text == "null" }) {
				return true
			}
		}
	}
	return false
}

// schema reads a schema as a field without a name. hint is what a message or an
// enum in it is called.
func (r *reader) schema(s *node, hint, above string, depth int) reading {
	if s == nil || s.kind != isObject {
		return reading{field: contract.Field{Type: contract.Value}}
	}
	if r.schemasRead++; depth > maxDepth || r.schemasRead > maxSchemas {
		panic(invalid(s.at, "the schema nests deeper than %d, or its parts repeat too often", maxDepth))
	}
	n, ref := r.follow(s)
	if ref != "" {
		hint, above = nameOf(ref), ""
	}
	if name := r.byRef[ref]; ref != "" && name != "" {
		return reading{field: contract.Field{Type: contract.MessageType, Ref: name}, nullable: nullable(n) || nullable(s)}
	}
	if ref != "" {
		if r.open[ref] { // an array of itself: no message stands between
			return reading{field: contract.Field{Type: contract.Value}}
		}
		r.open[ref] = true
		defer delete(r.open, ref)
	}
	out := r.resolved(n, ref, hint, above, depth)
	out.nullable = out.nullable || nullable(n) || nullable(s)
	if out.field.Doc == "" && out.field.Type != contract.MessageType {
		out.field.Doc = doc(n)
	}
	return out
}

// resolved reads a schema that is no $ref.
func (r *reader) resolved(n *node, ref, hint, above string, depth int) reading {
	if list := n.get("allOf"); list != nil && len(list.items) == 1 && n.get("properties") == nil {
		return r.schema(list.items[0], hint, above, depth+1)
	}
	if n.get("allOf") != nil || len(n.get("properties").members()) > 0 && (n.get("oneOf") != nil || n.get("anyOf") != nil) {
		return r.message(n, ref, hint, above, depth)
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		if list := n.get(key); list != nil && list.kind == isList {
			return r.oneOf(n, list, key, hint, above, depth)
		}
	}
	f := contract.Field{}
	switch r.kind(n) {
	case "string":
		f.Type = contract.String
		if words := words(n); len(words) > 0 {
			f.Type, f.Ref = contract.EnumType, r.enum(words, hint, above)
		}
	case "boolean":
		f.Type = contract.Bool
	case "integer":
		f.Type = integer(n.str("format"))
	case "number":
		f.Type = contract.Double
	case "array":
		return r.array(n, hint, above, depth)
	case "object":
		return r.message(n, ref, hint, above, depth)
	default:
		f.Type = contract.Value
	}
	return reading{field: f}
}

func integer(format string) contract.Type {
	switch format {
	case "int32", "int16", "int8", "uint8", "uint16":
		return contract.Int32
	case "uint64":
		return contract.Uint64
	}
	return contract.Int64
}

// oneOf reads alternatives: null with one other is that other, nullable;
// several are a Value, but for such as are the same scalar.
func (r *reader) oneOf(n, list *node, key, hint, above string, depth int) reading {
	var others []reading
	null := false
	for _, item := range list.items {
		if item.str("type") == "null" {
			null = true
			continue
		}
		if depth > 8 {
			return reading{field: contract.Field{Type: contract.Value}}
		}
		got := r.schema(item, hint, above, depth+1)
		others = append(others, got)
	}
	if len(others) == 0 {
		return reading{field: contract.Field{Type: contract.Value}, nullable: null}
	}
	same := !slices.ContainsFunc(others, func(o reading) bool {
		f := others[0].field
		return o.field.Type != f.Type || o.field.Ref != f.Ref || o.field.Repeated != f.Repeated || o.field.Map != f.Map
	})
	if !same {
		r.guess(label(n, key), "google.protobuf.Value", "a message for each alternative", "JSON does not say which of them a value is")
		return reading{field: contract.Field{Type: contract.Value}}
	}
	others[0].nullable = others[0].nullable || null
	return others[0]
}

func (r *reader) array(n *node, hint, above string, depth int) reading {
	f := r.element(n.get("items"), hint, above, depth)
	f.Repeated, f.Doc = true, doc(n)
	return reading{field: f}
}

// element reads the schema of a list's elements, or a map's values, which proto has of single
// values alone, and never null.
func (r *reader) element(s *node, hint, above string, depth int) contract.Field {
	got := r.schema(s, contract.Singular(hint), above, depth+1)
	if got.field.Repeated || got.field.Map || got.nullable {
		return contract.Field{Type: contract.Value}
	}
	return got.field
}

// message reads an object: a message of its members, or a map.
func (r *reader) message(n *node, ref, hint, above string, depth int) reading {
	o := r.object(n, depth)
	switch {
	case o.choice != nil:
		r.guess(label(o.choice, "its alternatives"), "google.protobuf.Value", "a message", "its members depend on alternatives")
		return reading{field: contract.Field{Type: contract.Value}}
	case len(o.keys) == 0 && o.extra != nil:
		f := r.element(o.extra, hint, above, depth)
		f.Map = true
		return reading{field: f}
	case len(o.keys) == 0 || o.open || slices.ContainsFunc(o.keys, contract.OddKey):
		if len(o.keys) > 0 {
			r.guess(label(n, "properties"), "google.protobuf.Value", "a message", "there are members beyond them, or such as no field can be called")
		}
		return reading{field: contract.Field{Type: contract.Value}}
	}
	name := r.free(hint, above)
	if ref != "" {
		r.byRef[ref] = name
	}
	at := r.add(name, n.at)
	fields := r.fields(o, name, depth)
	nameFields(fields)
	m := &r.c.Messages[at]
	m.Fields, m.Doc = number(fields), o.doc
	return reading{field: contract.Field{Type: contract.MessageType, Ref: name}}
}

// object gathers an object's members, those of allOf too.
func (r *reader) object(n *node, depth int) *object {
	o := &object{schemas: map[string]*node{}, required: map[string]bool{}}
	r.gather(o, n, depth)
	return o
}

func (r *reader) gather(o *object, n *node, depth int) {
	if r.schemasRead++; depth > maxDepth || r.schemasRead > maxSchemas {
		panic(invalid(n.at, "allOf nests deeper than %d, or in a circle", maxDepth))
	}
	if all := n.get("allOf"); all != nil {
		for _, item := range all.items {
			part, _ := r.follow(item)
			r.gather(o, part, depth+8)
		}
	}
	if c := r.choiceOf(n); c != nil && o.choice == nil {
		o.choice = c
	}
	if d := n.str("description"); d != "" {
		o.doc = strings.Join(strings.Fields(d), " ")
	}
	properties, _ := r.follow(n.get("properties"))
	for i, k := range properties.members() {
		if o.schemas[k] == nil {
			o.keys = append(o.keys, k)
		}
		o.schemas[k] = properties.items[i]
	}
	if list := n.get("required"); list != nil {
		for _, item := range list.items {
			o.required[item.text] = true
		}
	}
	switch extra := n.get("additionalProperties"); {
	case extra.absent():
	case extra.kind == isObject:
		o.open, o.extra = true, extra
	default:
		o.open = true
	}
	o.open = o.open || n.get("patternProperties") != nil
}

// choiceOf gives the keyword by which a schema's members depend on alternatives. nil: none
// does. Alternatives that say only which members are required name no member.
func (r *reader) choiceOf(n *node) *node {
	for _, key := range []string{"oneOf", "anyOf"} {
		list := n.get(key)
		if list == nil {
			continue
		}
		for _, item := range list.items {
			part, _ := r.follow(item)
			if part == nil || slices.ContainsFunc(part.keys, func(k string) bool { return k != "required" && k != "not" && k != "title" && k != "description" }) {
				return list
			}
		}
	}
	for _, key := range []string{"then", "else", "dependentSchemas"} {
		if c := n.get(key); c != nil {
			return c
		}
	}
	return nil
}

// fields reads an object's members as fields, without names and numbers.
func (r *reader) fields(o *object, message string, depth int) []contract.Field {
	var out []contract.Field
	for _, k := range o.keys {
		got := r.schema(o.schemas[k], k, message, depth+1)
		f := got.field
		f.JSON = k
		p := presence{optional: !o.required[k], nullable: got.nullable}
		f.Optional = (p.optional || p.nullable) && !f.Repeated && !f.Map
		if p.optional && p.nullable {
			r.guess(message+"."+k, "null where unset", "left out where unset", "the document allows both")
		}
		r.mark(message, k, p)
		out = append(out, f)
	}
	return out
}

// words are the strings of an enum, none where it has other values too. Nor
// where the empty text is one: an enum's value without a word is the unset one.
func words(n *node) []string {
	var out []string
	list := n.get("enum")
	if c := n.get("const"); c != nil && list == nil {
		list = &node{items: []*node{c}}
	}
	if list == nil {
		return nil
	}
	for _, item := range list.items {
		switch {
		case item.kind == isNull:
		case item.kind != isText || item.text == "" || len(out) == 1000:
			return nil
		case !slices.Contains(out, item.text):
			out = append(out, item.text)
		}
	}
	return out
}

// enum adds an enum for the words, one for the same words.
func (r *reader) enum(words []string, hint, above string) string {
	id := strings.Join(words, "\x00")
	if name := r.enums[id]; name != "" {
		return name
	}
	name := r.free(hint, above)
	r.taken[name] = true
	r.enums[id] = name
	taken := func(s string) bool { return r.taken[s] }
	e := contract.NewEnum(name, taken)
	for _, w := range words {
		e.Add(w, taken)
	}
	for _, v := range e.Values {
		r.taken[v.Name] = true
	}
	r.c.Enums = append(r.c.Enums, e)
	return name
}

// doc is a schema's description, with its format.
func doc(n *node) string {
	d := strings.Join(strings.Fields(n.str("description")), " ")
	if f := n.str("format"); f != "" {
		d = strings.TrimSpace(d + " Format: " + f + ".")
	}
	return d
}
