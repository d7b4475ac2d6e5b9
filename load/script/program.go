package script

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/grafana/sobek"
	"github.com/grafana/sobek/ast"
	"github.com/grafana/sobek/parser"

	"whittle"
)

// Program is compiled script. One serves any number of runtimes.
type Program struct{ compiled *sobek.Program }

// parserOptions keep the engine from reading source maps, which are files anywhere.
var parserOptions = []parser.Option{parser.WithDisableSourceMaps}

// unlike finds what the engine misreads in a literal pattern: it numbers named groups last, and takes
// \p for p. RegExp refuses the same in a pattern that is made at run time.
var unlike = regexp.MustCompile(`(?m)(?:^|[=(,:;!&|?{}\[\s])/(?:(?:[^/*\s\\]|\\.)(?:[^/\n\\]|\\.)*?)?(\(\?<[\pL_$][\w$]*>|\\[pP]\{\w+)`)

// Compile compiles a script; name is the file's, for errors, which carry line and column
// and have the code whittle.Invalid.
func Compile(name, src string) (*Program, error) {
	if len(src) > maxSource {
		return nil, whittle.Errorf(whittle.ResourceExhausted, "%s: a script has at most %d bytes, this one %d", name, maxSource, len(src))
	}
	tree, err := parse(name, src)
	if err != nil {
		return nil, err
	}
	if at := unlike.FindStringSubmatchIndex(src); at != nil {
		return nil, whittle.Errorf(whittle.Unsupported, "%s:%d: %s in a regular expression is newer than ES2017: write it without", name, 1+strings.Count(src[:at[2]], "\n"), src[at[2]:at[3]])
	}
	compiled, err := sobek.CompileAST(tree, false)
	if err != nil {
		return nil, compileError(name, err)
	}
	return &Program{compiled}, nil
}

// Broken reports whether a text is no JavaScript: the parser finds its syntax wrong. What is
// beyond the engine alone, such as a regular expression that it cannot run, is not.
func Broken(src string) bool {
	_, err := Compile("", src)
	return err != nil && strings.Contains(err.Error(), "SyntaxError: ") && !strings.Contains(strings.ToLower(err.Error()), "regular expression")
}

// parse parses a script whose nesting is bounded: parsers go down a level for a bracket,
// and one without end would use up the process's stack.
func parse(name, src string) (*ast.Program, error) {
	if err := checkNesting(name, src); err != nil {
		return nil, err
	}
	tree, err := parser.ParseFile(nil, name, src, 0, parserOptions...)
	if list, ok := errors.AsType[parser.ErrorList](err); ok && len(list) > 0 {
		return nil, whittle.Errorf(whittle.Invalid, "%s: SyntaxError: %s", list[0].Position.String(), list[0].Message)
	}
	if err != nil {
		return nil, compileError(name, err)
	}
	return tree, nil
}

// checkNesting counts brackets wherever they stand, in texts too.
func checkNesting(name, src string) error {
	depth := 0
	for i := range len(src) {
		switch src[i] {
		case '(', '[', '{':
			if depth++; depth > maxNesting {
				return whittle.Errorf(whittle.ResourceExhausted, "%s: brackets are nested deeper than %d", name, maxNesting)
			}
		case ')', ']', '}':
			depth = max(depth-1, 0)
		}
	}
	return nil
}

// Run runs a program with the given global variables, which are there for its time only,
// and returns the value of its last expression as Export gives it. If that is a promise,
// it waits for it. Values may be texts, numbers, booleans, nil, lists, maps and functions
// of Go: a function's error is thrown as an exception.
func (r *Runtime) Run(ctx context.Context, p *Program, globals map[string]any) (result any, err error) {
	_, err = r.Invoke(ctx, func(vm *VM, done func(error)) error {
		restore := setGlobals(vm, globals)
		defer restore()
		v, err := vm.RunProgram(p.compiled)
		if err != nil {
			return err
		}
		r.Await(vm, v, func(v Value, err error) {
			if err == nil {
				result, err = Export(v)
			}
			done(err)
		})
		return nil
	}, nil)
	return result, err
}

func setGlobals(vm *VM, values map[string]any) (restore func()) {
	global := vm.GlobalObject()
	before := map[string]Value{}
	for name, v := range values {
		before[name] = global.Get(name)
		_ = global.Set(name, v) // a global of the engine's own that is read-only stays
	}
	return func() {
		for name, v := range before {
			if v == nil {
				_ = global.Delete(name)
			} else {
				_ = global.Set(name, v)
			}
		}
	}
}

// Await calls then once, now or later, with v or, where v is a promise, with what it is
// resolved to or the error that it is rejected with.
func (r *Runtime) Await(vm *VM, v Value, then func(Value, error)) {
	object, ok := v.(*Object)
	if !ok {
		then(v, nil)
		return
	}
	next, ok := sobek.AssertFunction(object.Get("then"))
	if !ok {
		then(v, nil)
		return
	}
	if p, ok := object.Export().(*sobek.Promise); ok && p.State() == sobek.PromiseStateFulfilled {
		then(p.Result(), nil)
		return
	}
	_, err := next(object,
		vm.ToValue(func(v Value) { then(v, nil) }),
		vm.ToValue(func(v Value) { then(nil, Thrown(v)) }))
	if err != nil {
		then(nil, problem(err))
	}
}

// Thrown is the error of a value that a script has thrown, or rejected a promise with.
func Thrown(v Value) error {
	at := ""
	if o, ok := v.(*Object); ok {
		at = firstPlace(o.Get("stack"))
	}
	return whittle.Errorf(whittle.Invalid, "%s%s", at, Describe(v))
}
