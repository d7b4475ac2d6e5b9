package profile

import (
	"testing"
	"time"

	"whittle/internal/fatal"
)

func TestSameEndpoint(t *testing.T) {
	for _, c := range []struct {
		endpoint, name string
		want           bool
	}{
		{"POST /Count", "POST /Count", true},
		{"POST /Count", "GET /Count", false},
		{"* /Count", "GET /Count", true},
		{"GET /cache/{id}", "GET /cache/1f3a?size=2", true},
		{"GET /cache/:id", "GET /cache/1f3a", true},
		{"GET /cache/{id}", "GET /cache/1f3a/raw", false},
		{"GET /cache/{id}/raw", "GET /cache/1f3a", false},
		{"GET /static/{rest...}", "GET /static/a/b.css", true},
		{"/twirp.carved.Carved/Count", "POST /twirp/twirp.carved.Carved/Count", true},
		{"/twirp.carved.Carved/Count", "POST /twirp/twirp.carved.Carved/Discount", false},
		{"/Count", "POST /api/Count", false},
		{"/Greeter/Hello", "POST /greet.v1.Greeter/Hello", true},
		{"/Greeter/Hello", "POST /greet.v1.Greeter/Hell", false},
		{"GET /a or POST /b/{id}", "POST /b/3", true},
		{"GET /a or POST /b/{id}", "GET /b/3", false},
		{"GET /a", "GET /a/", true},
		{"GET /", "GET /", true},
		{"/{path...}", "GET /", true},
		{"GET /files/*name", "GET /files/a/b", true},
		{"GET /search/:kind?", "GET /search", true},
		{"GET /search/:kind?", "GET /search/new", true},
		{"GET /search/:kind?", "GET /search/new/1", false},
		{"GET /search/{kind?}", "GET /search", true},
		{"GET /:kind?", "GET /", true},
		{"GET /a/:b?/c", "GET /a/c", true},
		{"GET /a/:b?/:c?", "GET /a", true},
		{"GET /a/:b?/:c?/d", "GET /a", false},
		{"GET /flights/:from-:to", "GET /flights/LAX-SFO", true},
		{"GET /flights/:from-:to", "GET /flights/17", false},
		{"GET /flights/:from-:to", "GET /flights/-SFO", false},
		{"GET /files/{name}.{ext}", "GET /files/a.csv", true},
		{"GET /files/{name}.{ext}", "GET /files/a", false},
		{"GET /at/@:name", "GET /at/@me", true},
		{"GET /items/:id", "GET /items/", false},
		{"GET /items/:id/raw", "GET /items//raw", false},
		{"GET /items/:id(\\d+)", "GET /items/17", true},
		{"GET /items/:id(\\d+)", "GET /items/new", false},
		{"GET /items/{id:[0-9]+}", "GET /items/new", false},
		{"GET /items/:id{[0-9]+}", "GET /items/17", true},
		{"POST /Count", "Count random numbers", false},
		{"GET /users/:id", "GET /users/17/", true},
		{"GET /users/:id", "GET /users", false},
		{"GET /users/:id", "GET /users/17/posts", false},
		{"GET /users/{id:[0-9]+}", "GET /users/17", true},
		{"GET /users/<id>", "GET /users/17", true},
		{"GET /files/*path", "GET /files", false},
		{"GET /files/{*path}", "GET /files", true},
		{"GET /files/{p*}", "GET /files/a/b", true},
		{"GET /files/*", "GET /files/a/b", true},
		{"GET /files/{p:.+}", "GET /files/a/b", true},
		{"GET /files/{p*2}", "GET /files/a/b", true},
		{"GET /:file{.+\\.png}", "GET /a/b.png", true},
		{"GET /search{/:kind}", "GET /search", true},
		{"GET /search{/:kind}", "GET /search/books", true},
		{"GET /search{/:kind}", "GET /search/books/new", false},
		{"GET /files{/*path}", "GET /files/a/b", true},
		{"GET {/:lang}/a{/:b{/:c}}", "GET /a/b/c", true},
		{"GET {/:lang}/a{/:b{/:c}}", "GET /en/a/b", true},
		{"GET /a{/:b", "GET /a/b", false},
		{"GET /report-:id.csv", "GET /report-17.csv", true},
		{"GET /report-:id.csv", "GET /report-17.pdf", false},
		{"GET|POST /search", "POST /search?q=a", true},
		{"GET|POST /search", "PUT /search", false},
		{`GET /^\/rx(\d+)$/`, "GET /rx5?q=a", true},
		{`GET /^\/rx(\d+)$/`, "GET /rxs", false},
		{`GET /api/^\/rx$/i`, "GET /api/RX", true},
		{`GET /api/^\/rx$/i`, "GET /RX", false},
		{`GET /^\/(?=a)/`, "GET /a", false}, // Go has no such expression
		{"GET /", "HEAD /", true},
		{"GET /", "GET /x", false},
		{"", "GET /", false},
		{"GET /", "", false},
	} {
		fatal.Same(t, SameEndpoint(c.endpoint, c.name), c.want, "SameEndpoint(%q, %q)", c.endpoint, c.name)
	}
}

func TestRequestsAreCountedAsTheProfilesEndpoints(t *testing.T) {
	b := newBuild(Go).add(5, "GET /cache/{id}", "own.get").add(5, "/p.Cache/Put", "own.put").add(1, "", "runtime.mcall")
	b.p.CountRequests(map[string]int64{"GET /cache/1": 2, "GET /cache/2": 3, "POST /p.Cache/Put": 4, "warm up": 1})
	want := map[string]int64{"GET /cache/{id}": 5, "/p.Cache/Put": 4, "warm up": 1}
	fatal.Same(t, b.p.Requests, want, "requests")
	if cost := b.p.ByEndpoint()[0]; cost.PerRequest == 0 {
		t.Errorf("no cost per request: %+v", cost)
	}
	// A route without a sample keeps its requests from a catch-all that has some.
	b = newBuild(Go).add(5, "/{path...}", "own.page")
	b.p.Routes = []string{"GET /api/{id}"}
	b.p.CountRequests(map[string]int64{"GET /api/1": 2, "GET /x": 3})
	fatal.Same(t, b.p.Requests, map[string]int64{"GET /api/{id}": 2, "/{path...}": 3}, "requests")
}

// What leaves less open is meant, however long its names are.
func TestRequestsAreOfTheNarrowestEndpoint(t *testing.T) {
	known := []string{"/{everything...}", "GET /items/{identifier}", "GET /items/new", "GET /items/{a}-{b}"}
	for name, want := range map[string]string{"GET /items/x-y": "GET /items/{a}-{b}", "GET /items/new": "GET /items/new", "GET /items/7": "GET /items/{identifier}", "GET /x": "/{everything...}"} {
		fatal.Same(t, EndpointFor(name, known), want, "%s is of", name)
	}
	known = []string{"GET /users/:id", "GET /users/me", "GET /users/*", "GET /:a/:b"}
	for name, want := range map[string]string{"GET /users/me": "GET /users/me", "GET /users/17": "GET /users/:id", "GET /users/1/2": "GET /users/*", "GET /a/b": "GET /:a/:b", "GET /no": "GET /no"} {
		fatal.Same(t, EndpointFor(name, known), want, "%s is of", name)
	}
}

func TestDiffPairsEndpointsThatWereCarved(t *testing.T) {
	before := newBuild(Node).add(90, "POST /Count", "count").add(4, "GET /", "hello")
	before.p.Requests = map[string]int64{"POST /Count": 3, "GET /": 2}
	after := newBuild(Go).add(30, "/twirp.carved.Carved/Count", "own.draw").add(1, "GET /health", "own.health")
	after.p.Requests = map[string]int64{"/twirp.carved.Carved/Count": 3, "GET /health": 1}
	rows := map[string][2]float64{}
	for _, c := range Diff(&before.p, &after.p, nil).Endpoints {
		rows[c.Name] = [2]float64{c.Before, c.After}
	}
	want := map[string][2]float64{"POST /Count → /twirp.carved.Carved/Count": {30, 10}, "GET /": {2, 0}, "GET /health": {0, 1}}
	fatal.Same(t, rows, want, "rows")
	for _, c := range Diff(&before.p, &after.p, map[string]string{"GET /": "GET /health"}).Endpoints {
		if c.Name == "GET / → GET /health" && c.Before == 2 && c.After == 1 {
			return
		}
	}
	t.Error("what was said to be one endpoint is not one row")
}

func TestPathsAreRelative(t *testing.T) {
	p := Profile{Functions: []Function{
		{File: "/srv/app/count.js", Owner: Own}, {File: "/srv/application/x.js", Owner: Own}, {File: "/srv/app/lib.js", Owner: Library},
	}}
	p.RelativeTo("/srv/app")
	if p.Functions[0].File != "count.js" || p.Functions[1].File != "/srv/application/x.js" || p.Functions[2].File != "/srv/app/lib.js" {
		t.Errorf("%+v", p.Functions)
	}
}

func TestASiteKnowsWhatItCalledInto(t *testing.T) {
	b := newBuild(Go).
		add(7, "", "math/rand.(*rngSource).Uint64", "math/rand.(*Rand).Int31n", "own.draw@1").
		add(2, "", "math/rand.(*Rand).Int31n", "own.draw@1").
		add(3, "", "own.draw@1").
		add(9, "", "own.idle@12").add(1, "", "fmt.Println", "own.idle@12")
	sites := b.p.Sites(2)
	if b.name(sites[0].Callee) != "math/rand.(*Rand).Int31n" || sites[0].CalleeValue != 9 || sites[1].Callee != -1 {
		t.Errorf("sites %+v", sites)
	}
}

func TestTheCollectorOfNodeWorksForWhoeverRuns(t *testing.T) {
	p := Profile{Kind: CPU, Runtime: Node, Functions: []Function{
		{Name: Anonymous, File: "/srv/app.js", Owner: Own}, {Name: "(garbage collector)", Category: Collecting, Owner: System}, {Name: "(idle)", Category: Idle, Owner: System},
	}}
	for i, f := range []int32{1, 0, 1, 2, 1} {
		p.Samples = append(p.Samples, Sample{Stack: []Frame{{Function: f}}, Value: 1, At: time.Duration(i)})
	}
	p.LabelEndpoints(func(f *Function) string {
		if f.Owner == Own {
			return "POST /Count"
		}
		return ""
	}, nil)
	var got []string
	for _, s := range p.Samples {
		got = append(got, s.Endpoint)
	}
	fatal.Same(t, got, []string{"", "POST /Count", "POST /Count", "", ""}, "endpoints")
	fatal.Same(t, p.Functions[0].Name, "handler of POST /Count", "it is called")
}

// A method of a type with arguments keeps its name, and its package goes without the path.
func TestShortNames(t *testing.T) {
	for name, want := range map[string]string{
		"net/http.(*conn).serve":                          "http.(*conn).serve",
		"main.(*Cache[...]).Get":                          "main.(*Cache).Get",
		"shop/api.Get[go.shape.struct { net/http.X }]":    "api.Get",
		"shop/api.(*Of[go.shape.[]int,go.shape.int]).All": "api.(*Of).All",
		"shop/api.(*Of[go.shape.[]int]).All.func1":        "api.(*Of).All.func1",
		`RegExp: ^/a/[b-z]+$`:                             `RegExp: ^/a/[b-z]+$`,
		"handler of GET /a/b":                             "handler of GET /a/b",
		"draw":                                            "draw",
		"[unknown":                                        "[unknown",
		"[unknown]":                                       "[unknown]",
		"[Symbol.iterator]":                               "[Symbol.iterator]",
	} {
		fatal.Same(t, ShortName(name), want, "%s", name)
	}
}

// An endpoint leads for sure only where the CPU time of no known request,
// given whole to whichever other endpoint, would not put that one ahead.
func TestALeadIsSureOnlyAboveWhatIsUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		cpu  map[string]int64
		want Lead
		sure bool
	}{
		"all is known":        {map[string]int64{"a": 70, "b": 30}, Lead{Endpoint: "a", Next: "b", Share: 0.7, Over: 0.4, Unknown: 0}, true},
		"a little is unknown": {map[string]int64{"a": 60, "b": 25, "": 15}, Lead{Endpoint: "a", Next: "b", Share: 0.6, Over: 0.35, Unknown: 0.15}, true},
		"as much as the lead": {map[string]int64{"a": 50, "b": 25, "": 25}, Lead{Endpoint: "a", Next: "b", Share: 0.5, Over: 0.25, Unknown: 0.25}, true},
		"more than the lead":  {map[string]int64{"a": 49, "b": 25, "": 26}, Lead{Endpoint: "a", Next: "b", Share: 0.49, Over: 0.24, Unknown: 0.26}, false},
		"one of twelve parts": {map[string]int64{"a": 8, "b": 4, "": 88}, Lead{Endpoint: "a", Next: "b", Share: 0.08, Over: 0.04, Unknown: 0.88}, false},
		"one endpoint":        {map[string]int64{"a": 60, "": 40}, Lead{Endpoint: "a", Next: "", Share: 0.6, Over: 0.6, Unknown: 0.4}, true},
		"one, and mostly not": {map[string]int64{"a": 40, "": 60}, Lead{Endpoint: "a", Next: "", Share: 0.4, Over: 0.4, Unknown: 0.6}, false},
		"none":                {map[string]int64{"": 100}, Lead{Unknown: 1}, false},
		"nothing":             {nil, Lead{}, false},
		"idle endpoints":      {map[string]int64{"a": 100, "b": 0}, Lead{Endpoint: "a", Next: "", Share: 1, Over: 1, Unknown: 0}, true},
		"as dear as another":  {map[string]int64{"b": 50, "a": 50}, Lead{Endpoint: "a", Next: "b", Share: 0.5, Over: 0, Unknown: 0}, false},
		"within chance":       {map[string]int64{"b": 46, "a": 54}, Lead{Endpoint: "a", Next: "b", Share: 0.54, Over: 0.08, Unknown: 0}, false},
		"beyond chance":       {map[string]int64{"b": 38, "a": 62}, Lead{Endpoint: "a", Next: "b", Share: 0.62, Over: 0.24, Unknown: 0}, true},
		"too few samples":     {map[string]int64{"a": 29}, Lead{Endpoint: "a", Share: 1, Over: 1}, false},
		"third is no matter":  {map[string]int64{"a": 50, "b": 20, "c": 25, "": 5}, Lead{Endpoint: "a", Next: "c", Share: 0.5, Over: 0.25, Unknown: 0.05}, true},
	} {
		spent := map[string]Tally{}
		for e, v := range c.cpu {
			spent[e] = Tally{Value: v * 1e7, Samples: v}
			c.want.Samples += v
		}
		c.want.First, c.want.Second = 0, c.cpu[c.want.Next]
		if c.want.Endpoint != "" {
			c.want.First = c.cpu[c.want.Endpoint]
		}
		if c.want.Next == "" {
			c.want.Second = 0
		}
		got := LeadOf(spent)
		if got != c.want || got.Sure() != c.sure {
			t.Errorf("%s: %+v, sure %v; want %+v, %v", name, got, got.Sure(), c.want, c.sure)
		}
	}
}
