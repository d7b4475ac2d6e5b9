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
func (r *reader) headers(n *node) []plan.HeaderField {
	if n.kind != expr.KindMap {
		panic(n.Invalid("headers is a mapping, not %s", n.kind))
	}
	var out []plan.HeaderField
	for _, f := range n.fields {
		name := strings.ToLower(f.name)
		if name == "" || !httpguts.ValidHeaderFieldName(name) {
			panic(f.Errorf(whittle.Invalid, "%q is not a header's name", f.name))
		}
		switch name {
		case "content-length", "transfer-encoding", "connection", "upgrade", "expect", "te", "trailer":
			panic(f.Errorf(whittle.Unsupported, "the header %s is not supported: it frames the message, and whittle frames it itself", name))
		}
		var text string
		str(&text)(f.value)
		t := r.compileTemplate(f.value, text, expr.InHeader)
		out = plan.MergeHeaders(out, []plan.HeaderField{{Name: name, Value: t}})
	}
	return out
}

// pairs reads a mapping as a query or a form.
func (r *reader) pairs(n *node) expr.Template {
	if n.kind != expr.KindMap {
		panic(n.Invalid("a mapping of names to values is wanted here, not %s", n.kind))
	}
	var t expr.Template
	for _, f := range n.fields {
		for _, v := range f.value.each() {
			if v.kind == expr.KindMap || v.kind == expr.KindList {
				panic(v.Invalid("%s of %s has no meaning in a query", v.kind, f.name))
			}
			v.asText()
			if len(t) > 0 {
				t = t.Literal("&")
			}
			val := r.compileTemplate(v, v.text, expr.InQuery)
			t = t.Literal(expr.InQuery.EncodeLiteral(f.name) + "=").Join(val)
		}
	}
	return t
}

// json writes a value as JSON, keys in the plan's order.
func (r *reader) json(n *node) expr.Template {
	var t expr.Template
	switch n.kind {
	case expr.KindNull:
		return t.Literal("null")
	case expr.KindBool, expr.KindNumber:
		return t.Literal(n.text)
	case expr.KindString:
		n.asText()
		return r.compileTemplate(n, n.text, expr.AsJSON)
	case expr.KindList:
		t = t.Literal("[")
		for i, item := range n.items {
			if i > 0 {
				t = t.Literal(",")
			}
			v := r.json(item)
			t = t.Join(v)
		}
		return t.Literal("]")
	}
	t = t.Literal("{")
	for i, f := range n.fields {
		if i > 0 {
			t = t.Literal(",")
		}
		v := r.json(f.value)
		name := r.compileTemplate(f.value, f.name, expr.InString)
		t = t.Literal(`"`).Join(name).Literal(`":`).Join(v)
	}
	return t.Literal("}")
}
