package gosource

import (
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"whittle/profile"
)

// Routes are what a service's functions serve.
type Routes struct {
	byFunction map[string]map[string]bool
	unsaid     map[string]bool     // functions that serve a route, and go by their names
	procedures map[string][]string // full names, by name without package
}

// Bounds of what is followed.
const (
	maxNested = 16 // groups below groups
	maxPaths  = 16 // prefixes of one router
	maxOneOf  = 3  // routes of one function that are named together
)

// found works out the routes, once every file was read.
func (f *finder) found() *Routes {
	for i := 0; i < len(f.later); i++ { // which may add more
		f.later[i]()
	}
	for o := range f.grouped {
		if place := f.one(o); len(f.parents[place]) == 0 {
			f.parents[place] = []edge{{nil, uncalled}}
		}
	}
	r := &Routes{byFunction: map[string]map[string]bool{}, unsaid: f.unsaid, procedures: map[string][]string{}}
	for _, g := range f.all {
		for _, prefix := range f.prefixes(g.router, map[any]bool{}) {
			if strings.Contains(prefix+g.path, uncalled) {
				continue
			}
			if strings.Contains(prefix+g.path, unknown) {
				for _, s := range g.serves {
					f.unsaid[s] = true
				}
				continue
			}
			route := strings.TrimSpace(g.method + " " + join(prefix, g.path))
			for _, s := range g.serves {
				if r.byFunction[s] == nil {
					r.byFunction[s] = map[string]bool{}
				}
				r.byFunction[s][route] = true
			}
		}
	}
	for s := range f.before {
		delete(r.byFunction, s)
		delete(r.unsaid, s)
	}
	for full := range f.served {
		service, method := path.Split(full)
		service = strings.TrimSuffix(service, "/")
		bare := "/" + service[strings.LastIndexAny(service, "./")+1:] + "/" + method
		r.procedures[bare] = append(r.procedures[bare], full)
	}
	return r
}

// prefixes are what stands before a router's paths.
func (f *finder) prefixes(place any, seen map[any]bool) []string {
	if place == nil {
		return []string{""}
	}
	place = f.one(place)
	if seen[place] || len(seen) > maxNested || len(f.parents[place]) == 0 {
		return []string{""}
	}
	seen[place] = true
	defer delete(seen, place)
	all := map[string]bool{}
	for _, e := range f.parents[place] {
		for _, before := range f.prefixes(e.parent, seen) {
			if len(all) < maxPaths {
				all[join(before, e.prefix)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// join puts paths together with one slash between them, and none at the end.
func join(before, after string) string {
	whole := strings.TrimSuffix(before, "/") + "/" + strings.TrimPrefix(after, "/")
	if len(whole) > 1 {
		whole = strings.TrimSuffix(whole, "/")
	}
	if whole == "/" && before == "" && after == "" {
		return ""
	}
	return whole
}

// of is the route that a function serves: where they are a few, all of them, and its name
// where one cannot be said.
func (r *Routes) of(f *profile.Function) string {
	name := profile.WithoutTypes(strings.TrimSuffix(f.Name, "-fm")) // which the compiler appends to a method's value
	at := f.File + ":" + strconv.Itoa(f.Line)
	if r.unsaid[name] || r.unsaid[at] {
		return f.HandlerName()
	}
	all := r.byFunction[name]
	if len(all) == 0 && f.Line > 0 {
		all = r.byFunction[at]
	}
	return oneOf(all)
}

// oneOf names a function's routes as one endpoint. "": it has none, or too many to tell.
func oneOf(routes map[string]bool) string {
	if len(routes) == 0 || len(routes) > maxOneOf {
		return ""
	}
	return strings.Join(slices.Sorted(maps.Keys(routes)), profile.OneOf)
}

// names are the endpoints of all functions that serve one.
func (r *Routes) names() []string {
	all := map[string]bool{}
	for _, routes := range r.byFunction {
		if name := oneOf(routes); name != "" {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// procedure is an RPC's full name, of its name without package.
func (r *Routes) procedure(bare string) string {
	if full := r.procedures[bare]; len(full) == 1 {
		return full[0]
	}
	return bare
}

// short says how a build with -trimpath names a file of a module.
func (m *module) short(file string) string {
	relative, err := filepath.Rel(m.folder, file)
	if err != nil {
		return file
	}
	return path.Join(m.path, filepath.ToSlash(relative))
}
