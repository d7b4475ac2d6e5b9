package gosource

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"iter"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// result is a value that a function of the service's own returns.
type result struct {
	of *types.Func
	at int
}

// value is what a variable was given: the result of an expression that has several, from
// 0 on.
type value struct {
	of ast.Expr
	at int
}

// edge says that a router's routes stand below another one's.
type edge struct {
	parent any // a place
	prefix string
}

// registration is a route that a router was given.
type registration struct {
	router any // a place; nil: the outermost
	method string
	path   string
	serves []string // keys of functions
}

// finder follows routers through a service's code. A place is what holds a router: a
// variable, a field, a parameter (types.Object), or a result. Places that hold the
// same router are one; a group or a mount stands below its parent by a prefix.
type finder struct {
	set  *token.FileSet
	info *types.Info

	same    map[any]any    // union-find over places
	parents map[any][]edge // by place
	values  map[types.Object]value
	bodies  map[*types.Func]*ast.FuncDecl
	methods map[*ast.CallExpr][]string // of gorilla's routes, by the call that names the handler
	all     []registration
	served  map[string]bool // procedures
	before  map[string]bool // functions that stand before many handlers
	unsaid  map[string]bool // functions with a route that could not be said whole
	later   []func()        // what needs every body to be known
	// literals are the names that the compiler gives functions without one, and lines how
	// many of them begin at a line.
	literals map[*ast.FuncLit]string
	lines    map[string]int
	grouped  map[types.Object]bool // parameters whose router may be below another one
}

// unknown is a prefix that only the running service knows, and uncalled that of a router
// that a function is given which nobody is seen to call.
const (
	unknown  = "\x00"
	uncalled = "\x01"
)

func newFinder(set *token.FileSet, info *types.Info) *finder {
	return &finder{
		set: set, info: info, same: map[any]any{}, parents: map[any][]edge{}, values: map[types.Object]value{},
		bodies: map[*types.Func]*ast.FuncDecl{}, methods: map[*ast.CallExpr][]string{}, served: map[string]bool{}, before: map[string]bool{}, unsaid: map[string]bool{},
		literals: map[*ast.FuncLit]string{}, lines: map[string]int{}, grouped: map[types.Object]bool{},
	}
}

// file reads one file. What it registers is worked out when all are read.
func (f *finder) file(file *ast.File) {
	standard := true
	for _, i := range file.Imports {
		if at, err := strconv.Unquote(i.Path.Value); err == nil && (strings.HasPrefix(at, "github.com/gorilla/mux") || strings.HasPrefix(at, "github.com/go-chi/chi")) {
			standard = false
		}
	}
	for _, d := range file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if ok {
			if o, ok := f.info.Defs[fn.Name].(*types.Func); ok {
				f.bodies[o] = fn
				f.name(fn, nameOf(o)+".func")
			}
			f.group(fn.Type)
		}
		f.walk(d, standard)
	}
}

// name names the functions without a name within a node as the compiler does: it numbers
// those of one function in the order of their source.
func (f *finder) name(within ast.Node, prefix string) {
	n := 0
	ast.Inspect(within, func(node ast.Node) bool {
		literal, ok := node.(*ast.FuncLit)
		if !ok {
			return true
		}
		n++
		f.literals[literal] = prefix + strconv.Itoa(n)
		f.name(literal.Body, f.literals[literal]+".")
		return false
	})
}

// group remembers the parameters that are routers of a kind that stands below others.
func (f *finder) group(of *ast.FuncType) {
	for _, field := range of.Params.List {
		t := field.Type
		if star, ok := t.(*ast.StarExpr); ok {
			t = star.X
		}
		s, ok := t.(*ast.SelectorExpr)
		if !ok || !groups[s.Sel.Name] {
			continue
		}
		for _, name := range field.Names {
			if o := f.info.Defs[name]; o != nil {
				f.grouped[o] = true
			}
		}
	}
}

// groups are the types of echo's, gin's, chi's, fiber's, gorilla's and iris's such routers.
var groups = map[string]bool{"Group": true, "RouterGroup": true, "IRouter": true, "IRoutes": true, "Router": true, "Party": true}

var procedureText = regexp.MustCompile(`^/[A-Za-z_][\w.]*/\w+$`)

func (f *finder) walk(d ast.Decl, standard bool) {
	var inside *types.Func
	literals := 0 // function literals around what is looked at
	if fn, ok := d.(*ast.FuncDecl); ok {
		inside, _ = f.info.Defs[fn.Name].(*types.Func)
	}
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			f.lines[f.at(n)]++
			f.group(n.Type)
			literals++
			ast.Inspect(n.Body, visit)
			literals--
			return false
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if len(n.Lhs) == len(n.Rhs) {
					f.assign(left, n.Rhs[i], 0)
				} else {
					f.assign(left, n.Rhs[0], i)
				}
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if c, ok := f.info.Defs[name].(*types.Const); ok && c.Val().Kind() == constant.String {
					if text := constant.StringVal(c.Val()); procedureText.MatchString(text) {
						f.served[text] = true
					}
				}
				if i < len(n.Values) && len(n.Values) == len(n.Names) {
					f.assign(name, n.Values[i], 0)
				}
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok {
				f.assign(key, n.Value, 0)
			}
		case *ast.ReturnStmt:
			if inside != nil && literals == 0 {
				for i, r := range n.Results {
					f.hold(result{inside, i}, r)
				}
			}
		case *ast.CompositeLit:
			f.fields(n)
		case *ast.CallExpr:
			f.call(n, standard)
		}
		return true
	}
	ast.Inspect(d, visit)
}

// fields has the fields of a struct hold what a literal without keys gives them.
func (f *finder) fields(literal *ast.CompositeLit) {
	t := f.info.TypeOf(literal)
	if t == nil {
		return
	}
	s, ok := t.Underlying().(*types.Struct)
	for i, e := range literal.Elts {
		if _, keyed := e.(*ast.KeyValueExpr); !ok || keyed || i >= s.NumFields() {
			return
		}
		if o := variable(s.Field(i)); o != nil {
			f.given(o, e, 0)
		}
	}
}

// assign has a place hold what an expression gives.
func (f *finder) assign(left ast.Expr, right ast.Expr, at int) {
	if o := f.object(left); o != nil {
		f.given(o, right, at)
	}
}

// given has a variable hold what an expression gives.
func (f *finder) given(o types.Object, right ast.Expr, at int) {
	f.values[o] = value{right, at}
	if call, ok := ast.Unparen(right).(*ast.CallExpr); ok {
		if fn := f.function(call.Fun); fn != nil {
			f.unite(o, result{fn, at})
			f.wrap(o, "", call)
			return
		}
	}
	if at == 0 {
		f.hold(o, right)
	}
}

// hold says that a place has the router of an expression.
func (f *finder) hold(place any, e ast.Expr) {
	router, prefix, ok := f.router(e)
	switch {
	case !ok || router == nil && prefix == "":
	case prefix == "":
		f.unite(place, router)
	default:
		f.below(place, router, prefix)
	}
	f.wrap(place, "", e)
}

func (f *finder) below(place, parent any, prefix string) {
	place = f.one(place)
	if parent != nil {
		parent = f.one(parent)
	}
	if place != parent {
		f.parents[place] = append(f.parents[place], edge{parent, prefix})
	}
}

// one is the place that stands for all that hold the same router.
func (f *finder) one(place any) any {
	for f.same[place] != nil {
		place = f.same[place]
	}
	return place
}

func (f *finder) unite(a, b any) {
	if a, b = f.one(a), f.one(b); a != b {
		f.same[a] = b
		f.parents[b] = append(f.parents[b], f.parents[a]...)
	}
}

// object is the variable, or field, that an expression names.
func (f *finder) object(e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if o := f.info.Defs[e]; o != nil {
			return variable(o)
		}
		return variable(f.info.Uses[e])
	case *ast.SelectorExpr:
		return variable(f.info.Uses[e.Sel])
	case *ast.StarExpr:
		return f.object(e.X)
	case *ast.UnaryExpr:
		return f.object(e.X)
	}
	return nil
}

func variable(o types.Object) types.Object {
	if v, ok := o.(*types.Var); ok {
		return v.Origin()
	}
	return nil
}

// function is the function of the service's own that an expression names.
func (f *finder) function(e ast.Expr) *types.Func {
	var o types.Object
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		o = f.info.Uses[e]
	case *ast.SelectorExpr:
		o = f.info.Uses[e.Sel]
	case *ast.IndexExpr:
		return f.function(e.X)
	case *ast.IndexListExpr:
		return f.function(e.X)
	}
	if fn, ok := o.(*types.Func); ok {
		return fn.Origin()
	}
	return nil
}

// selector gives the receiver and the name of a call of a method that is not the
// service's own, or of another package's function.
func (f *finder) selector(call *ast.CallExpr) (x ast.Expr, name string) {
	s, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || f.function(s) != nil {
		return nil, ""
	}
	return s.X, s.Sel.Name
}

// router gives the place that holds an expression's router, and the prefix below it.
// A nil place is a router that stands below none.
func (f *finder) router(e ast.Expr) (place any, prefix string, ok bool) {
	e = ast.Unparen(e)
	if o := f.object(e); o != nil {
		return o, "", true
	}
	switch e := e.(type) {
	case *ast.Ident:
		return nil, "", f.isPackage(e)
	case *ast.CallExpr:
		if fn := f.function(e.Fun); fn != nil {
			return result{fn, 0}, "", true
		}
		x, name := f.selector(e)
		switch name {
		case "":
			return nil, "", false
		case "Group", "NewGroup", "PathPrefix", "Path", "Route", "Party":
			if len(e.Args) > 0 {
				prefix = f.prefix(e.Args[0])
			}
		case "Subrouter", "Methods", "Headers", "Host", "Schemes", "Queries", "Name", "With", "Use", "NewRoute", "StrictSlash":
		default: // what another package makes is a router of its own, if it is one
			return nil, "", f.isPackage(x)
		}
		place, before, ok := f.router(x)
		return place, before + prefix, ok
	}
	return nil, "", false
}

func (f *finder) isPackage(e ast.Expr) bool {
	name, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return false
	}
	_, ok = f.info.Uses[name].(*types.PkgName)
	return ok
}

// text is a string that the compiler knows.
func (f *finder) text(e ast.Expr) (string, bool) {
	if v := f.info.Types[e].Value; v != nil && v.Kind() == constant.String {
		return constant.StringVal(v), true
	}
	return "", false
}

// prefix is a path that stands before others. A function is none.
func (f *finder) prefix(e ast.Expr) string {
	if _, literal := ast.Unparen(e).(*ast.FuncLit); literal || f.function(e) != nil {
		return ""
	}
	if text, ok := f.text(e); ok {
		return text
	}
	return unknown
}

// methodOf is a request's method: a text, or a name such as http.MethodGet.
func (f *finder) methodOf(e ast.Expr) (string, bool) {
	text, ok := f.text(e)
	if s, isName := e.(*ast.SelectorExpr); !ok && isName {
		text, ok = strings.CutPrefix(s.Sel.Name, "Method")
	}
	text = strings.ToUpper(text)
	return text, ok && verbs[text]
}

// verbs are the methods that routers have functions for.
var verbs = map[string]bool{
	http.MethodGet: true, http.MethodPost: true, http.MethodPut: true, http.MethodPatch: true, http.MethodDelete: true,
	http.MethodHead: true, http.MethodOptions: true, http.MethodConnect: true, http.MethodTrace: true,
}

// call takes in a call: a route, a group, a mount, a router that is passed on.
func (f *finder) call(call *ast.CallExpr, standard bool) {
	if fn := f.function(call.Fun); fn != nil {
		f.pass(fn, call.Args)
		if r := fn.Signature().Recv(); r != nil && types.IsInterface(r.Type()) {
			f.later = append(f.later, func() { f.passAny(fn, call.Args) })
		}
		return
	}
	x, name := f.selector(call)
	if x == nil {
		return
	}
	switch name {
	case "Methods":
		f.chained(call, x)
	case "Use", "With", "Pre":
		f.use(call, x)
	case "Route", "Group", "WithGroup", "Party", "PartyFunc":
		f.nested(call, x)
		if (name == "Group" || name == "Party") && len(call.Args) > 1 {
			if _, ok := f.text(call.Args[0]); ok {
				f.middlewares(call.Args[1:])
			}
		}
	case "Match":
		f.match(call, x)
	case "Mount":
		if len(call.Args) == 2 {
			f.mount(x, f.prefix(call.Args[0]), call.Args[1])
		}
	case "Handle", "HandleFunc", "Method", "MethodFunc", "Add":
		f.handle(call, x, standard && name != "Method" && name != "MethodFunc")
	case "Handler", "HandlerFunc": // gorilla's, at the end of a chain
		if len(call.Args) == 1 && !f.isPackage(x) {
			if inner, _, ok := f.stripped(call.Args[0]); ok { // of what the chain's PathPrefix adds
				f.mount(x, "", inner)
			}
			f.later = append(f.later, func() { f.register(x, f.chain(x), "", call.Args, call) })
		}
	case "Any", "All":
		f.verb(call, x, "")
	default:
		if verbs[strings.ToUpper(name)] {
			f.verb(call, x, strings.ToUpper(name))
		}
	}
}

// pass gives an own function's parameters the routers that it is called with.
func (f *finder) pass(fn *types.Func, args []ast.Expr) {
	params := fn.Signature().Params()
	for i, arg := range args {
		if i >= params.Len() {
			return
		}
		if router, prefix, ok := f.router(arg); ok {
			f.later = append(f.later, func() {
				if !f.takesHandler(fn, i) { // a router that it may fill, and not one to put something around
					f.below(params.At(i), router, prefix)
				}
			})
		}
	}
}

// passAny passes routers to a method of an interface: to those of all types that may be
// behind it.
func (f *finder) passAny(method *types.Func, args []ast.Expr) {
	for fn := range f.bodies {
		if fn.Name() == method.Name() && fn.Signature().Recv() != nil && fn.Signature().Params().Len() == method.Signature().Params().Len() {
			f.pass(fn, args)
		}
	}
}

// calls are the calls of a chain such as r.Path("/x").Methods("GET"), the last first, by
// what they call.
func (f *finder) calls(x ast.Expr) iter.Seq2[*ast.CallExpr, string] {
	return func(yield func(*ast.CallExpr, string) bool) {
		for {
			call, ok := ast.Unparen(x).(*ast.CallExpr)
			if !ok {
				return
			}
			var name string
			if x, name = f.selector(call); x == nil || !yield(call, name) {
				return
			}
		}
	}
}

// methodsOf are the methods among some expressions.
func (f *finder) methodsOf(all []ast.Expr) (out []string) {
	for _, e := range all {
		if m, ok := f.methodOf(e); ok {
			out = append(out, m)
		}
	}
	return out
}

// chained keeps the methods of gorilla's r.HandleFunc(…).Methods("GET") for the route.
func (f *finder) chained(call *ast.CallExpr, x ast.Expr) {
	for inner, name := range f.calls(x) {
		if name == "HandleFunc" || name == "Handle" || name == "HandlerFunc" || name == "Handler" {
			f.methods[inner] = append(f.methods[inner], f.methodsOf(call.Args)...)
			return
		}
	}
}

// chain are the methods of gorilla's r.Methods("GET").Path("/x").HandlerFunc(h).
func (f *finder) chain(x ast.Expr) (out []string) {
	for call, name := range f.calls(x) {
		if name == "Methods" {
			out = append(out, f.methodsOf(call.Args)...)
		}
	}
	return out
}

// nested gives the router of r.Route("/x", func(r Router) {…}), or of r.Group with
// a function, its prefix.
func (f *finder) nested(call *ast.CallExpr, x ast.Expr) {
	prefix := ""
	for i, arg := range call.Args {
		if i == 0 {
			if prefix = f.prefix(arg); prefix != "" {
				continue
			}
		}
		place, before, ok := f.router(x)
		if !ok {
			return
		}
		if literal, ok := arg.(*ast.FuncLit); ok {
			if names := literal.Type.Params.List; len(names) > 0 && len(names[0].Names) > 0 {
				if o := f.info.Defs[names[0].Names[0]]; o != nil {
					f.below(o, place, before+prefix)
				}
			}
		} else if fn := f.function(arg); fn != nil && fn.Signature().Params().Len() > 0 {
			f.below(fn.Signature().Params().At(0), place, before+prefix)
		}
	}
}

// verb takes in r.GET("/x", …, h).
func (f *finder) verb(call *ast.CallExpr, x ast.Expr, method string) {
	if len(call.Args) < 2 {
		return
	}
	if at, ok := f.text(call.Args[0]); ok && (at == "" || at[0] == '/' || at == "*") {
		f.later = append(f.later, func() { f.register(x, []string{method}, at, call.Args[1:], call) })
	}
}

// match takes in r.Match([]string{"GET", "POST"}, "/x", h).
func (f *finder) match(call *ast.CallExpr, x ast.Expr) {
	if len(call.Args) < 3 {
		return
	}
	list, isList := ast.Unparen(call.Args[0]).(*ast.CompositeLit)
	at, ok := f.text(call.Args[1])
	if !isList || !ok {
		return
	}
	f.later = append(f.later, func() { f.register(x, f.methodsOf(list.Elts), at, call.Args[2:], call) })
}

// middlewares takes in functions that are called before those of many routes, and so
// are no route's, though one may name them again.
func (f *finder) middlewares(all []ast.Expr) {
	f.later = append(f.later, func() {
		for _, e := range all {
			for _, s := range f.handlers(e, 0) {
				f.before[s] = true
			}
		}
	})
}

// handle takes in mux.Handle("GET /x", h) and r.Handle("GET", "/x", h).
func (f *finder) handle(call *ast.CallExpr, x ast.Expr, standard bool) {
	if len(call.Args) < 2 {
		return
	}
	if m, ok := f.methodOf(call.Args[0]); ok && len(call.Args) > 2 {
		if at, ok := f.text(call.Args[1]); ok {
			f.later = append(f.later, func() { f.register(x, []string{m}, at, call.Args[2:], call) })
		}
		return
	}
	pattern, ok := f.text(call.Args[0])
	slash := strings.IndexByte(pattern, '/')
	if !ok {
		if inner, _, ok := f.stripped(call.Args[1]); ok {
			f.mount(x, unknown, inner)
		}
	}
	if !ok || slash < 0 {
		return
	}
	method, _, _ := strings.Cut(pattern[:slash], " ")
	at := pattern[slash:]
	if !verbs[method] {
		method = ""
	}
	if inner, stripped, ok := f.stripped(call.Args[1]); ok {
		f.mount(x, stripped, inner)
	} else {
		f.mount(x, "", call.Args[1])
	}
	if standard {
		at = strings.TrimSuffix(at, "{$}")
		if strings.HasSuffix(pattern, "/") {
			at += "{path...}"
		}
	}
	f.later = append(f.later, func() { f.register(x, []string{method}, at, call.Args[1:2], call) })
}

func (f *finder) register(x ast.Expr, methods []string, at string, handlers []ast.Expr, call *ast.CallExpr) {
	place, before, ok := f.router(x)
	if !ok {
		return
	}
	if more := f.methods[call]; len(more) > 0 {
		methods = more
	}
	if len(methods) == 0 {
		methods = []string{""}
	}
	var serves []string
	for _, h := range handlers {
		serves = append(serves, f.handlers(h, 0)...)
	}
	if len(serves) == 0 {
		return
	}
	for _, m := range methods {
		f.all = append(f.all, registration{place, m, before + at, serves})
	}
}

// maxWrapped bounds how many calls and variables a handler is looked for behind.
const maxWrapped = 8

// handlers are the keys of the functions that an expression has a router call.
func (f *finder) handlers(e ast.Expr, depth int) []string {
	if depth > maxWrapped {
		return nil
	}
	e = ast.Unparen(e)
	if fn := f.function(e); fn != nil {
		return []string{nameOf(fn)}
	}
	switch e := e.(type) {
	case *ast.FuncLit:
		if at := f.at(e); f.lines[at] > 1 && f.literals[e] != "" {
			return []string{f.literals[e], at}
		}
		return []string{f.at(e)}
	case *ast.UnaryExpr:
		return f.handlers(e.X, depth+1)
	case *ast.CallExpr:
		var out []string
		for _, a := range e.Args {
			out = append(out, f.handlers(a, depth+1)...)
		}
		if fn := f.function(e.Fun); fn != nil && len(out) == 0 {
			out = f.returned(fn, 0, depth+1)
		}
		if len(out) > 0 {
			return out
		}
	}
	if v := f.values[f.object(e)]; v.of != nil && v.of != e {
		if out := f.held(v, depth+1); len(out) > 0 {
			return out
		}
	}
	return f.serveHTTP(e)
}

// held are the handlers that a variable was given.
func (f *finder) held(v value, depth int) []string {
	if call, ok := ast.Unparen(v.of).(*ast.CallExpr); ok && v.at > 0 {
		if fn := f.function(call.Fun); fn != nil {
			return f.returned(fn, v.at, depth)
		}
		return nil
	}
	return f.handlers(v.of, depth)
}

// returned are the functions that an own function returns as one of its results.
func (f *finder) returned(fn *types.Func, at, depth int) []string {
	body := f.bodies[fn]
	if body == nil || body.Body == nil {
		return nil
	}
	var out []string
	ast.Inspect(body.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			if at < len(n.Results) {
				out = append(out, f.handlers(n.Results[at], depth+1)...)
			}
		}
		return true
	})
	return out
}

// serveHTTP is the method ServeHTTP of an own type's value.
func (f *finder) serveHTTP(e ast.Expr) []string {
	t := f.info.TypeOf(e)
	if t == nil {
		return nil
	}
	if _, isInterface := t.Underlying().(*types.Interface); isInterface {
		return nil
	}
	o, _, _ := types.LookupFieldOrMethod(t, true, nil, "ServeHTTP")
	if fn, ok := o.(*types.Func); ok {
		return []string{nameOf(fn.Origin())}
	}
	return nil
}

// at is the key of a function without a name, and of others that begin at its line.
func (f *finder) at(literal *ast.FuncLit) string {
	p := f.set.Position(literal.Pos())
	return p.Filename + ":" + strconv.Itoa(p.Line)
}

// nameOf is a function's key: its name as Go's profiles write it.
func nameOf(fn *types.Func) string {
	pkg := ""
	if fn.Pkg() != nil {
		if pkg = fn.Pkg().Path(); fn.Pkg().Name() == "main" {
			pkg = "main"
		}
	}
	receiver := fn.Signature().Recv()
	if receiver == nil {
		return pkg + "." + fn.Name()
	}
	t, pointer := receiver.Type(), false
	if p, ok := t.(*types.Pointer); ok {
		t, pointer = p.Elem(), true
	}
	name := ""
	if n, ok := t.(*types.Named); ok {
		name = n.Obj().Name()
	}
	if pointer {
		return pkg + ".(*" + name + ")." + fn.Name()
	}
	return pkg + "." + name + "." + fn.Name()
}
