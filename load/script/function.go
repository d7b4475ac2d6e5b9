package script

import (
	"context"
	"regexp"
	"strings"

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
type Function struct {
	r    *Runtime
	Name string
	call sobek.Callable
	// Arity is how many parameters it declares.
	Arity int
}

// Function finds one by its name, which may lead into objects: "auth.login". Nil: the
// module exports none of that name.
func (m *Module) Function(name string) *Function {
	var found *Function
	_, _ = m.r.Invoke(context.Background(), func(vm *VM, done func(error)) error {
		v := m.r.files[m.path]
		for part := range strings.SplitSeq(name, ".") {
			o, ok := v.(*Object)
			if !ok {
				v = nil
				break
			}
			v = o.Get(part)
		}
		if call, ok := sobek.AssertFunction(v); ok {
			found = &Function{r: m.r, Name: name, call: call, Arity: int(v.(*Object).Get("length").ToInteger())}
		}
		done(nil)
		return nil
	}, nil)
	return found
}

// Apply calls the function. It may be used only within Invoke.
func (f *Function) Apply(args ...Value) (Value, error) {
	v, err := f.call(sobek.Undefined(), args...)
	return v, problem(err)
}

// Call calls the function with values of Go, waits for its promise if it returns one, and
// returns what Export makes of the result.
func (f *Function) Call(ctx context.Context, args ...any) (result any, err error) {
	_, err = f.r.Invoke(ctx, func(vm *VM, done func(error)) error {
		values := make([]Value, len(args))
		for i, a := range args {
			values[i] = vm.ToValue(a)
		}
		v, err := f.Apply(values...)
		if err != nil {
			return err
		}
		f.r.Await(vm, v, func(v Value, err error) {
			if err == nil {
				result, err = Export(v)
			}
			done(err)
		})
		return nil
	}, nil)
	return result, err
}

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

var frame = regexp.MustCompile(`at (?:[^\n(]*\()?([^\s()]+:\d+:\d+)`)

// firstPlace is the first file that an error's stack names, with a colon; empty: none.
func firstPlace(stack Value) string {
	if stack == nil {
		return ""
	}
	for _, m := range frame.FindAllStringSubmatch(stack.String(), -1) {
		if !strings.HasPrefix(m[1], builtinPrefix) {
			return m[1] + ": "
		}
	}
	return ""
}
