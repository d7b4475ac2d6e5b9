package artillery

import (
	"strings"

	"golang.org/x/net/http/httpguts"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// headers reads header names and values. Names are lower-cased, as Artillery
// does.
func (r *reader) headers(n *node) ([]plan.HeaderField, error) {
	if n.kind != expr.KindMap {
		return nil, n.Invalid("headers is a mapping, not %s", n.kind)
	}
	var out []plan.HeaderField
	for _, f := range n.fields {
		name := strings.ToLower(f.name)
		if name == "" || !httpguts.ValidHeaderFieldName(name) {
			return nil, f.Errorf(whittle.Invalid, "%q is not a header's name", f.name)
		}
		switch name {
		case "content-length", "transfer-encoding", "connection", "upgrade", "expect", "te", "trailer":
			return nil, f.Errorf(whittle.Unsupported, "the header %s is not supported: it frames the message, and whittle frames it itself", name)
		}
		var text string
		if err := str(&text)(f.value); err != nil {
			return nil, err
		}
		t, err := r.compileTemplate(f.value, text, expr.InHeader)
		if err != nil {
			return nil, err
		}
		out = plan.MergeHeaders(out, []plan.HeaderField{{Name: name, Value: t}})
	}
	return out, nil
}

// pairs reads a mapping as a query or a form.
func (r *reader) pairs(n *node) (expr.Template, error) {
	if n.kind != expr.KindMap {
		return nil, n.Invalid("a mapping of names to values is wanted here, not %s", n.kind)
	}
	var t expr.Template
	for _, f := range n.fields {
		values := f.value.items
		if f.value.kind != expr.KindList {
			values = []*node{f.value}
		}
		for _, v := range values {
			if v.kind == expr.KindMap || v.kind == expr.KindList {
				return nil, v.Invalid("%s of %s has no meaning in a query", v.kind, f.name)
			}
			if err := v.asText(); err != nil {
				return nil, err
			}
			if len(t) > 0 {
				t = t.Literal("&")
			}
			val, err := r.compileTemplate(v, v.text, expr.InQuery)
			if err != nil {
				return nil, err
			}
			t = t.Literal(expr.InQuery.EncodeLiteral(f.name) + "=").Join(val)
		}
	}
	return t, nil
}

// json writes a value as JSON, keys in the plan's order.
func (r *reader) json(n *node) (expr.Template, error) {
	var t expr.Template
	switch n.kind {
	case expr.KindNull:
		return t.Literal("null"), nil
	case expr.KindBool, expr.KindNumber:
		return t.Literal(n.text), nil
	case expr.KindString:
		if err := n.asText(); err != nil {
			return nil, err
		}
		return r.compileTemplate(n, n.text, expr.AsJSON)
	case expr.KindList:
		t = t.Literal("[")
		for i, item := range n.items {
			if i > 0 {
				t = t.Literal(",")
			}
			v, err := r.json(item)
			if err != nil {
				return nil, err
			}
			t = t.Join(v)
		}
		return t.Literal("]"), nil
	}
	t = t.Literal("{")
	for i, f := range n.fields {
		if i > 0 {
			t = t.Literal(",")
		}
		v, err := r.json(f.value)
		if err != nil {
			return nil, err
		}
		name, err := r.compileTemplate(f.value, f.name, expr.InString)
		if err != nil {
			return nil, err
		}
		t = t.Literal(`"`).Join(name).Literal(`":`).Join(v)
	}
	return t.Literal("}"), nil
}
