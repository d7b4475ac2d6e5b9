package profile

import (
	"cmp"
	"maps"
	"math"
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
	// Samples are how many saw each side, of the total and of endpoints.
	Samples [2]int64
}

// Ratio is Before over After with its 95 % interval, of two independent Poisson counts of
// samples (the normal approximation of the log ratio, variance 1/n + 1/m). ok is false
// where a side has too few samples for a figure: see Counted.
func (c Change) Ratio() (ratio, low, high float64, ok bool) {
	n, m := c.Samples[0], c.Samples[1]
	if c.Before <= 0 || c.After <= 0 || !Counted(n) || !Counted(m) {
		return 0, 0, 0, false
	}
	ratio = c.Before / c.After
	spread := math.Exp(1.96 * math.Sqrt(1/float64(n)+1/float64(m)))
	return ratio, ratio / spread, ratio * spread, true
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
	d := &Difference{Kind: after.Kind, PerRequest: bothCounted(before, after)}
	sides := [2]*Profile{before, after}
	weight := [2]float64{before.weight(d.PerRequest), after.weight(d.PerRequest)}
	d.Total = Change{Name: "all", Before: float64(before.Total()) * weight[0], After: float64(after.Total()) * weight[1], Samples: [2]int64{before.seen(), after.seen()}}
	functions, categories, endpoints, lines := rows{}, rows{}, rows{}, rows{}
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
	for side, costs := range [2]map[string]EndpointCost{a, b} {
		for name, cost := range costs {
			endpoints.add(side, Change{Name: names[side][name]}, cost.PerRequest).Samples[side] += cost.Samples
		}
	}
	d.Functions, d.Categories, d.Lines = functions.sorted(), categories.sorted(), lines.sorted()
	if d.PerRequest {
		d.Endpoints = endpoints.sorted()
	}
	return d
}

// bothCounted reports whether two profiles know their requests, and so are compared by request.
func bothCounted(before, after *Profile) bool {
	return before.AllRequests() > 0 && after.AllRequests() > 0
}

// weight is what a value counts for in a comparison: by request, or by second.
func (p *Profile) weight(perRequest bool) float64 {
	if perRequest {
		return 1 / float64(max(p.AllRequests(), 1))
	}
	return 1 / max(p.Duration.Seconds(), 1e-9)
}

// counted gives what a request costs, by endpoints that have requests.
func counted(p *Profile) map[string]EndpointCost {
	out := map[string]EndpointCost{}
	for _, e := range p.ByEndpoint() {
		if e.Requests > 0 && e.Value > 0 {
			out[e.Endpoint] = e
		}
	}
	return out
}

// seen is how many samples a profile has, without idle ones.
func (p *Profile) seen() (n int64) {
	sums := map[string]Tally{}
	p.AddTo(sums)
	for _, t := range sums {
		n += t.Samples
	}
	return n
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
func (r rows) add(side int, c Change, value float64) *Change {
	k := keyOf(c)
	row := r[k]
	if row == nil {
		row = &c
		r[k] = row
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
