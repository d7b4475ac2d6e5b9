package profile

import (
	"regexp"
	"slices"
	"strings"
)

// Handler is where a Go service's own code begins to serve a request, on one stack.
type Handler struct {
	// Depth is the handler's place on the stack. -1: none of its own is there.
	Depth int
	// Before are the own functions that routers called further out, each once:
	// middlewares.
	Before []int32
	// Routed says that a router chose it. Else it may itself do so, by the path, and
	// then serves every endpoint.
	Routed bool
	// Procedure is an RPC's "/Service/Method", without its package. "": it is none.
	Procedure string
}

var (
	// grpcHandler is what protoc-gen-go-grpc generates for a method.
	grpcHandler = regexp.MustCompile(`\._(\w+?)_(\w+)_Handler(\.func\d+)?$`)
	// connectHandler is what protoc-gen-connect-go generates for a service.
	connectHandler = regexp.MustCompile(`\.New(\w+)Handler\.func\d+$`)
	// twirpHandler is what protoc-gen-twirp generates for a method.
	twirpHandler = regexp.MustCompile(`\.\(\*(\w)(\w*)Server\)\.serve(\w+)(JSON|Protobuf)$`)
	// unnamed ends a closure's name.
	unnamed = regexp.MustCompile(`\.(func|gowrap)?\d+(\.\d+)*$`)
)

// routers are functions of routers, in other packages than the service's, that call
// handlers and middlewares: by how their names begin, behind them by how they end, each of several.
var routers = []struct{ begins, ends string }{
	{"net/http.", "ServeHTTP"},
	{"net/http.StripPrefix", ".func1"},
	{"net/http.(*timeoutHandler).", "ServeHTTP.func1"}, // a goroutine of its own
	{"github.com/gorilla/mux.", "ServeHTTP"},
	{"github.com/go-chi/chi/", "ServeHTTP"},
	{"github.com/gin-gonic/gin.(*Context).", "Next"},
	{"github.com/gin-gonic/gin.(*Engine).", "handleHTTPRequest"},
	{"github.com/gin-gonic/gin.Wrap", ".func1"},
	{"github.com/labstack/echo/", "(*Echo).ServeHTTP (*Echo).add.func1 (*Router).add.func1 (*Echo).Add.func1 .WrapHandler.func1 (*Echo).serveHTTP (*Echo).buildRouterChains.func1"},
	{"github.com/gofiber/fiber/", ").next ).Next ).nextCustom ).execute"},
	{"github.com/valyala/fasthttp.(*Server).", "serveConn"},
	{"github.com/fasthttp/router.(*Router).", "Handler"},
	{"github.com/julienschmidt/httprouter.", "ServeHTTP"},
	{"github.com/kataras/iris/", "(*Context).Next (*Context).Do (*routerHandler).HandleRequest"},
	{"github.com/beego/beego/", "(*ControllerRegister).serveHttp"},
	{"github.com/danielgtaylor/huma/v2.Register[", ""},
	{"github.com/go-fuego/fuego.Flow[", ""},
	{"github.com/uptrace/bunrouter.(*Router).", "ServeHTTPError"},
	{"github.com/cloudwego/hertz/pkg/app.(*RequestContext).", "Next"},
	{"goji%2eio.dispatch.", "ServeHTTP"},
	{"github.com/zeromicro/go-zero/rest/router.(*patRouter).", "ServeHTTP"},
	{"github.com/go-kratos/kratos/v2/transport/http.(*Router).", "Handle.func1"},
	{"github.com/dimfeld/httptreemux/", "ServeLookupResult"},
	{"github.com/emicklei/go-restful/v3.(*Container).", "dispatch"},
	{"github.com/emicklei/go-restful/v3.(*FilterChain).", "ProcessFilter"},
	{"github.com/grpc-ecosystem/grpc-gateway/v2/runtime.(*ServeMux).", "handleHandler"},
	{"connectrpc.com/connect.New", ""},
	{"google.golang.org/grpc.(*Server).", ""},
}

// passers call what they were given, and choose nothing.
var passers = set(`net/http.HandlerFunc.ServeHTTP net/http.serverHandler.ServeHTTP net/http.StripPrefix.func1
	net/http.(*timeoutHandler).ServeHTTP.func1
	github.com/valyala/fasthttp.(*Server).serveConn`)

func isRouter(f *Function) bool {
	if f.Owner == Own || f.Owner == System {
		return false
	}
	for _, r := range routers {
		if strings.HasPrefix(f.Name, r.begins) && slices.ContainsFunc(strings.Split(r.ends, " "), func(end string) bool { return strings.HasSuffix(f.Name, end) }) {
			return true
		}
	}
	return generated(f.File) && (grpcHandler.MatchString(f.Name) || twirpHandler.MatchString(f.Name))
}

// HandlerOn finds where a Go service's own code begins to serve a request: at the own
// function that the innermost router on the stack called. Own functions further out
// are middlewares. A middleware that calls the next function directly, with no router
// in between, looks like a handler; see IsWrapper.
func (p *Profile) HandlerOn(s *Sample) Handler {
	h := Handler{Depth: -1}
	service, serving, routed := "", false, false
	for depth := len(s.Stack) - 1; depth >= 0; depth-- {
		f := &p.Functions[s.Stack[depth].Function]
		if m := grpcHandler.FindStringSubmatch(f.Name); m != nil && generated(f.File) {
			h.Procedure = "/" + m[1] + "/" + m[2]
		}
		if m := twirpHandler.FindStringSubmatch(f.Name); m != nil && generated(f.File) {
			h.Procedure = "/" + strings.ToUpper(m[1]) + m[2] + "/" + m[3]
		}
		if m := connectHandler.FindStringSubmatch(f.Name); m != nil && generated(f.File) {
			service = m[1]
		}
		if f.Owner != Own || depth == len(s.Stack)-1 {
			if isRouter(f) {
				serving, routed = true, routed || !passers[f.Name]
			}
			continue
		}
		called := p.routerCalls(s, depth)
		if called || serving && strings.HasSuffix(f.Name, ".ServeHTTP") {
			if h.Depth >= 0 && !slices.Contains(h.Before, s.Stack[h.Depth].Function) {
				h.Before = append(h.Before, s.Stack[h.Depth].Function)
			}
			h.Depth, h.Routed = depth, routed
		}
	}
	if h.Depth >= 0 && service != "" && h.Procedure == "" {
		name := p.Functions[s.Stack[h.Depth].Function].Name
		h.Procedure = "/" + service + "/" + name[strings.LastIndexByte(name, '.')+1:]
	}
	return h
}

// routerCalls reports whether a router called a function of a stack, by itself or by code
// that was generated for it, as by oapi-codegen.
func (p *Profile) routerCalls(s *Sample, depth int) bool {
	for depth++; depth < len(s.Stack); depth++ {
		f := &p.Functions[s.Stack[depth].Function]
		if isRouter(f) || f.Owner != Library || !generated(f.File) {
			return isRouter(f)
		}
	}
	return false
}

// IsWrapper says that a Go function may stand before handlers of several endpoints:
// it is a closure, or the method that every handler of net/http has. What it is
// called for is then a matter of what it calls.
func (f *Function) IsWrapper() bool {
	return unnamed.MatchString(f.Name) || strings.HasSuffix(f.Name, ".ServeHTTP")
}

// LabelHandlers gives each sample of a Go service that has no endpoint the one that
// its handler serves: what routes knows of the handler or, behind a wrapper, of the
// first own function that it calls; else the procedure; else the handler's name. A
// middleware by itself serves no endpoint that could be told, nor does a handler that
// no router chose, nor a wrapper that calls several functions and is no known route's. A
// wrapper that calls one is named together with it. A label stays what it is.
func (p *Profile) LabelHandlers(route func(*Function) string, procedure func(string) string) {
	if p.Runtime != Go {
		return
	}
	routes := p.routesBy(route)
	handlers := make([]Handler, len(p.Samples))
	calls, names := map[int32]map[int32]bool{}, map[string]map[string]bool{}
	middleware := map[int32]bool{}
	for i := range p.Samples {
		handlers[i] = p.HandlerOn(&p.Samples[i])
		if handlers[i].Depth < 0 {
			continue
		}
		for _, f := range handlers[i].Before {
			middleware[f] = true
		}
		at := p.Samples[i].Stack[handlers[i].Depth].Function
		if next := p.ownBelow(&p.Samples[i], handlers[i].Depth); next >= 0 {
			// What is deferred in a wrapper is a closure of its own, and no handler.
			if callee := p.Samples[i].Stack[next].Function; !strings.HasPrefix(p.Functions[callee].Name, p.Functions[at].Name+".") {
				add(calls, at, callee)
			}
		}
		add(names, ShortName(p.Functions[at].Name), p.Functions[at].Name)
	}
	for i := range p.Samples {
		s, h := &p.Samples[i], handlers[i]
		if s.Endpoint != "" {
			continue
		}
		if h.Procedure != "" {
			s.Endpoint = procedure(h.Procedure)
			continue
		}
		if h.Depth < 0 {
			continue
		}
		at := s.Stack[h.Depth].Function
		f := &p.Functions[at]
		switch {
		case routes[at] != "" && !middleware[at]:
			s.Endpoint = routes[at]
		case middleware[at] || !h.Routed: // a middleware may call the next function directly
			s.Endpoint = p.routedBelow(s, h.Depth, routes)
		case !f.IsWrapper():
			s.Endpoint = nameOf(f, names)
		case p.routedBelow(s, h.Depth, routes) != "":
			s.Endpoint = p.routedBelow(s, h.Depth, routes)
		case len(calls[at]) < 2 && !anyRouted(calls[at], routes):
			s.Endpoint = nameOf(f, names)
			for callee := range calls[at] {
				s.Endpoint += leadsTo + ShortName(p.Functions[callee].Name)
			}
		}
	}
}

// leadsTo joins a closure that a router called and the one own function that it calls:
// either may be the handler, and the closure its middleware.
const leadsTo = " → "

// HandlerName is a Go function's name as an endpoint, where its route cannot be said.
func (f *Function) HandlerName() string { return ShortName(f.Name) }

// named reports whether an endpoint is the function's name, and no route.
func (f *Function) named(endpoint string) bool {
	return endpoint == f.HandlerName() || endpoint == f.Name
}

// routesBy are the functions' routes, or names: of two with one name the whole one.
func (p *Profile) routesBy(route func(*Function) string) []string {
	routes, names := make([]string, len(p.Functions)), map[string]map[string]bool{}
	for i := range p.Functions {
		f := &p.Functions[i]
		if f.Owner != Own {
			continue
		}
		if routes[i] = route(f); routes[i] != "" && f.named(routes[i]) {
			add(names, f.HandlerName(), f.Name)
		}
	}
	for i := range p.Functions {
		if f := &p.Functions[i]; f.Owner == Own && f.named(routes[i]) {
			routes[i] = nameOf(f, names)
		}
	}
	return routes
}

// nameOf is a handler's name as an endpoint: without its package's path, unless
// another handler has the same.
func nameOf(f *Function, names map[string]map[string]bool) string {
	if name := ShortName(f.Name); len(names[name]) == 1 {
		return name
	}
	return f.Name
}

// routedBelow is the route of the outermost own function below a depth that has one.
func (p *Profile) routedBelow(s *Sample, depth int, routes []string) string {
	for depth--; depth >= 0; depth-- {
		if r := routes[s.Stack[depth].Function]; r != "" {
			return r
		}
	}
	return ""
}

// ownBelow is the next own function below a depth, -1 where there is none.
func (p *Profile) ownBelow(s *Sample, depth int) int {
	for depth--; depth >= 0; depth-- {
		if p.Functions[s.Stack[depth].Function].Owner == Own {
			return depth
		}
	}
	return -1
}

func anyRouted(functions map[int32]bool, routes []string) bool {
	for f := range functions {
		if routes[f] != "" {
			return true
		}
	}
	return false
}

func add[K, V comparable](sets map[K]map[V]bool, k K, v V) {
	if sets[k] == nil {
		sets[k] = map[V]bool{}
	}
	sets[k][v] = true
}
