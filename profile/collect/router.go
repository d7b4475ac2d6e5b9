package collect

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle/profile"
)

// routerSource is the function that reads routers' tables in a Node process: see there.
//
//go:embed router.js
var routerSource string

// What bounds the walk through a process's closures.
const (
	walkTimeout = 10 * time.Second
	walkDepth   = 7
	walkValues  = 1500 // over all of a walk
	walkLevel   = 100
	digDepth    = 5
	digValues   = 60 // for one handler
)

// place is where V8 says that a function begins.
type place struct {
	script       string
	line, column int
}

// handler is a function that serves endpoints, and over how many lines it goes.
type handler struct {
	endpoints map[string]int // by how deep below the registered function it was found
	ends      int            // its last line
	last      bool           // it is an endpoint's own handler, not what stands before it
}

// router is what the tables of a process's routers say.
type router struct {
	endpoints []string
	handlers  map[place]*handler
	// named is the endpoint that each handler serves alone, and alias the one name
	// of several that one function serves.
	named map[place]string
	alias map[string]string
	keys  keyPlaces // in the paths of the requests
	// missed are endpoints whose own functions ran for a request that got a 404.
	missed map[string]bool
}

// route is a row of a router's table.
type route struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Last   bool   `json:"last"`
}

// readRouter reads the tables of a process's routers. What it cannot read it
// leaves out. p says whose a script is.
func (i *inspector) readRouter(ctx context.Context, p *profile.Profile) *router {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), walkTimeout)
	defer cancel()
	w := &routerWalk{i: i, ctx: ctx, scripts: ownersOf(p), left: walkValues}
	r := &router{handlers: map[place]*handler{}}
	defer w.done()
	if !w.begin() {
		return r
	}
	w.tables()
	w.handlers(r)
	r.settle()
	return r
}

// ownersOf says whose the scripts of a profile's functions are.
func ownersOf(p *profile.Profile) map[string]profile.Owner {
	out := map[string]profile.Owner{}
	for i := range p.Functions {
		if f := &p.Functions[i]; f.Script != "" {
			out[f.Script] = f.Owner
		}
	}
	return out
}

// settle says which endpoint each function serves: the one that it was registered
// for, rather than one whose handler merely calls it. Handlers of one path's methods
// make these one endpoint; what several other endpoints share names none.
func (r *router) settle() {
	r.named, r.alias = map[place]string{}, map[string]string{}
	for _, h := range r.handlers {
		if names := h.nearest(); h.last && len(names) > 1 {
			if one, ok := oneOf(names); ok {
				for _, name := range names {
					r.alias[name] = one
				}
			}
		}
	}
	for at, h := range r.handlers {
		names := map[string]bool{}
		for _, name := range h.nearest() {
			names[r.called(name)] = true
		}
		if len(names) == 1 {
			for name := range names {
				r.named[at] = name
			}
		}
	}
	known := map[string]bool{}
	for _, name := range r.endpoints {
		known[r.called(name)] = true
	}
	r.endpoints = slices.Sorted(maps.Keys(known))
}

// called gives the one name of an endpoint.
func (r *router) called(name string) string { return cmp.Or(r.alias[name], name) }

// nearest are the endpoints nearest to whose registered function it was found.
func (h *handler) nearest() []string {
	least := digDepth + 1
	for _, depth := range h.endpoints {
		least = min(least, depth)
	}
	var out []string
	for name, depth := range h.endpoints {
		if depth == least {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// oneOf gives the name of one path's methods: "GET|POST /search".
func oneOf(names []string) (string, bool) {
	var methods []string
	of := ""
	for _, name := range names {
		method, path, _ := strings.Cut(name, " ")
		if of != "" && path != of {
			return "", false
		}
		of = path
		methods = append(methods, method)
	}
	if len(methods) > 4 {
		return "* " + of, true
	}
	return strings.Join(methods, "|") + " " + of, true
}

// of gives the endpoint that a function serves, or lies inside a handler of. "": none.
func (r *router) of(f *profile.Function) string {
	if f.Script == "" || f.Line < 1 {
		return ""
	}
	at := place{f.Script, f.Line - 1, f.Column - 1}
	if name := r.named[at]; name != "" {
		return name
	}
	if f.Owner != profile.Own {
		return ""
	}
	var inner place
	name := ""
	for start, h := range r.handlers { // the innermost that has it
		if start.script != f.Script || f.Line-1 <= start.line || f.Line > h.ends || r.named[start] == "" {
			continue
		}
		if name == "" || start.line > inner.line {
			inner, name = start, r.named[start]
		}
	}
	return name
}

// missingMark begins the names of requests that got a 404, and noRoute is the endpoint of
// those for which no function of the route that their path fits was seen.
const (
	missingMark = "404 "
	noRoute     = "(404)"
)

// missing notes the endpoints whose functions ran for requests that got a 404.
func (r *router) missing(p *profile.Profile, m *marks) {
	r.missed = map[string]bool{}
	for i := range p.Samples {
		s := &p.Samples[i]
		if s.Thread != 0 || s.At < 0 || !strings.HasPrefix(m.at(float64((p.Clock+s.At).Microseconds())), missingMark) {
			continue
		}
		for _, f := range s.Stack {
			if e := r.of(&p.Functions[f.Function]); e != "" {
				r.missed[e] = true
			}
		}
	}
}

// endpoint gives the one that a request's name means; one that no table has is
// named after its path.
func (r *router) endpoint(name string) string {
	if rest, missing := strings.CutPrefix(name, missingMark); missing {
		e := r.endpoint(rest)
		if slices.Contains(r.endpoints, e) && !r.missed[e] {
			return noRoute
		}
		return e
	}
	if found := profile.EndpointFor(name, r.endpoints); found != name || slices.Contains(r.endpoints, name) {
		return found
	}
	return r.keys.open(name)
}

// routerWalk goes from the listeners of a process's servers to its routers.
type routerWalk struct {
	i       *inspector
	ctx     context.Context //nolint:containedctx // of one walk
	state   string          // what router.js made, as an object of the process
	scripts map[string]profile.Owner
	left    int
}

// remote is a value in the process.
type remote struct {
	Type     string          `json:"type"`
	ID       string          `json:"objectId"`
	Text     string          `json:"description"`
	Value    json.RawMessage `json:"value"`
	Property string          `json:"-"`
	near     bool            // a router, or what one holds
}

// isRouter knows an object by its class.
func (v *remote) isRouter() bool { return v.Type == "object" && strings.Contains(v.Text, "Router") }

const walkGroup = "whittle-router"

func (w *routerWalk) begin() bool {
	var r struct {
		Result remote `json:"result"`
	}
	paths := "[]"
	if w.i.marking != "" {
		paths = w.i.marksKey() + "?.paths() ?? []"
	}
	err := w.i.call(w.ctx, "Runtime.evaluate", map[string]any{
		"expression": injected(routerSource + "(" + paths + ")"), "silent": true, "objectGroup": walkGroup, "includeCommandLineAPI": true,
	}, &r)
	w.state = r.Result.ID
	return err == nil && w.state != ""
}

func (w *routerWalk) done() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), responseTimeout)
	defer cancel()
	_ = w.i.call(ctx, "Runtime.releaseObjectGroup", map[string]any{"objectGroup": walkGroup}, nil) // the session's end does, too
}

// ask calls a function of router.js; the arguments after its text are objects.
func (w *routerWalk) ask(body string, byValue bool, into *remote, objects ...string) bool {
	args := make([]map[string]any, len(objects))
	for i, id := range objects {
		args[i] = map[string]any{"objectId": id}
	}
	var r struct {
		Result    remote          `json:"result"`
		Exception json.RawMessage `json:"exceptionDetails"`
	}
	if w.i.call(w.ctx, "Runtime.callFunctionOn", map[string]any{
		"objectId": w.state, "functionDeclaration": "function (...values) { return " + body + "; }",
		"arguments": args, "silent": true, "returnByValue": byValue, "objectGroup": walkGroup,
	}, &r) != nil || r.Exception != nil {
		return false
	}
	*into = r.Result
	return true
}

// text calls one that gives JSON as a text.
func (w *routerWalk) text(into any, body string, objects ...string) bool {
	var r remote
	var text string
	return w.ask(body, true, &r, objects...) && json.Unmarshal(r.Value, &text) == nil && json.Unmarshal([]byte(text), into) == nil
}

// list calls one that gives an array of objects.
func (w *routerWalk) list(body string, objects ...string) []remote {
	var r remote
	if !w.ask(body, false, &r, objects...) || r.ID == "" {
		return nil
	}
	var out []remote
	for _, p := range w.properties(r.ID)[0].own {
		if _, err := strconv.Atoi(p.Property); err == nil && p.ID != "" {
			out = append(out, p)
		}
	}
	return out
}

// members are what an object has: its own properties, its class's private ones (#name),
// and V8's own of it.
type members struct{ own, private, internal []remote }

// properties gives those of some objects, which are asked for all at once: each response
// waits until the process's event loop comes to it.
func (w *routerWalk) properties(ids ...string) []members {
	type property struct {
		Name  string  `json:"name"`
		Value *remote `json:"value"`
	}
	valued := func(all []property) (out []remote) {
		for _, p := range all {
			if p.Value != nil {
				p.Value.Property = p.Name
				out = append(out, *p.Value)
			}
		}
		return out
	}
	const method = "Runtime.getProperties"
	out := make([]members, len(ids))
	for from := 0; from < len(ids); from += walkLevel {
		part := ids[from:min(len(ids), from+walkLevel)]
		params := make([]any, len(part))
		for n, id := range part {
			params[n] = map[string]any{"objectId": id, "ownProperties": true}
		}
		responses, err := w.i.calls(w.ctx, method, params...)
		if err != nil {
			return out
		}
		for n, m := range responses {
			var r struct {
				Own      []property `json:"result"`
				Private  []property `json:"privateProperties"`
				Internal []property `json:"internalProperties"`
			}
			if m.read(method, &r) == nil {
				out[from+n] = members{valued(r.Own), valued(r.Private), valued(r.Internal)}
			}
		}
	}
	return out
}

// closure is what a function can see.
type closure struct {
	at     place
	bound  []remote // what bind bound, its function first
	inner  []remote // of the functions around it
	module []remote // of the file
}

// closures gives those of some functions.
func (w *routerWalk) closures(functions []remote) []closure {
	out := make([]closure, len(functions))
	var scoped []int // of those that see anything
	var chains []string
	for n, is := range w.properties(ids(functions)...) {
		for _, p := range is.internal {
			switch p.Property {
			case "[[FunctionLocation]]":
				out[n].at = placeOf(p.Value)
			case "[[TargetFunction]]", "[[BoundThis]]":
				out[n].bound = append(out[n].bound, p)
			case "[[Scopes]]":
				scoped, chains = append(scoped, n), append(chains, p.ID)
			}
		}
	}
	kept := make([][]remote, len(chains))
	var all []remote
	for n, chain := range w.properties(chains...) {
		for _, s := range chain.own {
			if s.ID != "" && !strings.HasPrefix(s.Text, "Global") && !strings.HasPrefix(s.Text, "Script") {
				kept[n] = append(kept[n], s)
			}
		}
		all = append(all, kept[n]...)
	}
	seen := w.properties(ids(all)...)
	for n, scopes := range kept {
		for at, s := range scopes {
			if at == len(scopes)-1 && !strings.HasPrefix(s.Text, "Closure (") { // which is a function's: its module has no scope
				out[scoped[n]].module = seen[at].own
			} else {
				out[scoped[n]].inner = append(out[scoped[n]].inner, seen[at].own...)
			}
		}
		seen = seen[len(scopes):]
	}
	return out
}

func placeOf(value json.RawMessage) place {
	var at struct {
		Script string `json:"scriptId"`
		Line   int    `json:"lineNumber"`
		Column int    `json:"columnNumber"`
	}
	if json.Unmarshal(value, &at) != nil {
		return place{}
	}
	return place{at.Script, at.Line, at.Column}
}

// tables finds the tables of all servers, and those of applications that are
// mounted into others and known to a closure alone.
func (w *routerWalk) tables() {
	servers := "undefined"
	if w.i.marking != "" {
		servers = w.i.marksKey() + "?.servers"
	}
	for _, listener := range w.list("this.listeners(" + servers + ")") { // each has a framework of its own
		w.from([]remote{listener}, "'', undefined")
	}
	for n := 0; n < 100; n++ {
		var count struct{ Routes, Deferred int }
		if !w.text(&count, "this.count()") || n >= count.Deferred {
			return
		}
		var one remote
		if w.ask(fmt.Sprintf("this.deferred(%d).handler", n), false, &one) && one.ID != "" {
			w.from([]remote{one}, fmt.Sprintf("this.deferred(%d).prefix, this.deferred(%[1]d).at", n))
		}
	}
}

// from looks for tables in some values, and in what those lead to, level by level.
// What a module holds comes last: that is much, and seldom a table.
func (w *routerWalk) from(level []remote, below string) {
	var later []remote
	for depth := 0; depth < walkDepth && w.left > 0 && w.ctx.Err() == nil; depth++ {
		if len(level) == 0 {
			level, later = later, nil
		}
		level = level[:min(len(level), w.left, walkLevel)]
		w.left -= len(level)
		is := w.probe(level, below)
		if len(is) != len(level) {
			return
		}
		next, modules := w.below(level, is, depth < 3)
		later = append(later, modules...)
		slices.SortStableFunc(next, nearFirst)
		if slices.Contains(is, true) || w.instances(level, below) {
			return
		}
		level, later = objects(next), objects(later)
	}
}

// below is what some values that are no tables hold or see; modules is what the files of
// the functions among them have, where that is wanted.
func (w *routerWalk) below(level []remote, tables []bool, wanted bool) (next, modules []remote) {
	var hides []bool
	w.text(&hides, "this.hides(...values)", ids(level)...)
	var functions, things, private []remote
	for n, v := range level {
		switch {
		case tables[n]:
			continue
		case v.Type == "function":
			functions = append(functions, v)
		default:
			things = append(things, v)
		}
		if n < len(hides) && hides[n] {
			private = append(private, v)
		}
	}
	add := func(of remote, held []remote) {
		for _, v := range held {
			v.near = of.near || v.isRouter()
			next = append(next, v)
		}
	}
	for n, is := range w.properties(ids(private)...) {
		add(private[n], is.private)
	}
	for n, c := range w.closures(functions) {
		add(functions[n], slices.Concat(c.bound, c.inner))
		if wanted && w.scripts[c.at.script] != profile.Standard {
			modules = append(modules, c.module...)
		}
	}
	for n, held := range w.inside(things) {
		add(things[n], held)
	}
	return next, modules
}

// inside gives what some objects hold that may be, or lead to, a table.
func (w *routerWalk) inside(things []remote) [][]remote {
	out := make([][]remote, len(things))
	if len(things) == 0 {
		return out
	}
	held := w.list("this.inside(...values)", ids(things)...)
	var counts []int
	if !w.text(&counts, "this.heldBy()") || len(counts) != len(things) {
		return out
	}
	for n, count := range counts {
		count = min(count, len(held))
		out[n], held = held[:count], held[count:]
	}
	return out
}

// nearFirst puts first what a router holds, so that the bounds cut off other things.
func nearFirst(a, b remote) int {
	switch {
	case a.near == b.near:
		return 0
	case a.near:
		return -1
	}
	return 1
}

// probe reads the tables among some values, and says which are none.
func (w *routerWalk) probe(values []remote, below string) (is []bool) {
	if len(values) == 0 || !w.text(&is, "this.probe("+below+", ...values)", ids(values)...) {
		return nil
	}
	return is
}

// instances asks the heap for the applications of the classes among some values. It
// collects garbage for it, and so is only asked where the heap is small.
func (w *routerWalk) instances(values []remote, below string) bool {
	prototypes := w.list("this.applications(...values)", ids(values)...)
	var small remote
	if len(prototypes) == 0 || !w.ask("this.smallHeap()", true, &small) || string(small.Value) != "true" {
		return false
	}
	found := false
	for _, proto := range prototypes {
		var r struct {
			Objects remote `json:"objects"`
		}
		if w.i.call(w.ctx, "Runtime.queryObjects", map[string]any{"prototypeObjectId": proto.ID, "objectGroup": walkGroup}, &r) != nil {
			continue
		}
		var is []bool
		if w.text(&is, "this.probe("+below+", ...values[0])", r.Objects.ID) && slices.Contains(is, true) {
			found = true
		}
	}
	return found
}

// ids are those of some values.
func ids(values []remote) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v.ID
	}
	return out
}

// objects are those of some values that may hold others.
func objects(values []remote) []remote {
	return slices.DeleteFunc(values, func(v remote) bool { return v.ID == "" || v.Type != "function" && v.Type != "object" })
}

// handlers finds where the functions are that the tables name.
func (w *routerWalk) handlers(r *router) {
	var routes []route
	if !w.text(&routes, "this.names()") {
		return
	}
	functions := w.list("this.handlers()")
	if len(functions) != len(routes) {
		return
	}
	w.text(&r.endpoints, "this.named()")
	routes, functions = withoutCatchAll(routes, functions)
	closures, lines := w.closures(functions), w.lengths(functions)
	shared := map[place]map[string]bool{}
	for n, c := range closures {
		name := routes[n].Method + " " + routes[n].Path
		r.endpoints = append(r.endpoints, name)
		if shared[c.at] == nil {
			shared[c.at] = map[string]bool{}
		}
		shared[c.at][name] = true
		r.add(c.at, lines[n], name, 0, routes[n].Last)
	}
	for n, c := range closures {
		owner, seen := w.scripts[c.at.script]
		if len(shared[c.at]) > 1 || !seen || owner != profile.Own {
			w.dig(r, c, routes[n].Method+" "+routes[n].Path)
		}
	}
}

// lengths says over how many lines some functions go. 0: that is not known.
func (w *routerWalk) lengths(functions []remote) []int {
	var lines []int
	if len(functions) == 0 || !w.text(&lines, "this.lengths(...values)", ids(functions)...) || len(lines) != len(functions) {
		return make([]int, len(functions))
	}
	return lines
}

// catchAll is a route that takes every path: "*", "/*splat", "/{*path}", "(.*)", "/:rest*".
var catchAll = regexp.MustCompile(`^/?(\*\w*|\{\*\w+\}|\{\w+\*\}|\(\.\*\)|:\w+(\*|\(\.\*\)))$`)

// withoutCatchAll leaves out routes behind which somebody else dispatches, as a framework
// behind Express does: the requests' paths name what they serve.
func withoutCatchAll(routes []route, functions []remote) (kept []route, of []remote) {
	for n, r := range routes {
		if !catchAll.MatchString(r.Path) {
			kept, of = append(kept, r), append(of, functions[n])
		}
	}
	return kept, of
}

// dig finds the functions that a handler hides in its closure: one that a wrapper
// calls, or a framework for a controller.
func (w *routerWalk) dig(r *router, c closure, name string) {
	level, seen := append(slices.Clone(c.bound), c.inner...), 0
	known := map[place]bool{c.at: true}
	for depth := 1; depth <= digDepth && w.ctx.Err() == nil; depth++ {
		var functions, next, own []remote
		for _, v := range level {
			if v.Type == "function" && seen < digValues {
				functions = append(functions, v)
				seen++
			}
		}
		var places []place
		for n, inner := range w.closures(functions) {
			if known[inner.at] {
				continue
			}
			known[inner.at] = true
			owner, sampled := w.scripts[inner.at.script]
			if inner.at.script != "" && sampled && owner == profile.Own {
				own, places = append(own, functions[n]), append(places, inner.at)
			}
			next = append(append(next, inner.bound...), inner.inner...)
		}
		for n, lines := range w.lengths(own) {
			r.add(places[n], lines, name, depth, true)
		}
		level = next
	}
}

// add takes a function of so many lines for an endpoint's.
func (r *router) add(at place, lines int, name string, depth int, last bool) {
	if at.script == "" {
		return
	}
	h := r.handlers[at]
	if h == nil {
		h = &handler{endpoints: map[string]int{}, last: last}
		r.handlers[at] = h
		if lines > 0 {
			h.ends = at.line + lines
		}
	}
	if was, ok := h.endpoints[name]; !ok || depth < was {
		h.endpoints[name] = depth
	}
	h.last = h.last && last
}
