package control

import (
	"encoding/json"
	"strings"

	"whittle"
	"whittle/carve/compare/query"
)

// queries are the guardrails of a route's queries; guarded by the evidence's lock.
type queries []*query.Guard

// newQueries makes the guardrails of a route's queries. Their tests share an error rate of
// their own, which adds to that of the verdict and the guards. A test of old about the same query goes on.
func newQueries(spec *whittle.Route, old queries) queries {
	tests := 0
	for i := range spec.Queries {
		if spec.Queries[i].Tests() {
			tests++
		}
	}
	alpha := (1 - spec.Guard.Confidence) / float64(max(1, tests))
	list := make(queries, len(spec.Queries))
	for i, q := range spec.Queries {
		list[i] = query.New(q, alpha)
		for _, o := range old {
			if o.Is(q, alpha) {
				list[i] = o
			}
		}
	}
	return list
}

func (l queries) reset() {
	for _, g := range l {
		g.Reset()
	}
}

// wait is why the queries let a rise wait, after what the guard says.
func (l queries) wait(guard string) string {
	var all []string
	if guard != "" {
		all = append(all, guard)
	}
	for _, g := range l {
		if w := g.Wait(); w != "" {
			all = append(all, w)
		}
	}
	return strings.Join(all, "; ")
}

// meters are those of the guard and of the queries.
func (l queries) meters(guard []whittle.Meter) []whittle.Meter {
	for _, g := range l {
		guard = append(guard, g.Meter())
	}
	return guard
}

// kept is what is saved of the queries, by their fingerprints.
func (l queries) kept() (map[string]json.RawMessage, error) {
	if len(l) == 0 {
		return nil, nil
	}
	all := make(map[string]json.RawMessage, len(l))
	for _, g := range l {
		b, err := json.Marshal(g)
		if err != nil {
			return nil, err
		}
		all[fingerprint(g.Query())] = b
	}
	return all, nil
}

// restore takes what was saved. A query whose state is not there, or cannot be read,
// begins anew: the share that it guards has not risen meanwhile.
func (l queries) restore(all map[string]json.RawMessage) (failed []error) {
	for _, g := range l {
		if b := all[fingerprint(g.Query())]; b != nil {
			if err := json.Unmarshal(b, g); err != nil {
				g.Reset() // it may have been read in part
				failed = append(failed, err)
			}
		}
	}
	return failed
}

// Query takes the result of a route's query. It is ignored where the query is gone.
func (c *Controller) Query(of, name string, reading whittle.QueryReading) {
	c.withEvidence(of, func(r *route) {
		for _, g := range r.ev.queries {
			if g.Query().Name != name {
				continue
			}
			share := r.decided.Load().Share
			g.Take(reading, share)
			r.ev.changed = true
			r.ev.exposed = r.ev.exposed || share > 0
			r.wake.Notify()
		}
	})
}
