package artillery

import (
	"context"
	_ "embed"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/script"
)

// processor is the JavaScript of a plan: one module, and one engine for the whole run,
// as an Artillery process has it. What it keeps is seen by all users, and its functions
// run one at a time.
type processor struct {
	*script.Runtime
	module *script.Module
	reader *reader
	// path is the module's, as the plan has it.
	path string

	// functions are those that the plan names; nil: the module exports none of that
	// name.
	functions map[string]*script.Function
	mu        sync.Mutex // guards the reader, once the run has begun

	// driver calls them; it belongs to the engine.
	driver *script.Object
}

//go:embed driver.js
var driverSource string

// processor reads config.processor: the path of a module in the plan's folder. It is run
// at once, so that its mistakes are the plan's.
func (r *reader) loadProcessor(n *node) {
	var name string
	str(&name)(n)
	p := &processor{reader: r, path: name, functions: map[string]*script.Function{}}
	root, within, module := scriptFolder(r.Source.Folder, name)
	p.Runtime = r.newRuntime(n, root, within)
	r.Plan.Rest = p.Rest
	var err error
	if p.module, err = p.Load(context.Background(), module); err != nil {
		panic(n.Errorf(whittle.CodeOf(err), "the processor %s: %v", name, err))
	}
	r.processor = p
}

// scriptFolder is the folder that a plan's scripts are read from: the plan's own or, where
// its processor is above that, the one that holds both. Within is the plan's within it,
// module the processor's path.
func scriptFolder(folder, name string) (root, within, module string) {
	module = path.Clean(strings.ReplaceAll(name, `\`, "/"))
	for strings.HasPrefix(module, "../") && folder != "" {
		at, err := filepath.Abs(folder)
		if err != nil || filepath.Dir(at) == at {
			break
		}
		folder, within, module = filepath.Dir(at), path.Join(filepath.Base(at), within), module[len("../"):]
	}
	return folder, within, path.Join(module)
}

// newRuntime makes the engine of the plan's scripts.
func (r *reader) newRuntime(n *node, root, within string) *script.Runtime {
	o := script.Options{
		Within:  within,
		Getenv:  func(name string) (string, bool) { v := r.Source.Env(name); return v, v != "" },
		Console: r.Plan.Console.Print,
	}
	if root != "" {
		files, err := r.folder(root)
		if err != nil {
			panic(n.Errorf(whittle.CodeOf(err), "%v", err))
		}
		o.Files = files
	}
	return script.New(o)
}

// folder has the files of the plan's folder, or of one above it.
func (r *reader) folder(root string) (fs.FS, error) {
	if f := r.Source.Files; f != nil {
		return f.Folder(root)
	}
	return script.FolderFS(root)
}

// includeFiles reads config.includeFiles: what scripts read during the run. It goes to
// other processes with the plan; here, it is there.
func (r *reader) includeFiles(n *node) {
	if r.Source.Files == nil || r.Source.Folder == "" {
		return
	}
	files, err := r.folder(r.Source.Folder)
	for _, item := range n.each() {
		if err == nil {
			_, err = fs.Stat(files, path.Clean(item.text))
		}
		if err != nil {
			panic(item.Errorf(whittle.NotFound, "%s cannot be sent with the plan: %v", item.text, err))
		}
	}
}

// function finds a function of the processor. One that is not there is passed over, as
// Artillery does, and the report says so. The plan then has scripts.
func (r *reader) function(n *node, name string) *script.Function {
	if r.processor == nil {
		r.note(n, "the function %s is passed over, as Artillery does: the plan has no config.processor", name)
		return nil
	}
	f, known := r.processor.functions[name]
	if !known {
		f = r.processor.module.Function(name)
		r.processor.functions[name] = f
	}
	if f == nil {
		r.note(n, "the function %s is passed over, as Artillery does: %s exports none of that name", name, r.processor.path)
		return nil
	}
	r.Plan.Scripted = true
	return f
}

// driverOf is the driver of an engine, made at its first use.
func (p *processor) driverOf(vm *script.VM) (*script.Object, error) {
	if p.driver != nil {
		return p.driver, nil
	}
	build, err := vm.RunScript("node:driver", driverSource)
	if err != nil {
		return nil, err
	}
	d, err := script.Apply(vm, build, nil)
	if err != nil {
		return nil, err
	}
	p.driver = d.(*script.Object)
	return p.driver, nil
}

// contextKey is where a user's context is kept.
type contextKey struct{ *processor }

// beforeKey is where the variables that the flow before the run set are kept.
type beforeKey struct{ *processor }

// contextOf is the user's context.
func (p *processor) contextOf(u plan.User) *userContext {
	return u.State(expr.StateOfUser, contextKey{p}, func() any {
		return &userContext{processor: p, extra: map[string]expr.Value{}}
	}).(*userContext)
}

// invoke runs a call of the driver for a user: its variables are there before, and what
// the functions make of them afterwards.
func (p *processor) invoke(ctx context.Context, u plan.User, start func(vm *script.VM, d *script.Object, c *userContext, done func(error)) error, finish func(vm *script.VM) error) error {
	c := p.contextOf(u)
	waited, err := p.Invoke(ctx, func(vm *script.VM, done func(error)) error {
		d, err := p.driverOf(vm)
		if err != nil {
			return err
		}
		if err := c.begin(vm, d, u.Scope()); err != nil {
			return err
		}
		return start(vm, d, c, done)
	}, func(vm *script.VM) error {
		if finish != nil {
			if err := finish(vm); err != nil {
				return err
			}
		}
		return c.vars.store(vm, p.reader.names, u.Scope(), c.extra)
	})
	u.WaitedForScript(waited)
	return err
}
