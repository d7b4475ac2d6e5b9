package artillery

import (
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// headers reads header names and values. Names are lower-cased, as Artillery
// does.
func (r *reader) headers(n *node) []plan.HeaderField {
	var out []plan.HeaderField
	for _, f := range n.mapping("headers is a mapping") {
		name := strings.ToLower(f.name)
		if name == "" || !httpguts.ValidHeaderFieldName(name) {
			panic(f.Errorf(whittle.Invalid, "%q is not a header's name", f.name))
		}
		switch name {
		case "content-length", "transfer-encoding", "upgrade", "expect", "te", "trailer":
			panic(f.Errorf(whittle.Unsupported, "the header %s is not supported: it frames the message, and whittle frames it itself", name))
		case "connection":
			r.note(f.value, "the header connection is left out: each user keeps its connection")
			continue
		}
		var text string
		str(&text)(f.value)
		if r.callsNothing(f.value, text) {
			continue
		}
		h := plan.HeaderField{Name: name, Value: r.compileTemplate(f.value, text, expr.InHeader)}
		if variable, ok := soleVariable(text); ok {
			value := r.expressionValue(f.value, variable)
			h.Absent = func(s *expr.Scope) bool { return value(s).JSON == "" }
		}
		out = plan.MergeHeaders(out, []plan.HeaderField{h})
	}
	return out
}

// form reads a mapping as a form. As by Artillery, a list is its items with commas
// between them.
func (r *reader) form(n *node) expr.Template {
	if n.kind != expr.KindMap {
		return r.pairs(n)
	}
	joined := *n
	joined.fields = append([]field(nil), n.fields...)
	for i := range joined.fields {
		f := &joined.fields[i]
		if f.value.kind != expr.KindList {
			continue
		}
		texts := make([]string, len(f.value.items))
		for k, item := range f.value.items {
			str(&texts[k])(item)
		}
		f.value = &node{Position: f.value.Position, kind: expr.KindString, text: strings.Join(texts, ",")}
	}
	return r.pairs(&joined)
}

// query reads a mapping as a query. As by Artillery, whose values there are what a variable
// is, one that is not set, null or an object is empty, and a list is each of its items: of
// an empty one there is nothing.
func (r *reader) query(n *node) expr.Template {
	lists := false
	for _, f := range n.fields {
		if strings.Contains(f.name, "{{") {
			panic(f.Errorf(whittle.Unsupported, "an expression in a name of qs is not supported: %s", f.name))
		}
	}
	all := r.joined(n, func(name string, v *node) expr.Template {
		variable, ok := soleVariable(v.text)
		switch {
		case r.callsNothing(v, v.text):
			return nil
		case !ok:
			return r.compileTemplate(v, v.text, expr.InForm)
		}
		lists = true
		value := r.expressionValue(v, variable)
		return expr.Template(nil).Expression(expr.Expression{Eval: func(s *expr.Scope) expr.Value {
			texts := queryTexts(value(s))
			if len(texts) == 0 {
				return expr.TextValue(noItems)
			}
			return expr.TextValue(strings.Join(texts, "&"+name+"="))
		}}, expr.AsText)
	})
	if !lists {
		return all
	}
	return expr.Template(nil).Expression(expr.Expression{Eval: func(s *expr.Scope) expr.Value {
		pairs := strings.Split(string(all.Render(nil, s)), "&")
		return expr.TextValue(strings.Join(slices.DeleteFunc(pairs, func(pair string) bool { return strings.HasSuffix(pair, noItems) }), "&"))
	}}, expr.AsText)
}

// noItems stands for the value of an empty list; encoded text has no such byte.
const noItems = "\x00"

// queryTexts are the texts of a value in a query.
func queryTexts(v expr.Value) []string {
	switch {
	case v.JSON == "" || v.JSON == "null" || v.JSON[0] == '{':
		return []string{""}
	case v.Doc == nil:
		return []string{expr.InForm.EncodeLiteral(v.Text)}
	}
	var out []string
	for i := range v.Doc.Items {
		text := ""
		switch item := &v.Doc.Items[i]; item.Kind {
		case expr.KindString, expr.KindBool:
			text = item.Value().Text
		case expr.KindNumber:
			text = jsNumber(item.Value().Text)
		default:
		}
		out = append(out, expr.InForm.EncodeLiteral(text))
	}
	return out
}

// pairs reads a mapping as a form.
func (r *reader) pairs(n *node) expr.Template {
	return r.joined(n, func(_ string, v *node) expr.Template {
		if r.callsNothing(v, v.text) {
			return expr.Template(nil).Literal("undefined")
		}
		return r.compileTemplate(v, v.text, expr.InForm)
	})
}

// joined reads a mapping as names with values.
func (r *reader) joined(n *node, read func(name string, v *node) expr.Template) expr.Template {
	var t expr.Template
	for _, f := range n.mapping("a mapping of names to values is wanted here") {
		for _, v := range f.value.each() {
			if v.kind == expr.KindMap || v.kind == expr.KindList {
				panic(v.Invalid("%s of %s has no meaning in a query", v.kind, f.name))
			}
			if len(t) > 0 {
				t = t.Literal("&")
			}
			name := expr.InForm.EncodeLiteral(f.name)
			t = t.Literal(name + "=").Join(read(name, v))
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
	case expr.KindBool:
		return t.Literal(n.text)
	case expr.KindNumber:
		return t.Literal(jsNumber(n.text))
	case expr.KindString:
		return r.compileTemplate(n, n.text, expr.AsJSON)
	case expr.KindList:
		t = t.Literal("[")
		for i, item := range n.items {
			if i > 0 {
				t = t.Literal(",")
			}
			t = t.Join(r.json(item))
		}
		return t.Literal("]")
	}
	return r.object(n)
}

// member is a name and a value of an object. It is left out where the value stands alone
// and is undefined.
type member struct {
	name, value expr.Template
	sole        func(*expr.Scope) expr.Value
}

// object writes a mapping as JSON. As by Artillery, names with expressions come last.
func (r *reader) object(n *node) expr.Template {
	var members, last []member
	fixed := true
	for _, f := range n.fields {
		if f.value.kind == expr.KindString && r.callsNothing(f.value, f.value.text) {
			continue
		}
		m := member{name: r.compileTemplate(f.value, f.name, expr.InString), value: r.json(f.value)}
		if name, ok := soleVariable(f.value.text); ok && f.value.kind == expr.KindString {
			m.sole, fixed = r.expressionValue(f.value, name), false
		}
		if _, plain := m.name.Constant(); plain {
			members = append(members, m)
		} else {
			last = append(last, m)
		}
	}
	members = append(members, last...)
	if fixed {
		t := expr.Template(nil).Literal("{")
		for i, m := range members {
			t = t.Literal(`,"`[1-min(i, 1):]).Join(m.name).Literal(`":`).Join(m.value)
		}
		return t.Literal("}")
	}
	return expr.Template(nil).Expression(expr.Expression{Eval: func(s *expr.Scope) expr.Value {
		text := []byte{'{'}
		for _, m := range members {
			if m.sole != nil && m.sole(s).JSON == "" {
				continue
			}
			if len(text) > 1 {
				text = append(text, ',')
			}
			text = append(m.name.Render(append(text, '"'), s), `":`...)
			text = m.value.Render(text, s)
		}
		return expr.Value{JSON: string(append(text, '}'))}
	}}, expr.AsJSON)
}
