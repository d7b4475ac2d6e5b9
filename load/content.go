package load

import (
	"strings"

	"whittle"
)

// headers reads header names and values. Names are lower-cased, as Artillery
// does.
func (r *reader) headers(n *node) ([]headerField, error) {
	if n.kind != kindMap {
		return nil, n.invalid("headers is a mapping, not %s", n.kind)
	}
	var out []headerField
	for _, f := range n.fields {
		name := strings.ToLower(f.name)
		if name == "" || !isToken([]byte(name)) {
			return nil, place(whittle.Invalid, n.file, f.line, f.col, "%q is not a header's name", f.name)
		}
		switch name {
		case "content-length", "transfer-encoding", "connection", "upgrade", "expect", "te", "trailer":
			return nil, place(whittle.Unsupported, n.file, f.line, f.col, "the header %s is not supported: it frames the message, and whittle frames it itself", name)
		}
		var text string
		if err := str(&text)(f.value); err != nil {
			return nil, err
		}
		t, err := r.compileTemplate(f.value, text, inHeader)
		if err != nil {
			return nil, err
		}
		out = mergeHeaders(out, []headerField{{name, t}})
	}
	return out, nil
}

// mergeHeaders puts later fields in the place of earlier ones of the same
// name. Neither argument is changed.
func mergeHeaders(a, b []headerField) []headerField {
	out := append([]headerField(nil), a...)
next:
	for _, h := range b {
		for i := range out {
			if out[i].name == h.name {
				out[i] = h
				continue next
			}
		}
		out = append(out, h)
	}
	return out
}

// pairs reads a mapping as a query or a form.
func (r *reader) pairs(n *node) (template, error) {
	if n.kind != kindMap {
		return nil, n.invalid("a mapping of names to values is wanted here, not %s", n.kind)
	}
	var t template
	for _, f := range n.fields {
		values := f.value.items
		if f.value.kind != kindList {
			values = []*node{f.value}
		}
		for _, v := range values {
			if v.kind == kindMap || v.kind == kindList {
				return nil, v.invalid("%s of %s has no meaning in a query", v.kind, f.name)
			}
			if len(t) > 0 {
				t = t.literal("&")
			}
			val, err := r.compileTemplate(v, v.text, inQuery)
			if err != nil {
				return nil, err
			}
			t = t.literal(inQuery.encodeLiteral(f.name) + "=").join(val)
		}
	}
	return t, nil
}

// json writes a value as JSON, keys in the plan's order.
func (r *reader) json(n *node) (template, error) {
	var t template
	switch n.kind {
	case kindNull:
		return t.literal("null"), nil
	case kindBool, kindNumber:
		return t.literal(n.text), nil
	case kindString:
		return r.compileTemplate(n, n.text, asJSON)
	case kindList:
		t = t.literal("[")
		for i, item := range n.items {
			if i > 0 {
				t = t.literal(",")
			}
			v, err := r.json(item)
			if err != nil {
				return nil, err
			}
			t = t.join(v)
		}
		return t.literal("]"), nil
	}
	t = t.literal("{")
	for i, f := range n.fields {
		if i > 0 {
			t = t.literal(",")
		}
		v, err := r.json(f.value)
		if err != nil {
			return nil, err
		}
		name, err := r.compileTemplate(f.value, f.name, inString)
		if err != nil {
			return nil, err
		}
		t = t.literal(`"`).join(name).literal(`":`).join(v)
	}
	return t.literal("}"), nil
}
