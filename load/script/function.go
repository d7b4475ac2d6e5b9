package script

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strings"
	"sync"

	"github.com/grafana/sobek"

	"whittle"
)

// Module is what a file of the plan's folder exports.
type Module struct {
	r    *Runtime
	path string
}

// Load runs a module of the plan's folder, with all that it requires, unless it has been
// run before.
func (r *Runtime) Load(ctx context.Context, path string) (*Module, error) {
	_, err := r.Invoke(ctx, func(vm *VM, done func(error)) error {
		exports, err := r.require(vm, path)
		if err != nil {
			return err
		}
		r.files[path] = exports
		done(nil)
		return nil
	}, nil)
	return &Module{r, path}, err
}

// Function is a function that a module exports.
type Function struct{ value Value }

// Function finds one by its name, which may lead into objects: "auth.login". Nil: the
// module exports none of that name.
func (m *Module) Function(name string) *Function {
	var found *Function
	_, _ = m.r.Invoke(context.Background(), func(vm *VM, done func(error)) error {
		exports := m.r.files[m.path]
		v := at(exports, name)
		if !IsFunction(v) { // an ES module may export an object of them
			v = at(exports, "default."+name)
		}
		if IsFunction(v) {
			found = &Function{v}
		}
		done(nil)
		return nil
	}, nil)
	return found
}

// at follows a path from a value; nil: it leads nowhere.
func at(v Value, path string) Value {
	for part := range strings.SplitSeq(path, ".") {
		o, ok := v.(*Object)
		if !ok {
			return nil
		}
		v = o.Get(part)
	}
	return v
}

// Value is the function as a value of the engine.
func (f *Function) Value() Value { return f.value }

// Export is a value of script as one of Go: nil, bool, int64, float64, string, []any,
// map[string]any. Functions are nil. It may be used only within Invoke, and what it
// returns anywhere.
func Export(v Value) (any, error) {
	if v == nil || sobek.IsUndefined(v) || sobek.IsNull(v) {
		return nil, nil
	}
	o, ok := v.(*Object)
	if !ok {
		return v.Export(), nil
	}
	if _, ok := sobek.AssertFunction(o); ok {
		return nil, nil
	}
	if o.ClassName() == "Array" {
		n := o.Get("length").ToInteger()
		if n > maxExported {
			return nil, whittle.Errorf(whittle.ResourceExhausted, "a list of more than %d items", maxExported)
		}
	}
	return o.Export(), nil
}

const maxExported = 1_000_000

// numbers writes numbers, for which the engine needs no state.
var numbers = sync.OnceValue(sobek.New)

// Text is a value that Export gave as JavaScript writes it.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case float64:
		return numbers().ToValue(v).String()
	}
	return fmt.Sprint(v)
}

var frame = regexp.MustCompile(`at (?:[^\n(]*\()?([^\s()]+:\d+:\d+)`)

// firstPlace is the first file that an error's stack names, with a colon; empty: none.
func firstPlace(stack Value) string {
	if stack == nil {
		return ""
	}
	for _, m := range frame.FindAllStringSubmatch(stack.String(), -1) {
		if !strings.HasPrefix(m[1], BuiltinPrefix) {
			return m[1] + ": "
		}
	}
	return ""
}

// IsUndefined reports whether a value is not there at all.
func IsUndefined(v Value) bool { return v == nil || sobek.IsUndefined(v) }

// IsFunction reports whether a value can be called.
func IsFunction(v Value) bool {
	_, ok := sobek.AssertFunction(v)
	return ok
}

// IsNumber reports whether a value is a number that JSON has.
func IsNumber(v Value) bool {
	switch n := v.Export().(type) {
	case int64:
		return true
	case float64:
		return !math.IsNaN(n) && !math.IsInf(n, 0)
	}
	return false
}

// Apply calls a function, the method of an object where this is not nil, with values of
// the engine or of Go. It may be used only within Invoke.
func Apply(vm *VM, f Value, this Value, args ...any) (Value, error) {
	call, ok := sobek.AssertFunction(f)
	if !ok {
		return nil, whittle.Errorf(whittle.Invalid, "what is called is no function")
	}
	if this == nil {
		this = sobek.Undefined()
	}
	values := make([]Value, len(args))
	for i, a := range args {
		values[i] = vm.ToValue(a)
	}
	v, err := call(this, values...)
	return v, problem(err)
}
