package collect

import (
	"context"
	"strconv"
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/profile"
)

// What only the heap knows is found behind modules of Node's own, and mounted routers by
// what their layers say of a path that was asked for.
func TestTablesOfRouters(t *testing.T) {
	pid, base := nodeOf(t, "testdata/routers.js")
	i := attached(t, pid)
	i.mark(t.Context(), time.Minute)
	defer i.unmark(t.Context())
	for _, path := range []string{"/items/17", "/v1/tenants/7/users/ann/list"} {
		fatal.If(t, request("GET", base+path)(t.Context()))
	}
	r := i.readRouter(t.Context(), &profile.Profile{})
	want := []string{
		"* /acts", "* /any", "* /cats", "GET /cats/:cat", "GET /dogs", "GET /dogs/:dog", "GET /found",
		"GET /found/:id", "GET /items/{id}", "GET /kinds/:kind?", "GET /ping", "GET /shops/all/:shop", "GET /v1/tenants/:tenant/users/:user/:item",
		"GET /v1/tenants/:tenant/users/:user/list", "GET /v1/tenants/:tenant/users/:user{/:lang}/tags", "POST /api/:picture", "POST /items", "PUT /acts/:act",
	}
	fatal.Same(t, r.endpoints, want, "endpoints")
}

// A table that lost its prefix gets it from the requests, where these have one; where
// they have several, and where no request could mean an endpoint, the paths tell.
func TestATableIsHeldToTheRequests(t *testing.T) {
	for name, c := range map[string]struct {
		endpoint, second string // of the tables
		requests         []string
		ranIn            string // whose turn the endpoint's function ran in
		want             string // what it is called
	}{
		"whole":                              {"GET /things/:id", "", []string{"GET /things/17"}, "GET /things/17", "GET /things/:id"},
		"cut":                                {"GET /things/:id", "", []string{"GET /m/things/17"}, "GET /m/things/17", "GET /m/things/:id"},
		"cut, and it waited":                 {"GET /things/:id", "", []string{"GET /m/things/17", "GET /"}, "", "GET /m/things/:id"},
		"cut after a key":                    {"GET /things", "", []string{"GET /t/17/things", "GET /t/18/things"}, "", "GET /t/{id}/things"},
		"two prefixes":                       {"GET /same", "", []string{"GET /api/same", "GET /v2/same"}, "GET /v2/same", "GET /v2/same"},
		"two prefixes, and it waited":        {"GET /same", "", []string{"GET /api/same", "GET /v2/same"}, "", ""},
		"of another method":                  {"POST /things", "", []string{"GET /m/things"}, "GET /m/things", "GET /m/things"},
		"all of a mount":                     {"GET /", "", []string{"GET /m"}, "GET /m", "GET /m"},
		"asked for by none":                  {"GET /old", "", []string{"GET /new"}, "GET /new", "GET /new"},
		"asked for by none, long ago":        {"GET /old", "", []string{"GET /new"}, "", "GET /old"},
		"no request that is seen":            {"GET /old", "", nil, "", "GET /old"},
		"another has the requests' own name": {"GET /x", "GET /m/x", []string{"GET /m/x"}, "GET /m/x", "GET /m/x"},
	} {
		events := []string{"end"}
		for _, r := range c.requests {
			events = append(events, "start "+r, "over "+r, "end")
		}
		if c.ranIn != "" {
			events = append(events, "start "+c.ranIn)
		}
		m := timeline(c.requests, events...)
		at := place{"1", 9, 0}
		r := &router{named: map[place]string{at: c.endpoint}, endpoints: []string{c.endpoint}}
		if c.second != "" {
			r.endpoints = append(r.endpoints, c.second)
		}
		p := &profile.Profile{
			Kind: profile.CPU, Runtime: profile.Node, Functions: []profile.Function{{Name: "f", Script: "1", Line: 10, Column: 1}},
			Samples: []profile.Sample{{Stack: []profile.Frame{{}}, Value: 1, At: time.Duration(len(events)) * time.Millisecond}},
		}
		label(p, m, r)
		fatal.Same(t, p.Samples[0].Endpoint, c.want, "%s", name)
		if c.want != "" && len(c.requests) > 0 && c.want != "GET /old" && p.Requests[c.want] == 0 {
			t.Errorf("%s: %s has no requests: %v", name, c.want, p.Requests)
		}
	}
	// A 404 is of a route only where its function ran for one.
	r := &router{endpoints: []string{"GET /things/:id", "GET /:page"}, missed: map[string]bool{"GET /:page": true}}
	for name, want := range map[string]string{"404 GET /things/17": noRoute, "404 GET /about": "GET /:page", "GET /things/17": "GET /things/:id"} {
		fatal.Same(t, r.endpoint(name), want, "%s is of", name)
	}
	fatal.Same(t, cutPrefix("GET /m/things/17", "* /things/:id"), "/m", "prefix")
}

// A wrapper that needs nothing of its file has no module's scope around it: what it wraps is a
// function's all the same. Of many objects each has its own properties, in their order, also
// where one is no object.
func TestAWalkThroughValues(t *testing.T) {
	pid, _ := nodeOf(t, "testdata/routers.js")
	w := &routerWalk{i: attached(t, pid), ctx: context.WithoutCancel(t.Context()), left: walkValues}
	if !w.begin() {
		t.Fatal("the walk does not begin")
	}
	t.Cleanup(w.done)
	for expression, want := range map[string][2]int{ // around the function, and of its file
		"process.mainModule.require('./wrap.js')(() => 1)": {1, 0},
		"process.mainModule.require('./core.js').Core":     {0, 12},
	} {
		var f remote
		if !w.ask(expression, false, &f) {
			t.Fatal(expression)
		}
		if c := w.closures([]remote{f})[0]; len(c.inner) != want[0] || len(c.module) != want[1] {
			t.Errorf("%s: %d values around it and %d of its file, want %v", expression, len(c.inner), len(c.module), want)
		}
	}
	objects := ids(w.list("Array.from({ length: 250 }, (_, i) => ({ i }))"))
	if len(objects) != 250 {
		t.Fatalf("%d objects", len(objects))
	}
	objects[7] = "no object"
	for n, m := range w.properties(objects...) {
		if n == 7 && len(m.own) == 0 {
			continue
		}
		if len(m.own) != 1 || string(m.own[0].Value) != strconv.Itoa(n) {
			t.Errorf("object %d has %+v", n, m.own)
		}
	}
	held := w.inside(w.list("[[{}, 1, {}], {}, { a: 1, b: { c: 2 } }]"))
	if len(held) != 3 || len(held[0]) != 2 || len(held[1]) != 0 || len(held[2]) != 1 {
		t.Errorf("held %+v", held)
	}
}

// A route that takes every path is no endpoint: a framework behind it has the endpoints.
func TestARouteForEveryPathIsNoEndpoint(t *testing.T) {
	var routes []route
	for _, path := range []string{"*", "/*", "/*splat", "/{*path}", "(.*)", "/:rest*", "/:rest(.*)", "/{rest*}", "/files/*", "/:id", "/{id}", "/"} {
		routes = append(routes, route{Path: path})
	}
	kept, of := withoutCatchAll(routes, make([]remote, len(routes)))
	if len(kept) != 4 || len(of) != 4 || kept[0].Path != "/files/*" || kept[3].Path != "/" {
		t.Errorf("kept %+v", kept)
	}
}
