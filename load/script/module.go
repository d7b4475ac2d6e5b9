package script

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/grafana/sobek"

	"whittle"
)

// require runs a module by its path in the plan's folder.
func (r *Runtime) require(vm *VM, name string) (Value, error) {
	clean := path.Clean(strings.ReplaceAll(name, `\`, "/"))
	if !fs.ValidPath(clean) {
		return nil, whittle.Errorf(whittle.PermissionDenied, "%s is outside of the plan's folder, from which alone scripts are read", name)
	}
	at, ok := r.resolveFile(clean)
	if !ok {
		return nil, whittle.Errorf(whittle.NotFound, "%s is not in the plan's folder", name)
	}
	return r.load(vm, at)
}

// requireFrom is require as a module in folder calls it.
func (r *Runtime) requireFrom(vm *VM, folder, name string) (Value, error) {
	if strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") || name == "." || name == ".." {
		return r.require(vm, path.Join(folder, name))
	}
	if strings.HasPrefix(name, "/") {
		return nil, whittle.Errorf(whittle.PermissionDenied, "%s is outside of the plan's folder, from which alone scripts are read", name)
	}
	if v, ok, err := r.builtin(vm, name); ok || err != nil {
		return v, err
	}
	for dir := folder; ; dir = path.Dir(dir) {
		if at, ok := r.resolveFile(path.Join(dir, "node_modules", name)); ok {
			return r.load(vm, at)
		}
		if dir == "." {
			break
		}
	}
	return nil, whittle.Errorf(whittle.NotFound, "Cannot find module '%s': it is not in a node_modules of the plan's folder (npm install %s there)", name, packageOf(name))
}

// packageOf is the package of a module's name: "@a/b/c" is of "@a/b".
func packageOf(name string) string {
	parts := strings.Split(name, "/")
	if strings.HasPrefix(name, "@") && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

// resolveFile finds the file of a module as Node does: by its name, with an extension,
// or as a folder with a package.json or an index.
func (r *Runtime) resolveFile(at string) (string, bool) {
	if r.options.Files == nil {
		return "", false
	}
	if r.isFile(at) {
		return at, true
	}
	for _, ext := range []string{".js", ".cjs", ".mjs", ".json", ".ts", ".tsx", ".mts", ".cts"} {
		if r.isFile(at + ext) {
			return at + ext, true
		}
	}
	if main := r.mainOf(at); main != "" {
		if found, ok := r.resolveFile(path.Join(at, main)); ok {
			return found, true
		}
	}
	for _, index := range []string{"index.js", "index.cjs", "index.json", "index.ts"} {
		if r.isFile(path.Join(at, index)) {
			return path.Join(at, index), true
		}
	}
	return r.exported(at)
}

func (r *Runtime) isFile(name string) bool {
	i, err := fs.Stat(r.options.Files, name)
	return err == nil && i.Mode().IsRegular()
}

// manifest is what is read of a package.json.
type manifest struct {
	Main    string          `json:"main"`
	Exports json.RawMessage `json:"exports"`
}

func (r *Runtime) manifest(folder string) (m manifest) {
	if src, err := r.readFile(path.Join(folder, "package.json"), maxSource); err == nil {
		_ = json.Unmarshal(src, &m) // one that is not JSON says nothing
	}
	return m
}

// mainOf is the entry of a package: what it exports for require, else its main.
func (r *Runtime) mainOf(folder string) string {
	m := r.manifest(folder)
	if entry := exportOf(m.Exports, "."); entry != "" {
		return entry
	}
	if m.Main == "." || m.Main == "./" {
		return ""
	}
	return m.Main
}

// exported finds a part of a package by its exports: "pkg/part".
func (r *Runtime) exported(at string) (string, bool) {
	for folder := path.Dir(at); strings.Contains(folder, "node_modules/"); folder = path.Dir(folder) {
		m := r.manifest(folder)
		if len(m.Exports) == 0 {
			continue
		}
		entry := exportOf(m.Exports, "./"+strings.TrimPrefix(at, folder+"/"))
		if entry == "" {
			return "", false
		}
		file := path.Join(folder, entry)
		return file, r.isFile(file)
	}
	return "", false
}

// exportOf looks a part up in a package's exports, under the conditions that require
// has. Empty: it is not there.
func exportOf(exports json.RawMessage, part string) string {
	var parts map[string]json.RawMessage // nil of a text, which is the whole package
	_ = json.Unmarshal(exports, &parts)
	if _, ok := parts["."]; ok || part != "." {
		return conditional(parts[part])
	}
	return conditional(exports)
}

func conditional(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var by map[string]json.RawMessage
	if json.Unmarshal(raw, &by) != nil {
		return ""
	}
	for _, condition := range []string{"require", "node", "default", "import"} {
		if found := conditional(by[condition]); found != "" {
			return found
		}
	}
	return ""
}

// load runs the module in a file, once.
func (r *Runtime) load(vm *VM, file string) (Value, error) {
	if m, ok := r.modules[file]; ok {
		return m.Get("exports"), nil
	}
	if len(r.modules) >= maxModules {
		return nil, whittle.Errorf(whittle.ResourceExhausted, "more than %d modules", maxModules)
	}
	src, err := r.readFile(file, maxSource)
	if err != nil {
		return nil, err
	}
	module := vm.NewObject()
	exports := vm.NewObject()
	_ = module.Set("exports", exports)
	_ = module.Set("id", file)
	_ = module.Set("filename", "/"+file)
	r.modules[file] = module
	if err := r.runModule(vm, file, string(src), module, exports); err != nil {
		delete(r.modules, file)
		return nil, err
	}
	return module.Get("exports"), nil
}

func (r *Runtime) runModule(vm *VM, file, src string, module, exports *Object) error {
	if path.Ext(file) == ".json" {
		v, err := Apply(vm, at(vm.GlobalObject(), "JSON.parse"), nil, strings.TrimPrefix(src, "\ufeff"))
		if err != nil {
			return whittle.Errorf(whittle.Invalid, "%s: %w", file, err)
		}
		return module.Set("exports", v)
	}
	p, err := compileModule(file, src)
	if err != nil {
		return err
	}
	folder := path.Dir(file)
	_ = module.Set("require", r.requirer(vm, folder))
	return callModule(vm, p, exports, module.Get("require"), module, vm.ToValue("/"+file), vm.ToValue(path.Join("/", folder)))
}

// compileModule compiles a module to a function of what CommonJS gives it.
func compileModule(file, src string) (*Program, error) {
	if slices.Contains([]string{".ts", ".tsx", ".mts", ".cts"}, path.Ext(file)) {
		return nil, whittle.Errorf(whittle.Unsupported, "%s is TypeScript: compile it, and name what that makes: %s", file, compiling(file))
	}
	// The module's own lines keep their numbers: what is around them is on the first.
	if strings.HasPrefix(src, "#!") {
		src = "//" + src
	}
	p, err := Compile(file, "(function (exports, require, module, __filename, __dirname) {"+src+"\n})")
	if err != nil && strings.Contains(err.Error(), "SyntaxError: ") {
		err = whittle.Errorf(whittle.Invalid, "%w; import, export and what is newer than ES2017 are compiled before: %s", err, compiling(file))
	}
	return p, err
}

// compiling makes of a module one that the engine runs.
func compiling(file string) string {
	return "npx esbuild " + file + " --bundle --platform=node --format=cjs --target=es2017 --outfile=" +
		strings.TrimSuffix(file, path.Ext(file)) + ".cjs"
}

// requirer is the require of the modules in a folder.
func (r *Runtime) requirer(vm *VM, folder string) Value {
	return vm.ToValue(func(c sobek.FunctionCall) Value {
		v, err := r.requireFrom(vm, folder, strings.TrimPrefix(c.Argument(0).String(), "node:"))
		if err != nil {
			panic(vm.NewGoError(err))
		}
		return v
	})
}

// readFile reads a file of the plan's folder.
func (r *Runtime) readFile(file string, most int64) ([]byte, error) {
	if r.options.Files == nil {
		return nil, whittle.Errorf(whittle.NotFound, "%s cannot be read: the plan is not a file", file)
	}
	if !fs.ValidPath(file) {
		return nil, whittle.Errorf(whittle.PermissionDenied, "%s is outside of the plan's folder, from which alone scripts read", file)
	}
	f, err := r.options.Files.Open(file)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, whittle.Errorf(whittle.NotFound, "ENOENT: no such file in the plan's folder: %s", file)
		}
		return nil, whittle.Errorf(whittle.PermissionDenied, "%s: %w", file, err)
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, whittle.Errorf(whittle.Invalid, "read %s: %w", file, err)
	case int64(len(b)) > most:
		return nil, whittle.Errorf(whittle.ResourceExhausted, "%s has more than %d bytes", file, most)
	}
	return b, nil
}
