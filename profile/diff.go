package profile

import (
	"cmp"
	"maps"
	"slices"
)

// Change is how one row of two profiles differs, per request, in the unit of
// their kind. Before or After is 0 where it is in one of them only.
type Change struct {
	Name          string // a function, an endpoint or a category
	File          string // of a function
	Line          int
	Owner         Owner
	Before, After float64
}

// Delta is After − Before: above 0 it became dearer.
func (c Change) Delta() float64 { return c.After - c.Before }

// Difference is what changed from one profile to another.
type Difference struct {
	Kind Kind
	// PerRequest says that the figures are by request; else they are by second
	// of the profile, since one of the two does not know its requests.
	PerRequest bool
	Total      Change
	Functions  []Change // by what was spent in each itself, the largest change first
	// Lines are own functions with all that they asked of libraries and the runtime, at
	// the line that asked for most, the largest change first.
	Lines      []Change
	Endpoints  []Change // only where both know their requests
	Categories []Change
}

// Diff compares two profiles of one kind, also one of V8's with one of Go's. In
// that case few functions have a counterpart, and the difference shows in endpoints
// and categories. Endpoints whose names differ are one row where renamed says so,
// the old name first, or where pairEndpoints finds them alike.
func Diff(before, after *Profile, renamed map[string]string) *Difference {
	d := &Difference{Kind: after.Kind, PerRequest: BothCounted(before, after)}
	sides := [2]*Profile{before, after}
	weight := [2]float64{before.Weight(d.PerRequest), after.Weight(d.PerRequest)}
	d.Total = Change{Name: "all", Before: float64(before.Total()) * weight[0], After: float64(after.Total()) * weight[1]}
	var functions, categories, endpoints, lines rows
	for side, p := range sides {
		for _, c := range p.Hot(BySelf) {
			if c.Self == 0 {
				continue
			}
			f := p.Functions[c.Function]
			functions.add(side, Change{Name: f.Name, File: f.File, Line: f.Line, Owner: f.Owner}, float64(c.Self)*weight[side])
		}
		dearest := map[int32]int{}
		for _, s := range p.Sites(len(p.Samples)) { // the dearest first
			f := p.Functions[s.Function]
			if dearest[s.Function] == 0 {
				dearest[s.Function] = max(int(s.Line), f.Line, 1)
			}
			lines.add(side, Change{Name: f.Name, File: f.File, Line: f.Line, Owner: f.Owner}, float64(s.Value)*weight[side]).Line = dearest[s.Function]
		}
		for _, part := range p.Parts() {
			categories.add(side, Change{Name: part.Category.String()}, float64(part.Value)*weight[side])
		}
	}
	a, b := counted(before), counted(after)
	names := pairEndpoints(slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b)), renamed)
	for name, cost := range a {
		endpoints.add(0, Change{Name: names[0][name]}, cost)
	}
	for name, cost := range b {
		endpoints.add(1, Change{Name: names[1][name]}, cost)
	}
	d.Functions, d.Categories, d.Lines = functions.sorted(), categories.sorted(), lines.sorted()
	if d.PerRequest {
		d.Endpoints = endpoints.sorted()
	}
	return d
}

// BothCounted reports whether two profiles know their requests, and so are compared by request.
func BothCounted(before, after *Profile) bool {
	return before.AllRequests() > 0 && after.AllRequests() > 0
}

// Weight is what a value counts for in a comparison: by request, or by second.
func (p *Profile) Weight(perRequest bool) float64 {
	if perRequest {
		return 1 / float64(max(p.AllRequests(), 1))
	}
	return 1 / max(p.Duration.Seconds(), 1e-9)
}

// counted gives what a request costs, by endpoints that have requests.
func counted(p *Profile) map[string]float64 {
	out := map[string]float64{}
	for _, e := range p.ByEndpoint() {
		if e.Requests > 0 && e.Value > 0 {
			out[e.Endpoint] = e.PerRequest
		}
	}
	return out
}

// String is the category's name; that of the zero value too.
func (c Category) String() string {
	if c == Work {
		return "work"
	}
	return string(c)
}

// rowKey distinguishes functions of one name: V8's anonymous ones. A Go function
// keeps its name when its file moves with a version.
type rowKey struct {
	name, file string
	line       int
}

func keyOf(c Change) rowKey {
	if PackageOf(c.Name) != "" {
		return rowKey{name: c.Name}
	}
	return rowKey{c.Name, c.File, c.Line}
}

type rows map[rowKey]*Change

// add adds to one side's value, and gives the row.
func (r *rows) add(side int, c Change, value float64) *Change {
	k := keyOf(c)
	if *r == nil {
		*r = rows{}
	}
	row := (*r)[k]
	if row == nil {
		row = &c
		(*r)[k] = row
	}
	if side == 0 {
		row.Before += value
		return row
	}
	row.After += value
	row.File, row.Line = c.File, c.Line // where it is to be found today
	return row
}

func (r rows) sorted() []Change {
	var out []Change
	for _, row := range r {
		out = append(out, *row)
	}
	slices.SortFunc(out, func(a, b Change) int {
		x, y := a.Delta(), b.Delta()
		return cmp.Or(cmp.Compare(int64(max(y, -y)*1000), int64(max(x, -x)*1000)), cmp.Compare(a.Name, b.Name), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return out
}
