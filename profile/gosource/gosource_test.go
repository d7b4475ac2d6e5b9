package gosource

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whittle/internal/fatal"
	"whittle/profile"
)

// services has the sources of the profiles in testdata, which were taken of builds
// with -trimpath under the load of each service.json.
const services = "../../e2e/frameworks/testdata/services/go"

func read(t *testing.T, name string) *profile.Profile {
	t.Helper()
	p, err := profile.ReadPprof([]byte(fatal.Read(t, filepath.Join("testdata", name+".pb.gz"))), profile.CPU)
	fatal.If(t, err)
	return p
}

// found gives the endpoints by what they cost, without those of no request.
func found(p *profile.Profile) (out []string) {
	for _, e := range p.ByEndpoint() {
		if e.Endpoint != "" {
			out = append(out, e.Endpoint)
		}
	}
	return out
}

// Real profiles of real frameworks: with the sources the dearest endpoint is the
// route, without them the handler's name, and no middleware is ever an endpoint.
func TestEveryFrameworksHandlerIsFound(t *testing.T) {
	for _, c := range []struct{ service, route, handler string }{
		{"http", "POST /orders/{id}/price", "orders.(*Shop).Price"},
		{"gorilla", "GET /api/games/{id}/best", "scores.best"},
		{"chi", "POST /v1/years/{year}/close", "reports.(*Books).Close"},
		{"gin", "POST /api/v1/reverse", "main.main.typed.func3 → main.reverse"},
		{"echo", "GET /users/:id/avatar", "avatars.(*Painter).Draw"},
		{"fiber", "POST /links/check", "main.main.func2"},
		{"connect", "/greet.v1.GreetService/Greet", "/GreetService/Greet"},
		{"grpc", "/greet.v1.GreetService/Greet", "/GreetService/Greet"},
	} {
		t.Run(c.service, func(t *testing.T) {
			with, without := read(t, c.service), read(t, c.service)
			Label(services, with)
			Label(t.TempDir(), without)
			for _, got := range []struct {
				list []string
				want string
			}{{found(with), c.route}, {found(without), c.handler}} {
				if len(got.list) == 0 || got.list[0] != got.want {
					t.Errorf("found %q, want %q first", got.list, got.want)
				}
				for _, e := range got.list {
					for _, middleware := range []string{"counted", "authorized", "tagged", "timed", "main.main.func1"} {
						if strings.Contains(e, middleware) {
							t.Errorf("the middleware %s is an endpoint", e)
						}
					}
				}
			}
		})
	}
}

// small writes a module of one package main, and gives a profile with one sample for
// each of its functions, as a handler that a router called.
func small(t *testing.T, source string) (string, func(function string, line int) string) {
	t.Helper()
	folder := moduleOf(t, map[string]string{"main.go": source})
	return folder, func(function string, line int) string {
		return served(folder, function, filepath.Join(folder, "main.go"), line)
	}
}

// moduleOf writes the files of one, next to its go.mod.
func moduleOf(t *testing.T, files map[string]string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	files["go.mod"] = "module example.com/x\n"
	for name, text := range files {
		fatal.Write(t, filepath.Join(folder, name), text)
	}
	return folder
}

// served is the endpoint of a function that a router called, by the sources in a folder.
func served(folder, function, file string, line int) string {
	p := stacked(profile.Function{Name: "net/http.(*ServeMux).ServeHTTP", Owner: profile.Standard}, profile.Function{Name: function, File: file, Line: line, Owner: profile.Own})
	Label(folder, p)
	return p.Samples[0].Endpoint
}

// A checkout may be reached by a link.
func TestSourcesBehindALink(t *testing.T) {
	folder, _ := small(t, "package main\nimport \"net/http\"\nfunc main() { http.HandleFunc(\"GET /a\", work) }\nfunc work(w http.ResponseWriter, r *http.Request) {}\n")
	link := filepath.Join(t.TempDir(), "link")
	fatal.If(t, os.Symlink(folder, link))
	fatal.Same(t, served(link, "main.work", filepath.Join(link, "main.go"), 4), "GET /a", "it serves")
}

func TestRoutesAreFollowed(t *testing.T) {
	const closures = `http.HandleFunc("/a", func(w http.ResponseWriter, r *http.Request) {}); ` +
		`http.HandleFunc("/b", func(w http.ResponseWriter, r *http.Request) {})`
	for name, c := range map[string]struct {
		body, function, want string
		line                 int
	}{
		"a pattern with a method":       {`m := http.NewServeMux(); m.HandleFunc("GET /a/{id}", work)`, "main.work", "GET /a/{id}", 1},
		"a subtree":                     {`http.HandleFunc("/files/", work)`, "main.work", "/files/{path...}", 1},
		"one path, exactly":             {`http.HandleFunc("/{$}", work)`, "main.work", "/", 1},
		"a host":                        {`http.HandleFunc("GET example.com/a", work)`, "main.work", "GET /a", 1},
		"a constant":                    {`const at = "/c"; http.HandleFunc(at+"/d", work)`, "main.work", "/c/d", 1},
		"a conversion":                  {`http.Handle("/a", http.HandlerFunc(work))`, "main.work", "/a", 1},
		"a value's ServeHTTP":           {`http.Handle("/a", &thing{})`, "main.(*thing).ServeHTTP", "/a", 1},
		"a variable of it":              {`v := &thing{}; http.Handle("/a", v)`, "main.(*thing).ServeHTTP", "/a", 1},
		"a method value":                {`v := &thing{}; http.HandleFunc("/a", v.work)`, "main.(*thing).work", "/a", 1},
		"its wrapper":                   {`v := &thing{}; http.HandleFunc("/a", v.work)`, "main.(*thing).work-fm", "/a", 1},
		"a field's method":              {`s := &server{}; http.HandleFunc("/a", s.t.work)`, "main.(*thing).work", "/a", 1},
		"middlewares around it":         {`http.Handle("/a", logged(logged(http.HandlerFunc(work))))`, "main.work", "/a", 1},
		"a closure":                     {"http.HandleFunc(\"/a\", func(w http.ResponseWriter, r *http.Request) {})", "main.main.func1", "/a", 3},
		"a closure in a variable":       {"h := func(w http.ResponseWriter, r *http.Request) {}\nhttp.HandleFunc(\"/a\", h)", "main.main.func1", "/a", 3},
		"a function that makes one":     {`http.HandleFunc("/a", make1())`, "main.make1.func1", "/a", 12},
		"a method that does":            {`s := &server{}; http.HandleFunc("/a", s.handle())`, "main.(*server).handle.func1", "/a", 13},
		"a generic wrapper":             {`r := gin.New(); r.POST("/a", typed(bound))`, "main.bound", "POST /a", 1},
		"a generic handler":             {`http.HandleFunc("/a", generic[int])`, "main.generic[...]", "/a", 1},
		"groups":                        {`r := gin.New(); g := r.Group("/v1"); h := g.Group("/x"); h.GET("/:id", work)`, "main.work", "GET /v1/x/:id", 1},
		"a method by its name":          {`r := gin.New(); r.Handle(http.MethodPut, "/a", work)`, "main.work", "PUT /a", 1},
		"gin's middlewares before it":   {`r := gin.New(); r.GET("/a", bound, work)`, "main.work", "GET /a", 1},
		"a route's own middleware":      {`r := gin.New(); r.GET("/a", bound, work)`, "main.bound", "GET /a", 1},
		"one of all routes, used again": {`r := gin.New(); r.Use(bound); r.GET("/a", bound, work)`, "main.bound", "main.bound", 1},
		"one of a group, made":          {`r := gin.New(); g := r.Group("/g", make1()); g.GET("/a", make1(), work)`, "main.make1.func1", "main.make1.func1", 12},
		"several methods":               {`r := gin.New(); r.Match([]string{"GET", http.MethodPost}, "/a", work)`, "main.work", "GET /a or POST /a", 1},
		"a wrapped function":            {`r := gin.New(); r.GET("/a", gin.WrapF(work))`, "main.work", "GET /a", 1},
		"echo's middlewares behind it":  {`e := echo.New(); e.GET("/a", work, logged2)`, "main.work", "GET /a", 1},
		"chi's route":                   {`r := chi.NewRouter(); r.Route("/a", func(r chi.Router) { r.With(logged).Get("/{id}", work) })`, "main.work", "GET /a/{id}", 1},
		"chi's group":                   {`r := chi.NewRouter(); r.Group(func(r chi.Router) { r.Get("/a", work) })`, "main.work", "GET /a", 1},
		"chi's mount":                   {`r := chi.NewRouter(); r.Mount("/sub", sub())`, "main.inSub", "GET /sub/in", 1},
		"a mount of a variable":         {`r := chi.NewRouter(); s := chi.NewRouter(); s.Get("/a", work); r.Mount("/m", s)`, "main.work", "GET /m/a", 1},
		"a router that is passed on":    {`r := gin.New(); register(r.Group("/p"))`, "main.registered", "GET /p/r", 1},
		"a router in a field":           {`s := &server{}; s.router = gin.New().Group("/f"); s.router.GET("/a", work)`, "main.work", "GET /f/a", 1},
		"gorilla's methods":             {`r := mux.NewRouter(); r.HandleFunc("/a", work).Methods("DELETE")`, "main.work", "DELETE /a", 1},
		"gorilla's chain":               {`r := mux.NewRouter(); r.Methods(http.MethodPut).Path("/a").HandlerFunc(work)`, "main.work", "PUT /a", 1},
		"gorilla's subrouter":           {`r := mux.NewRouter(); s := r.PathPrefix("/v2").Subrouter(); s.HandleFunc("/a", work)`, "main.work", "/v2/a", 1},
		"a stripped prefix":             {`m := http.NewServeMux(); s := http.NewServeMux(); s.HandleFunc("GET /a", work); m.Handle("/v3/", http.StripPrefix("/v3", s))`, "main.work", "GET /v3/a", 1},
		"two routes":                    {`http.HandleFunc("GET /a", work); http.HandleFunc("GET /b", work)`, "main.work", "GET /a or GET /b", 1},
		"too many of them":              {`r := gin.New(); r.GET("/a", work); r.GET("/b", work); r.GET("/c", work); r.GET("/d", work)`, "main.work", "main.work", 1},
		"a path that is not constant":   {`http.HandleFunc(os.Args[1], work)`, "main.work", "main.work", 1},
		"a router below itself":         {`r := gin.New(); r = r.Group("/a"); r.GET("/b", work)`, "main.work", "GET /b", 1},
		"a prefix that is none":         {`r := gin.New(); g := r.Group("/v1" + os.Args[1]); g.GET("/a", work)`, "main.work", "main.work", 1},
		"a mount's that is none":        {`r := chi.NewRouter(); s := chi.NewRouter(); s.Get("/a", work); r.Mount(os.Args[1], s)`, "main.work", "main.work", 1},
		"a nested one's that is none":   {`r := chi.NewRouter(); r.Route(os.Args[1], func(r chi.Router) { r.Get("/a", work) })`, "main.work", "main.work", 1},
		"a stripped one's that is none": {`m := http.NewServeMux(); s := http.NewServeMux(); s.HandleFunc("GET /a", work); ` +
			`m.Handle(os.Args[1], http.StripPrefix(os.Args[1], s))`, "main.work", "main.work", 1},
		"known and unknown":             {`r := gin.New(); r.GET("/a", work); r.Group(os.Args[1]).GET("/b", work)`, "main.work", "main.work", 1},
		"a method of an interface":      {`r := gin.New(); var c controller = &thing{}; c.register(r.Group("/p"))`, "main.(*thing).work", "POST /p/t", 1},
		"a function nobody is seen in":  {`for _, f := range []func(*gin.RouterGroup){register} { f(gin.New().Group("/p")) }`, "main.registered", "main.registered", 1},
		"gorilla's stripped prefix":     {`r := mux.NewRouter(); s := mux.NewRouter(); s.HandleFunc("/a", work); r.PathPrefix("/v4").Handler(http.StripPrefix("/v4", s))`, "main.work", "/v4/a", 1},
		"two closures on one line":      {closures, "main.main.func2", "/b", 3},
		"the one before it":             {closures, "main.main.func1", "/a", 3},
		"where they are inlined":        {closures, "main.init.main.func7", "/a or /b", 3},
		"one within another":            {`func() { ` + closures + ` }()`, "main.main.func1.2", "/b", 3},
		"fiber's Use of another":        {`app := fiber.New(); sub := fiber.New(); sub.Get("/a", work); app.Use("/p", sub)`, "main.work", "GET /p/a", 1},
		"and of one from a function":    {`app := fiber.New(); app.Use("/p", another())`, "main.elsewhere", "GET /p/b", 1},
		"below what nobody knows":       {`app := fiber.New(); sub := fiber.New(); sub.Get("/a", work); app.Use(os.Args[1]+"/p", sub)`, "main.work", "main.work", 1},
		"a group that a function fills": {`r := bunrouter.New(); r.WithGroup("/p", func(g *bunrouter.Group) { g.GET("/:id", work) })`, "main.work", "GET /p/:id", 1},
		"one that is new":               {`r := httptreemux.New(); g := r.NewGroup("/p"); g.GET("/:id", work)`, "main.work", "GET /p/:id", 1},
		"iris's parties":                {`app := iris.New(); app.Party("/p", bound).Get("/a", work)`, "main.work", "GET /p/a", 1},
		"a party of a function":         {`app := iris.New(); app.PartyFunc("/p", func(p iris.Party) { p.Get("/{id:int}", work) })`, "main.work", "GET /p/{id:int}", 1},
		"fasthttp's router":             {`r := router.New(); g := r.Group("/p"); g.GET("/{id}", work)`, "main.work", "GET /p/{id}", 1},
		// A router is below its mount's prefix though something is wrapped around it: a middleware of
		// the service's own, or of another package. What is only told of a router is not around it.
		"a mount of a wrapped one":  {`m := http.NewServeMux(); m.Handle("/p/", http.StripPrefix("/p", inside()))`, "main.deep", "/p/d", 1},
		"one that is wrapped there": {`m := http.NewServeMux(); s := http.NewServeMux(); s.HandleFunc("/a", work); m.Handle("/p/", http.StripPrefix("/p", logged(s)))`, "main.work", "/p/a", 1},
		"by another package": {`m := http.NewServeMux(); s := http.NewServeMux(); s.HandleFunc("/a", work); ` +
			`h := cors.Default().Handler(s); m.Handle("/p/", http.StripPrefix("/p", h))`, "main.work", "/p/a", 1},
		"by another's function":      {`r := chi.NewRouter(); s := chi.NewRouter(); s.Get("/a", work); r.Mount("/p", handlers.LoggingHandler(os.Stdout, s))`, "main.work", "GET /p/a", 1},
		"one that lists itself":      {`r := chi.NewRouter(); r.Get("/a", work); r.Mount("/p", docs.New(r))`, "main.work", "GET /a", 1},
		"an own kind of router":      {`a := &app{chi.NewRouter()}; a.group("/p", func(b *app) { b.r.Get("/a", work) })`, "main.work", "main.work", 1},
		"code that does not compile": {`r := gin.New(; r.GET("/b", work)`, "main.work", "main.work", 1},
	} {
		t.Run(name, func(t *testing.T) {
			source := "package main; import (" +
				"\"net/http\"; \"os\"; \"github.com/gin-gonic/gin\"; \"github.com/labstack/echo/v4\"; \"github.com/kataras/iris/v12\"; " +
				"\"github.com/fasthttp/router\"; \"github.com/gofiber/fiber/v3\"; \"github.com/uptrace/bunrouter\"; \"github.com/dimfeld/httptreemux/v5\"; " +
				"\"github.com/rs/cors\"; \"github.com/gorilla/handlers\"; \"example.com/docs\")\n" +
				"func main() {\n" + c.body + strings.Repeat("\n", 8-strings.Count(c.body, "\n")) + "}\n" +
				"func make1() http.HandlerFunc { return func(w http.ResponseWriter, r *http.Request) {} }\n" +
				"func (s *server) handle() http.HandlerFunc { return func(w http.ResponseWriter, r *http.Request) {} }\n" +
				`type thing struct{}; func (t *thing) work(http.ResponseWriter, *http.Request) {}
func (t *thing) ServeHTTP(http.ResponseWriter, *http.Request) {}
type server struct { t thing; router any }
func work(http.ResponseWriter, *http.Request) {}
func logged(h http.Handler) http.Handler { return h }
func logged2(h http.Handler) http.Handler { return h }
func another() *fiber.App { a := fiber.New(); a.Get("/b", elsewhere); return a }
func elsewhere(c fiber.Ctx) error { return nil }
func bound(n int) int { return n }
func typed[T any](f func(T) T) any { return func() { f(*new(T)) } }
func generic[T any](http.ResponseWriter, *http.Request) {}
func sub() http.Handler { r := chi.NewRouter(); r.Get("/in", inSub); return r }
func inSub(http.ResponseWriter, *http.Request) {}
func register(r *gin.RouterGroup) { r.GET("/r", registered) }
func registered(*gin.Context) {}
type controller interface { register(g *gin.RouterGroup) }
func (t *thing) register(g *gin.RouterGroup) { g.POST("/t", t.work) }
func inside() http.Handler { s := http.NewServeMux(); s.HandleFunc("/d", deep); return logged(s) }
func deep(http.ResponseWriter, *http.Request) {}
type app struct { r chi.Router }
func (a *app) group(prefix string, fill func(*app)) { a.r.Route(prefix, func(r chi.Router) { fill(&app{r}) }) }
`
			_, endpoint := small(t, source)
			if strings.Contains(c.body, "mux.NewRouter") || strings.Contains(c.body, "chi.NewRouter") {
				_, endpoint = small(t, strings.Replace(source, `"os";`, `"os"; "github.com/gorilla/mux"; "github.com/go-chi/chi/v5";`, 1))
			}
			fatal.Same(t, endpoint(c.function, c.line), c.want, "%s serves", c.function)
		})
	}
}

// A function that makes several handlers makes each for a route of its own; two on one
// line of source are told apart by the compiler's numbers.
func TestHandlersThatAreMadeTogether(t *testing.T) {
	const head = "package main\nimport \"net/http\"\nfunc main() {\n\tcheap, dear := both()\n\thttp.HandleFunc(\"/cheap\", cheap)\n\thttp.HandleFunc(\"/dear\", dear)\n}\n" +
		"func both() (a, b http.HandlerFunc) {\n"
	const closure = "func(w http.ResponseWriter, r *http.Request) {}"
	for name, c := range map[string]struct {
		body string
		want map[int]string // by line
	}{
		"each on its line": {"\treturn " + closure + ",\n\t\t" + closure + "\n}\n", map[int]string{9: "/cheap", 10: "/dear"}},
		"both on one":      {"\treturn " + closure + ", " + closure + "\n}\n", map[int]string{9: "/cheap"}},
		"not told apart":   {"\ta = " + closure + "\n\tb = " + closure + "\n\treturn\n}\n", map[int]string{9: "main.both.func1", 10: "main.both.func1"}},
	} {
		_, of := small(t, head+c.body)
		for line, want := range c.want {
			fatal.Same(t, of("main.both.func1", line), want, "%s: line %d serves", name, line)
		}
		if got := of("main.both.func2", 9); name == "both on one" && got != "/dear" {
			t.Errorf("the second on a line serves %q", got)
		}
	}
}

// A module's programs have functions of one name, and each its own routes: those of
// another one are nobody's here, whether the build names whole paths or not.
func TestAnotherProgramsRoutesAreNotThisOnes(t *testing.T) {
	folder := moduleOf(t, map[string]string{
		"cmd/shop/main.go": "package main\nimport \"net/http\"\nfunc main() { http.HandleFunc(\"GET /a\", work) }\nfunc work(w http.ResponseWriter, r *http.Request) {}\n",
		"cmd/jobs/main.go": "package main\nimport \"net/http\"\nfunc main() { http.HandleFunc(\"GET /b\", work) }\nfunc work(w http.ResponseWriter, r *http.Request) {}\n",
	})
	for _, file := range []string{filepath.Join(folder, "cmd/shop/main.go"), "example.com/x/cmd/shop/main.go"} {
		fatal.Same(t, served(folder, "main.work", file, 4), "GET /a", "%s: it serves", file)
	}
}

// A generator that lies in a package's folder is a program of its own, and hides none of
// the package's routes.
func TestAGeneratorHidesNoPackage(t *testing.T) {
	folder := moduleOf(t, map[string]string{
		"main.go":      "package main\nfunc main() {}\n",
		"api/a_gen.go": "// Made by hand.\n\n//go:build ignore\n\npackage main\nfunc main() {}\n",
		"api/api.go":   "package api\nimport \"net/http\"\nfunc Routes() { http.HandleFunc(\"GET /a\", work) }\nfunc work(w http.ResponseWriter, r *http.Request) {}\n",
	})
	p := stacked(
		profile.Function{Name: "main.main", File: filepath.Join(folder, "main.go"), Line: 2, Owner: profile.Own},
		profile.Function{Name: "net/http.(*ServeMux).ServeHTTP", Owner: profile.Standard},
		profile.Function{Name: "example.com/x/api.work", File: filepath.Join(folder, "api/api.go"), Line: 4, Owner: profile.Own},
	)
	if Label(folder, p); p.Samples[0].Endpoint != "GET /a" {
		t.Errorf("it serves %q", p.Samples[0].Endpoint)
	}
}

// stacked is a profile of one sample, whose stack begins at the root.
func stacked(functions ...profile.Function) *profile.Profile {
	p := &profile.Profile{Kind: profile.CPU, Runtime: profile.Go, Functions: functions, Samples: []profile.Sample{{Value: 1}}}
	for i := range functions {
		p.Samples[0].Stack = append([]profile.Frame{{Function: int32(i)}}, p.Samples[0].Stack...)
	}
	return p
}

// Where a prefix is not known a route's middleware is no more its name than where it is:
// the handler is, which it calls directly; and by itself it is nobody's.
func TestAMiddlewareIsNoEndpointBelowAnUnknownPrefix(t *testing.T) {
	folder, _ := small(t, `package main
import ("os"; "github.com/labstack/echo/v4")
func main() {
	e := echo.New()
	g := e.Group(os.Args[1])
	g.GET("/a", work, timed)
}
func work(c echo.Context) error { return nil }
func timed(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error { return next(c) }
}
`)
	file := filepath.Join(folder, "main.go")
	functions := []profile.Function{
		{Name: "github.com/labstack/echo/v4.(*Echo).ServeHTTP", Owner: profile.Library},
		{Name: "github.com/labstack/echo/v4.(*Echo).add.func1", Owner: profile.Library},
		{Name: "main.timed.func1", File: file, Line: 10, Owner: profile.Own},
		{Name: "main.work", File: file, Line: 8, Owner: profile.Own},
	}
	p := stacked(functions...)
	p.Samples = append(p.Samples, profile.Sample{Value: 1, Stack: []profile.Frame{{Function: 2}, {Function: 1}, {Function: 0}}})
	if Label(folder, p); p.Samples[0].Endpoint != "main.work" || p.Samples[1].Endpoint != "" {
		t.Errorf("endpoints %q and %q", p.Samples[0].Endpoint, p.Samples[1].Endpoint)
	}
}
