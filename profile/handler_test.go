package profile

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"whittle/internal/fatal"
)

// goStacks makes a profile of a Go service with one sample for each stack, root first:
// what is of
// known hosts is a library's, what is generated has a name like it.
func goStacks(stacks ...[]string) *Profile {
	p := &Profile{Kind: CPU, Runtime: Go}
	index := map[string]int32{}
	for _, names := range stacks {
		var stack []Frame
		for _, name := range names {
			i, ok := index[name]
			if !ok {
				i = int32(len(p.Functions))
				index[name] = i
				file := "x.go"
				for _, host := range []string{"github.com/", "connectrpc.com/", "google.golang.org/", "goji%2eio"} {
					if strings.HasPrefix(name, host) {
						file = "lib@v1/x.go"
					}
				}
				if strings.Contains(name, "Generated") {
					file = "api.gen.go"
				}
				if grpcHandler.MatchString(name) || connectHandler.MatchString(name) || twirpHandler.MatchString(name) {
					file = "x.pb.go"
				}
				if strings.Contains(name, "HandlerServer.func") || strings.Contains(name, "local_request_") {
					file = "x.pb.gw.go"
				}
				p.Functions = append(p.Functions, Function{Name: name, File: file, Owner: goOwner(PackageOf(name), file)})
			}
			stack = append(stack, Frame{Function: i})
		}
		slices.Reverse(stack)
		p.Samples = append(p.Samples, Sample{Value: 1, Stack: stack})
	}
	return p
}

const (
	conn, server = "net/http.(*conn).serve", "net/http.serverHandler.ServeHTTP"
	handle, mux  = "net/http.HandlerFunc.ServeHTTP", "net/http.(*ServeMux).ServeHTTP"
)

func TestHandlersWithoutSources(t *testing.T) {
	for name, c := range map[string]struct {
		stacks [][]string
		want   []string
	}{
		"a function": {[][]string{{conn, server, mux, handle, "main.work", "main.help"}}, []string{"main.work"}},
		"a middleware, by itself and with what it wraps": {
			[][]string{{conn, server, handle, "main.log.func1", mux, handle, "main.work"}, {conn, server, handle, "main.log.func1", "time.Now"}, {conn, server, handle, "main.log.func1", mux}},
			[]string{"main.work", "", ""},
		},
		"routers of others, as they call": {
			[][]string{
				{
					conn, server, "github.com/labstack/echo/v5.(*Echo).ServeHTTP", "github.com/labstack/echo/v5.(*Echo).serveHTTP",
					"main.timed.func1", "github.com/labstack/echo/v5.(*Echo).buildRouterChains.func1", "main.a",
				},
				{conn, server, "github.com/uptrace/bunrouter.(*Router).ServeHTTP", "github.com/uptrace/bunrouter.(*Router).ServeHTTPError", "main.b"},
				{"github.com/cloudwego/hertz/pkg/route.(*Engine).ServeHTTP", "github.com/cloudwego/hertz/pkg/app.(*RequestContext).Next", "main.c"},
				{conn, server, "goji%2eio.(*Mux).ServeHTTP", "goji%2eio.dispatch.ServeHTTP", handle, "main.d"},
				{conn, server, "github.com/zeromicro/go-zero/rest/router.(*patRouter).ServeHTTP", handle, "main.register.cost.func3"},
				{conn, server, "github.com/gorilla/mux.(*Router).ServeHTTP", handle, "github.com/go-kratos/kratos/v2/transport/http.(*Router).Handle.func1", "main.e", "main.e.func1"},
				{conn, server, "github.com/dimfeld/httptreemux/v5.(*TreeMux).ServeHTTP", "github.com/dimfeld/httptreemux/v5.(*TreeMux).ServeLookupResult", "main.f"},
				{conn, server, mux, handle, "github.com/emicklei/go-restful/v3.(*Container).dispatch", "main.g"},
				{conn, server, "github.com/grpc-ecosystem/grpc-gateway/v2/runtime.(*ServeMux).ServeHTTP", "github.com/grpc-ecosystem/grpc-gateway/v2/runtime.(*ServeMux).handleHandler", "main.h"},
				{
					conn, server, mux, handle, "github.com/go-fuego/fuego.defaultLogger.middleware.func1", handle,
					"github.com/go-fuego/fuego.HTTPHandler[go.shape.struct { P int }].func2",
					"github.com/go-fuego/fuego.Flow[go.shape.interface {},go.shape.struct { P int }]", "main.i",
				},
			},
			[]string{"main.a", "main.b", "main.c", "main.d", "main.register.cost.func3", "main.e", "main.f", "main.g", "main.h", "main.i"},
		},
		"behind gin's wrapper, behind a middleware": {
			[][]string{{conn, server, "github.com/gin-gonic/gin.(*Context).Next", "main.auth.func1", "github.com/gin-gonic/gin.(*Context).Next", "github.com/gin-gonic/gin.WrapF.func1", "main.work"}},
			[]string{"main.work"},
		},
		"a wrapper that calls several directly": {
			[][]string{{conn, server, mux, handle, "main.auth.func1", "main.a"}, {conn, server, mux, handle, "main.auth.func1", "main.b"}},
			[]string{"", ""},
		},
		"a closure that calls one": {[][]string{{conn, server, mux, handle, "main.main.func1", "main.a"}}, []string{"main.main.func1 → main.a"}},
		"a type that is a handler": {[][]string{{conn, server, mux, "main.(*api).ServeHTTP"}}, []string{"main.(*api).ServeHTTP"}},
		"one of those in another":  {[][]string{{conn, server, mux, "main.(*log).ServeHTTP", "main.(*api).ServeHTTP"}}, []string{"main.(*api).ServeHTTP"}},
		"behind a library's":       {[][]string{{conn, server, mux, "github.com/rs/cors.(*Cors).Handler.func1", "main.(*api).ServeHTTP"}}, []string{"main.(*api).ServeHTTP"}},
		"a dispatch of its own":    {[][]string{{conn, server, handle, "main.root", "main.work"}}, []string{""}},
		"behind a timeout": {
			[][]string{{"net/http.(*timeoutHandler).ServeHTTP.func1", mux, handle, "main.work"}, {"net/http.(*timeoutHandler).ServeHTTP.func1", "main.(*api).ServeHTTP"}},
			[]string{"main.work", ""}, // which may be all of the service
		},
		"no request":               {[][]string{{"main.loop", "main.work"}, {"runtime.gcBgMarkWorker"}}, []string{"", ""}},
		"a client's call back":     {[][]string{{conn, server, mux, handle, "main.work", "net/http.(*Client).Do", "main.(*trip).RoundTrip"}}, []string{"main.work"}},
		"two handlers of one name": {[][]string{{conn, server, mux, handle, "a.com/x/v1.Get"}, {conn, server, mux, handle, "b.com/x/v1.Get"}}, []string{"a.com/x/v1.Get", "b.com/x/v1.Get"}},
		"a gRPC method's decoding": {[][]string{{"google.golang.org/grpc.(*Server).processUnaryRPC", "main._Greeter_Hello_Handler", "main.dec"}}, []string{"/Greeter/Hello"}},
		"a connect method": {[][]string{{
			conn, server, mux, handle, "main.NewGreeterHandler.func1", "connectrpc.com/connect.NewUnaryHandler[...].func1", "main.(*greeter).Hello",
		}}, []string{"/Greeter/Hello"}},
		"a twirp method, and its decoding": {
			[][]string{
				{
					conn, server, "main.(*greeterServer).ServeHTTP", "main.(*greeterServer).serveHello",
					"main.(*greeterServer).serveHelloJSON", "main.(*greeterServer).serveHelloJSON.func2", "main.(*greeter).Hello",
				},
				{conn, server, "main.(*greeterServer).ServeHTTP", "main.(*greeterServer).serveHello", "main.(*greeterServer).serveHelloProtobuf", "google.golang.org/protobuf/proto.Unmarshal"},
			},
			[]string{"/Greeter/Hello", "/Greeter/Hello"},
		},
		"behind grpc-gateway's generated code": {
			[][]string{{
				conn, server, "github.com/grpc-ecosystem/grpc-gateway/v2/runtime.(*ServeMux).ServeHTTP",
				"github.com/grpc-ecosystem/grpc-gateway/v2/runtime.(*ServeMux).handleHandler",
				"main.RegisterGreeterHandlerServer.func1", "main.local_request_Greeter_Hello_0", "main.(*greeter).Hello",
			}},
			[]string{"main.(*greeter).Hello"},
		},
		"a generated wrapper":       {[][]string{{conn, server, mux, handle, "main.(*Generated).Get", handle, "main.(*Generated).Get.func1", "main.(*store).Get"}}, []string{"main.(*store).Get"}},
		"generated code inside one": {[][]string{{conn, server, mux, handle, "main.work", "main.(*Generated).Save", "main.hook"}}, []string{"main.work"}},
		"generics":                  {[][]string{{conn, server, mux, handle, "main.typed[go.shape.struct { a/b.X int }].func1", "main.a"}}, []string{"main.typed.func1 → main.a"}},
		"a sort's closure is inner": {[][]string{{conn, server, mux, handle, "main.work", "slices.SortFunc", "main.work.func1"}}, []string{"main.work"}},
	} {
		t.Run(name, func(t *testing.T) {
			served(t, goStacks(c.stacks...), nil, c.want...)
		})
	}
}

// served labels a profile by the routes of its functions, and holds the endpoints of its stacks.
func served(t *testing.T, p *Profile, routes map[string]string, want ...string) {
	t.Helper()
	p.LabelHandlers(func(f *Function) string { return routes[f.Name] }, func(s string) string { return s })
	for i, want := range want {
		fatal.Same(t, p.Samples[i].Endpoint, want, "stack %d is of", i)
	}
}

// A middleware that is of all routes and of a group calls the next function directly;
// what that serves is known by its sources.
func TestAMiddlewareTwiceHidesNoRoute(t *testing.T) {
	const echo = "github.com/labstack/echo/v4.(*Echo)"
	logged := func(leaf string) []string {
		return []string{"net/http.serverHandler.ServeHTTP", echo + ".ServeHTTP", "main.log.func1", echo + ".add.func1", "main.log.func1", leaf}
	}
	served(t, goStacks(logged("main.work"), logged("time.Now")), map[string]string{"main.work": "GET /a"}, "GET /a", "")
}

// A route that a middleware in front of another router is registered for is no endpoint: its
// own time is of none.
func TestAMiddlewareWithARouteIsNoEndpoint(t *testing.T) {
	served(t, goStacks(
		[]string{conn, server, mux, handle, "main.auth.func1", mux, handle, "main.items"},
		[]string{conn, server, mux, handle, "main.auth.func1", "main.verify"},
		[]string{conn, server, mux, handle, "main.auth.func1", "time.Now"},
	), map[string]string{"main.auth.func1": "/{path...}", "main.items": "GET /items"}, "GET /items", "", "")
}

// What a wrapper defers is part of it: the handler that it calls stays the only one.
func TestAWrapperThatDefers(t *testing.T) {
	served(t, goStacks(
		[]string{conn, server, mux, handle, "main.register.func1", "main.work"},
		[]string{conn, server, mux, handle, "main.register.func1", "main.register.func1.1", "main.note"},
		[]string{conn, server, mux, handle, "main.register.func1", "main.register.func1.deferwrap1", "main.note"},
	), nil, slices.Repeat([]string{"main.register.func1 → main.work"}, 3)...)
}

// A label says more than any stack.
func TestLabelsStay(t *testing.T) {
	p := goStacks([]string{"net/http.(*ServeMux).ServeHTTP", "main.work"})
	p.Samples[0].Endpoint = "GET /labelled"
	served(t, p, map[string]string{"main.work": "GET /route"}, "GET /labelled")
}

// The collector's samples go to the endpoints by the bytes of each, and none is lost.
func TestTheCollectorsWorkIsShared(t *testing.T) {
	stacks := [][]string{{"main.a"}, {"runtime.mcall"}}
	for range 100 {
		stacks = append(stacks, []string{"runtime.gcBgMarkWorker", "runtime.scanobject"})
	}
	p := goStacks(stacks...)
	a := goStacks([]string{"main.a"}, []string{"main.b"}, []string{"main.c"})
	a.Kind = Allocations
	for i, e := range []string{"GET /a", "GET /b", ""} {
		a.Samples[i].Endpoint, a.Samples[i].Value = e, []int64{700, 200, 100}[i]
	}
	before := p.Total()
	p.ShareCollector(a)
	sums := map[string]int64{}
	for _, e := range p.ByEndpoint() {
		sums[e.Endpoint] = e.Value
	}
	if sums["GET /a"] != 70 || sums["GET /b"] != 20 || sums[""] != 12 || p.Total() != before {
		t.Errorf("%v of %d", sums, p.Total())
	}
	p.ShareCollector(p) // a CPU profile knows no bytes
	fatal.Same(t, p.Total(), before, "shared by CPU time")
}

// look reads a profile of the count monolith, under Node.js 20, with its endpoints.
func look(t *testing.T, name string) *Profile {
	t.Helper()
	p, err := ReadV8CPU([]byte(fatal.Read(t, filepath.Join("testdata", "inlined", name+".cpuprofile"))), time.Time{})
	fatal.If(t, err)
	p.LabelEndpoints(func(f *Function) string {
		if f.File != "/srv/shop/app.js" {
			return ""
		}
		return map[int]string{13: "GET /", 17: "POST /Count"}[f.Line]
	}, nil)
	return p
}

// nativeBelow puts native code onto the stacks that end in functions of somebody's.
func nativeBelow(p *Profile, owner Owner) *Profile {
	native := Frame{Function: int32(len(p.Functions))}
	p.Functions = append(p.Functions, Function{Name: "run", Owner: System})
	for i := range p.Samples {
		s := &p.Samples[i]
		if p.Functions[s.Stack[0].Function].Owner == owner {
			s.Stack[0].Line = 0 // V8 knows the lines of leaves only
			s.Stack = append([]Frame{native}, s.Stack...)
		}
	}
	return p
}

func TestInlined(t *testing.T) {
	never := func(*Function, int32) bool { return false }
	ever := func(*Function, int32) bool { return true }
	few := look(t, "told")
	few.Samples = few.Samples[:4]
	for _, c := range []struct {
		name  string
		p     *Profile
		calls func(*Function, int32) bool
		want  Inlining
	}{
		{"a handler that was inlined into its router", look(t, "hidden"), never, Hidden},
		{"a handler that is on its stacks", look(t, "told"), never, Named},
		{"a handler whose hot line calls", look(t, "told"), ever, Hidden},
		{"many short responses", look(t, "short"), ever, Named},
		{"native code that a handler called by itself", nativeBelow(look(t, "told"), Own), func(_ *Function, line int32) bool { return line == 0 }, Hidden},
		{"native code that a module of Node's called", nativeBelow(look(t, "short"), Standard), never, Named},
		{"too few samples", few, never, Untold},
		{"nothing", &Profile{Kind: CPU, Runtime: Node}, never, Untold},
	} {
		fatal.Same(t, c.p.Inlined(c.calls), c.want, "%s", c.name)
	}
}

// Only the line that is hot is asked for, and endpoints that no source tells are
// no better than such that were lost.
func TestInlinedAsksForTheHotLine(t *testing.T) {
	p := look(t, "told")
	asked := 0
	p.Inlined(func(f *Function, line int32) bool {
		if asked++; f.File != "/srv/shop/app.js" || line != 21 {
			t.Errorf("asked for %s:%d", f.File, line)
		}
		return false
	})
	fatal.Same(t, asked, 1, "times asked")
	for i := range p.Samples {
		p.Samples[i].Endpoint = ""
	}
	fatal.Same(t, p.Inlined(func(*Function, int32) bool { return false }), Hidden, "where no endpoint is known")
}
