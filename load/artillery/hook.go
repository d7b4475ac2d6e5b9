package artillery

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/script"
)

// scenarioHooks are those of a whole scenario.
type scenarioHooks struct{ beforeRequest, afterResponse []*script.Function }

// hooks reads one name of a function or a list of them.
func (r *reader) hooks(into *[]*script.Function) func(*node) {
	return func(n *node) {
		for _, item := range n.each() {
			if f := r.function(item, r.fixed(item, "the name of a function")); f != nil {
				*into = append(*into, f)
			}
		}
	}
}

// series calls functions one after the other by a method of the driver, with args and a
// callback behind them, which each calls. An error ends it.
func series(vm *script.VM, driver *script.Object, name string, functions []*script.Function, args []any, done func(error)) {
	if len(functions) == 0 {
		done(nil)
		return
	}
	called := false
	callback := vm.ToValue(func(e script.Value) {
		switch {
		case called:
		case e != nil && e.ToBoolean():
			called = true
			done(script.Thrown(e))
		default:
			called = true
			series(vm, driver, name, functions[1:], args, done)
		}
	})
	if _, err := method(vm, driver, name, slices.Concat([]any{functions[0].Value()}, args, []any{callback})...); err != nil {
		called = true
		done(err)
	}
}

// functionStep is a step that calls a function.
type functionStep struct {
	processor *processor
	f         *script.Function
	before    bool // it is of the flow before the run
}

// Act calls the function.
func (a *functionStep) Act(ctx context.Context, u plan.User) bool {
	p := a.processor
	err := p.invoke(ctx, u, func(vm *script.VM, d *script.Object, c *userContext, done func(error)) error {
		series(vm, d, "step", []*script.Function{a.f}, []any{c.object}, done)
		return nil
	}, nil)
	if err != nil {
		return u.ScriptFailed(ctx, err)
	}
	if a.before {
		u.State(expr.StateOfRun, beforeKey{p}, func() any { return p.contextOf(u) })
	}
	return true
}

// Inner has no steps.
func (a *functionStep) Inner() []plan.Step { return nil }

// requestHooks are the functions around one request.
type requestHooks struct {
	processor     *processor
	before, after []*script.Function
	method        string
	static        *plan.Request
	// json is the request as the plan has it, step the engine's object of it.
	json string
	step *script.Object
	// made are the requests that hooks made of it, by what they changed; guarded by the
	// processor's mu.
	made map[string]*plan.Request
}

const maxMade = 1000 // requests kept of one step

// hookRequest gives a request its hooks, where it has any.
func (r *reader) hookRequest(q *plan.Request, n *node, before, after []*script.Function) {
	before = append(append([]*script.Function(nil), r.scenario.beforeRequest...), before...)
	after = append(append([]*script.Function(nil), r.scenario.afterResponse...), after...)
	if len(before)+len(after) == 0 || r.processor == nil {
		return
	}
	h := &requestHooks{
		processor: r.processor, before: before, after: after, method: strings.ToLower(q.Method), static: q,
		json: string(n.appendJSON(nil)), made: map[string]*plan.Request{},
	}
	if len(before) > 0 {
		q.Prepare = h.prepare
	}
	if len(after) > 0 {
		q.Respond = h.respond
	}
}

// begin makes the parameters of one request.
func (h *requestHooks) begin(vm *script.VM, d *script.Object, c *userContext) error {
	if h.step == nil {
		made, err := method(vm, d, "params", h.json)
		if err != nil {
			return err
		}
		h.step = made.(*script.Object)
	}
	p := h.processor.reader
	made, err := method(vm, d, "begin", h.step, strings.ToUpper(h.method), p.target(), p.Plan.HTTP.Timeout.Seconds())
	if err != nil {
		return err
	}
	c.params = made.(*script.Object)
	return nil
}

// prepare runs beforeRequest, and returns the request that it makes.
func (h *requestHooks) prepare(ctx context.Context, u plan.User) (*plan.Request, error) {
	p := h.processor
	changed := ""
	err := p.invoke(ctx, u, func(vm *script.VM, d *script.Object, c *userContext, done func(error)) error {
		if err := h.begin(vm, d, c); err != nil {
			return err
		}
		series(vm, d, "before", h.before, []any{c.params, c.object}, done)
		return nil
	}, func(vm *script.VM) error {
		v, err := method(vm, p.driver, "changed", h.step, p.contextOf(u).params, p.reader.target())
		if err == nil {
			changed = v.String()
		}
		return err
	})
	if err != nil || changed == "" {
		return h.static, err
	}
	return h.make(changed)
}

// make reads the request that hooks have made.
func (h *requestHooks) make(changed string) (q *plan.Request, err error) {
	h.processor.mu.Lock()
	defer h.processor.mu.Unlock()
	if q, ok := h.made[changed]; ok {
		return q, nil
	}
	defer whittle.Caught(&err)
	n, err := jsonNode(changed, h.processor.reader.hooked)
	if err != nil {
		return nil, err
	}
	made := h.processor.reader.madeRequest(h.static, n)
	if len(h.made) >= maxMade {
		clear(h.made)
	}
	h.made[changed] = made
	return made, nil
}

// respond runs afterResponse.
func (h *requestHooks) respond(ctx context.Context, u plan.User, a *expr.Response) error {
	return h.processor.invoke(ctx, u, func(vm *script.VM, d *script.Object, c *userContext, done func(error)) error {
		if len(h.before) == 0 {
			if err := h.begin(vm, d, c); err != nil {
				return err
			}
		}
		text, whole := a.BodyText()
		if !whole {
			return whittle.Errorf(whittle.ResourceExhausted, "a response of more than %d bytes is not given to functions", expr.MaxBody)
		}
		response, err := method(vm, d, "response", a.Status, headersOf(vm, a.Head), text, c.params.Get("url"))
		if err != nil {
			return err
		}
		series(vm, d, "after", h.after, []any{c.params, response, c.object}, done)
		return nil
	}, nil)
}

// headersOf are a response's headers as Node gives them: names in lower case, several of
// one name joined, but for set-cookie, which is a list.
func headersOf(vm *script.VM, head []byte) *script.Object {
	out := vm.NewObject()
	joined, cookies := map[string]string{}, []any{}
	var order []string
	for line := range bytes.SplitSeq(head, []byte("\r\n")) {
		name, value, ok := bytes.Cut(line, []byte{':'})
		if !ok {
			continue
		}
		key, text := strings.ToLower(string(name)), string(bytes.TrimSpace(value))
		if key == "set-cookie" {
			cookies = append(cookies, text)
			continue
		}
		if before, ok := joined[key]; ok {
			joined[key] = before + ", " + text
			continue
		}
		order = append(order, key)
		joined[key] = text
	}
	for _, key := range order {
		_ = out.Set(key, joined[key])
	}
	if len(cookies) > 0 {
		_ = out.Set("set-cookie", vm.NewArray(cookies...))
	}
	return out
}

// functionLoop is a whileTrue that names a function: it is called after each round.
func (r *reader) functionLoop(f *script.Function) func(context.Context, plan.User) bool {
	p := r.processor
	return func(ctx context.Context, u plan.User) bool {
		again := false
		err := p.invoke(ctx, u, func(vm *script.VM, d *script.Object, c *userContext, done func(error)) error {
			_, err := method(vm, d, "more", f.Value(), c.object, vm.ToValue(func(b bool) {
				again = b
				done(nil)
			}))
			return err
		}, nil)
		if err != nil {
			u.ScriptFailed(ctx, err)
			return false
		}
		return again
	}
}

// method calls a method of an object of the engine.
func method(vm *script.VM, o *script.Object, name string, args ...any) (script.Value, error) {
	return script.Apply(vm, o.Get(name), o, args...)
}

// jsNumber is a number as JavaScript writes it.
func jsNumber(text string) string {
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return text
	case f == math.Trunc(f) && math.Abs(f) < 1e21:
		return strconv.FormatFloat(f+0, 'f', -1, 64)
	case math.Abs(f) < 1e21 && math.Abs(f) >= 1e-6:
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	out := strconv.FormatFloat(f, 'e', -1, 64)
	return strings.Replace(strings.Replace(out, "e+0", "e+", 1), "e-0", "e-", 1)
}

// jsonNode reads JSON into nodes, all of them at one position of the plan.
func jsonNode(text string, at plan.Position) (*node, error) {
	d, ok := expr.ParseDocument(text)
	if !ok {
		return nil, at.Invalid("not JSON, or of more than %d values", expr.MaxDocuments)
	}
	return nodeOf(d, at), nil
}

func nodeOf(d *expr.Document, at plan.Position) *node {
	n := &node{Position: at, kind: d.Kind}
	for i := range d.Items {
		item := nodeOf(&d.Items[i], at)
		if d.Kind == expr.KindMap {
			n.fields = append(n.fields, field{d.Names()[i], at, item})
		} else {
			n.items = append(n.items, item)
		}
	}
	if d.Kind == expr.KindString || d.Kind == expr.KindNumber || d.Kind == expr.KindBool {
		n.text = d.Value().Text
	}
	return n
}

// appendJSON writes a value as JSON, expressions in it as they stand.
func (n *node) appendJSON(dst []byte) []byte {
	switch n.kind {
	case expr.KindString:
		return expr.AppendJSONString(dst, n.text)
	case expr.KindNumber:
		return append(dst, jsNumber(n.text)...)
	case expr.KindBool:
		return append(dst, n.text...)
	case expr.KindList:
		dst = append(dst, '[')
		for i, item := range n.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.appendJSON(dst)
		}
		return append(dst, ']')
	case expr.KindMap:
		dst = append(dst, '{')
		for i, f := range n.fields {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(expr.AppendJSONString(dst, f.name), ':')
			dst = f.value.appendJSON(dst)
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}
