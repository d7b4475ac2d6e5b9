package gosource

import (
	"go/ast"
	"go/types"
	"slices"
)

// mount puts a router below another one's prefix, and with it one that it is wrapped around.
func (f *finder) mount(x ast.Expr, prefix string, what ast.Expr) {
	place, before, ok := f.router(x)
	if !ok {
		return
	}
	if child, _, ok := f.router(what); ok && child != nil {
		f.below(child, place, before+prefix)
	}
	f.wrap(place, before+prefix, what)
}

// wrap puts the routers that a call wraps a handler around where the handler is.
func (f *finder) wrap(place any, prefix string, e ast.Expr) {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return
	}
	f.later = append(f.later, func() {
		if !f.isWrapper(call) {
			return
		}
		for _, arg := range call.Args {
			inner, below, ok := f.router(arg)
			if ok && inner != nil && below == "" && !f.above(inner, place, map[any]bool{}) {
				f.below(inner, place, prefix)
			}
			f.wrap(place, prefix, arg)
		}
	})
}

// above reports whether a router is what another one stands below, or that itself.
func (f *finder) above(router, place any, seen map[any]bool) bool {
	if place == nil || seen[place] {
		return false
	}
	if place = f.one(place); place == f.one(router) {
		return true
	}
	seen[place] = true
	return slices.ContainsFunc(f.parents[place], func(e edge) bool { return f.above(router, e.parent, seen) })
}

// isWrapper reports whether a call may give a handler around what it is given: a function of
// the service's own that says so, or another package's that makes no part of a router.
func (f *finder) isWrapper(call *ast.CallExpr) bool {
	if fn := f.function(call.Fun); fn != nil {
		body := f.bodies[fn]
		if body == nil || body.Type.Results == nil || len(body.Type.Results.List) == 0 {
			return false
		}
		return isHandler(body.Type.Results.List[0].Type)
	}
	_, _, stripped := f.stripped(call)
	_, _, part := f.router(call)
	x, _ := f.selector(call)
	return x != nil && !stripped && (!part || f.isPackage(x))
}

// use takes in r.Use(middleware), and fiber's app.Use("/x", another).
func (f *finder) use(call *ast.CallExpr, x ast.Expr) {
	if len(call.Args) > 1 && f.prefix(call.Args[0]) != "" {
		for _, what := range call.Args[1:] {
			f.mount(x, f.prefix(call.Args[0]), what)
		}
	}
	f.middlewares(call.Args)
}

// stripped knows http.StripPrefix("/x", h).
func (f *finder) stripped(e ast.Expr) (inner ast.Expr, prefix string, ok bool) {
	call, isCall := ast.Unparen(e).(*ast.CallExpr)
	if !isCall {
		return nil, "", false
	}
	if _, name := f.selector(call); name != "StripPrefix" || len(call.Args) != 2 {
		return nil, "", false
	}
	return call.Args[1], f.prefix(call.Args[0]), true
}

// isHandler knows the types http.Handler and http.HandlerFunc.
func isHandler(of ast.Expr) bool {
	s, ok := of.(*ast.SelectorExpr)
	return ok && (s.Sel.Name == "Handler" || s.Sel.Name == "HandlerFunc")
}

// takesHandler reports whether a parameter of the service's own function is a handler.
func (f *finder) takesHandler(fn *types.Func, at int) bool {
	body := f.bodies[fn]
	if body == nil {
		return false
	}
	for _, field := range body.Type.Params.List {
		if at -= max(len(field.Names), 1); at < 0 {
			return isHandler(field.Type)
		}
	}
	return false
}
