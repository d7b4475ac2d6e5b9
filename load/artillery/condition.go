package artillery

import (
	"whittle/load/expr"
)

// condition reads an expression over variables. A name that is none of the
// plan's would be a function of its processor.
func (r *reader) condition(n *node, what string) expr.Condition {
	if n.kind != expr.KindString && n.kind != expr.KindBool && n.kind != expr.KindNumber {
		panic(n.Invalid("%s is an expression, not %s", what, n.kind))
	}
	text := n.text
	if inner, ok := soleExpression(text); ok {
		text = inner
	}
	c, err := expr.CompileCondition(text, func(name string) (func(*expr.Evaluation) expr.Datum, error) {
		v, err := r.variable(n, name)
		return func(e *expr.Evaluation) expr.Datum { return expr.DatumOf(v(e.Scope)) }, err
	})
	if err != nil {
		panic(n.Invalid("%s: %q: %v", what, n.text, err))
	}
	return c
}
