package openapi

import (
	"slices"
	"strings"

	"whittle/contract"
)

// read is what a schema comes to.
type read struct {
	field    contract.Field
	nullable bool
}

// object is a schema's members, allOf joined.
type object struct {
	keys     []string
	schemas  map[string]*node
	required map[string]bool
	// open says that further members are declared; extra is their schema.
	open  bool
	extra *node
	doc   string
}

// whole reads the schema of a whole body: the members of an object as the
// method's own fields, or anything else, and what others share, as one field.
func (r *reader) whole(s *node, message, name string) ([]contract.Field, contract.BodyForm, error) {
	n, ref, err := r.follow(s)
	if err != nil {
		return nil, "", err
	}
	if n != nil && ref == "" && r.kind(n) == "object" && len(n.get("properties").members()) > 0 && !nullable(n) && n.get("additionalProperties").absent() {
		o, err := r.object(n, 0)
		if err != nil {
			return nil, "", err
		}
		fields, err := r.fields(o, message)
		return fields, contract.Object, err
	}
	hint := name
	if ref != "" {
		hint = ref[strings.LastIndexByte(ref, '/')+1:]
	}
	got, err := r.schema(s, hint, "")
	if err != nil {
		return nil, "", err
	}
	f := got.field
	if f.Repeated && f.Type == contract.MessageType {
		hint = f.Ref + "s"
	}
	f.JSON = contract.DefaultJSON(contract.FieldName(hint))
	f.Optional = got.nullable && !f.Repeated && !f.Map
	r.mark(message, f.JSON, presence{nullable: got.nullable})
	return []contract.Field{f}, contract.Whole, nil
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
	if n.is("nullable") {
		return true
	}
	for _, key := range []string{"type", "enum"} {
		if t := n.get(key); t != nil && t.kind == isList {
			for _, i := range t.items {
				if i.kind == isNull || key == "type" && i.text == "null" {
					return true
				}
			}
		}
	}
	return false
}

// schema reads a schema as a field without a name. hint is what a message or an
// enum in it is called.
func (r *reader) schema(s *node, hint, above string) (read, error) {
	return r.schemaAt(s, hint, above, 0)
}

func (r *reader) schemaAt(s *node, hint, above string, depth int) (read, error) {
	if s == nil || s.kind != isObject {
		return read{field: contract.Field{Type: contract.Value}}, nil
	}
	if r.schemasRead++; depth > maxDepth || r.schemasRead > maxSchemas {
		return read{}, invalid(s.line, "the schema nests deeper than %d, or its parts repeat too often", maxDepth)
	}
	n, ref, err := r.follow(s)
	if err != nil {
		return read{}, err
	}
	if ref != "" {
		hint, above = ref[strings.LastIndexByte(ref, '/')+1:], ""
	}
	if name := r.byRef[ref]; ref != "" && name != "" {
		return read{field: contract.Field{Type: contract.MessageType, Ref: name}, nullable: nullable(n) || nullable(s)}, nil
	}
	out, err := r.resolved(n, ref, hint, above, depth)
	out.nullable = out.nullable || nullable(n) || nullable(s)
	if out.field.Doc == "" && out.field.Type != contract.MessageType {
		out.field.Doc = doc(n)
	}
	return out, err
}

// resolved reads a schema that is no $ref.
func (r *reader) resolved(n *node, ref, hint, above string, depth int) (read, error) {
	if list := n.get("allOf"); list != nil && len(list.items) == 1 && n.get("properties") == nil {
		return r.schemaAt(list.items[0], hint, above, depth+1)
	}
	if n.get("allOf") != nil {
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
	return read{field: f}, nil
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
func (r *reader) oneOf(n, list *node, key, hint, above string, depth int) (read, error) {
	var others []read
	null := false
	for _, item := range list.items {
		if item.str("type") == "null" {
			null = true
			continue
		}
		if depth > 8 {
			return read{field: contract.Field{Type: contract.Value}}, nil
		}
		got, err := r.schemaAt(item, hint, above, depth+1)
		if err != nil {
			return read{}, err
		}
		others = append(others, got)
	}
	if len(others) == 0 {
		return read{field: contract.Field{Type: contract.Value}, nullable: null}, nil
	}
	same := !slices.ContainsFunc(others, func(o read) bool {
		f := others[0].field
		return o.field.Type != f.Type || o.field.Ref != f.Ref || o.field.Repeated != f.Repeated || o.field.Map != f.Map
	})
	if !same {
		r.guess(label(n, key), "google.protobuf.Value", "a message for each alternative", "JSON does not say which of them a value is")
		return read{field: contract.Field{Type: contract.Value}}, nil
	}
	others[0].nullable = others[0].nullable || null
	return others[0], nil
}

func (r *reader) array(n *node, hint, above string, depth int) (read, error) {
	item, err := r.schemaAt(n.get("items"), contract.Singular(hint), above, depth+1)
	if err != nil {
		return read{}, err
	}
	f := item.field
	if f.Repeated || f.Map || item.nullable {
		f = contract.Field{Type: contract.Value}
	}
	f.Repeated, f.Doc = true, doc(n)
	return read{field: f}, nil
}

// message reads an object: a message of its members, or a map.
func (r *reader) message(n *node, ref, hint, above string, depth int) (read, error) {
	o, err := r.object(n, depth)
	if err != nil {
		return read{}, err
	}
	switch {
	case len(o.keys) == 0 && o.extra != nil:
		v, err := r.schemaAt(o.extra, contract.Singular(hint), above, depth+1)
		if err != nil {
			return read{}, err
		}
		f := v.field
		if f.Repeated || f.Map || v.nullable {
			f = contract.Field{Type: contract.Value}
		}
		f.Map = true
		return read{field: f}, nil
	case len(o.keys) == 0 || o.open || slices.ContainsFunc(o.keys, oddKey):
		if len(o.keys) > 0 {
			r.guess(label(n, "properties"), "google.protobuf.Value", "a message", "there are members beyond them, or such as no field can be called")
		}
		return read{field: contract.Field{Type: contract.Value}}, nil
	}
	name := r.free(hint, above)
	if ref != "" {
		r.byRef[ref] = name
	}
	at, err := r.add(name, n.line)
	if err != nil {
		return read{}, err
	}
	fields, err := r.fieldsAt(o, name, depth)
	if err != nil {
		return read{}, err
	}
	keys := slices.Clone(o.keys)
	nameFields(fields, contract.NewFieldNames(keys...))
	m := &r.c.Messages[r.index(name, at)]
	m.Fields, m.Doc = number(fields), o.doc
	return read{field: contract.Field{Type: contract.MessageType, Ref: name}}, nil
}

// index finds a message whose place may have moved.
func (r *reader) index(name string, at int) int {
	if at < len(r.c.Messages) && r.c.Messages[at].Name == name {
		return at
	}
	return slices.IndexFunc(r.c.Messages, func(m contract.Message) bool { return m.Name == name })
}

// oddKey reports a name that cannot be a field's JSON name.
func oddKey(key string) bool {
	return key == "" || len(key) > 256 || key[0] == '[' && key[len(key)-1] == ']' ||
		strings.ContainsFunc(key, func(c rune) bool { return c < ' ' })
}

// object gathers an object's members, those of allOf too.
func (r *reader) object(n *node, depth int) (*object, error) {
	o := &object{schemas: map[string]*node{}, required: map[string]bool{}}
	return o, r.gather(o, n, depth)
}

func (r *reader) gather(o *object, n *node, depth int) error {
	if r.schemasRead++; depth > maxDepth || r.schemasRead > maxSchemas {
		return invalid(n.line, "allOf nests deeper than %d, or in a circle", maxDepth)
	}
	if all := n.get("allOf"); all != nil {
		for _, item := range all.items {
			part, _, err := r.follow(item)
			if err != nil {
				return err
			}
			if err := r.gather(o, part, depth+8); err != nil {
				return err
			}
		}
	}
	if d := n.str("description"); d != "" {
		o.doc = strings.Join(strings.Fields(d), " ")
	}
	properties := n.get("properties")
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
	return nil
}

func (r *reader) fields(o *object, message string) ([]contract.Field, error) {
	return r.fieldsAt(o, message, 0)
}

// fieldsAt reads an object's members as fields, without names and numbers.
func (r *reader) fieldsAt(o *object, message string, depth int) ([]contract.Field, error) {
	var out []contract.Field
	for _, k := range o.keys {
		got, err := r.schemaAt(o.schemas[k], k, message, depth+1)
		if err != nil {
			return nil, err
		}
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
	return out, nil
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
