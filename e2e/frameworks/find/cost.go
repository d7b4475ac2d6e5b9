package main

import (
	"context"
	"strings"

	"whittle/internal/child"
	"whittle/internal/cputime"
	"whittle/profile"
)

// costs measures what each request of a service costs, by the process's own CPU
// clock and alone: in nanoseconds.
func (s *service) costs(ctx context.Context, p *child.Process, u *users) ([]float64, error) {
	const rounds, each = 5, 30
	out := make([]float64, len(s.Load))
	for range rounds {
		for i := range s.Load {
			before, err := cputime.Of(p.Pid())
			if err != nil {
				return nil, err
			}
			for range each {
				if err := u.ask(ctx, p.Public, &s.Load[i]); err != nil {
					return nil, err
				}
			}
			after, err := cputime.Of(p.Pid())
			if err != nil {
				return nil, err
			}
			out[i] += float64(after-before) / (rounds * each)
		}
	}
	return out, nil
}

// dearest reports whether an advice names an endpoint that costs no less than any
// other, but for what chance makes.
func (s *service) dearest(advice string, costs []float64) bool {
	endpoint, ok := strings.CutPrefix(advice, "Carve ")
	endpoint, _, _ = strings.Cut(endpoint, " first: ")
	var named, most float64
	for i, r := range s.Load {
		most = max(most, costs[i])
		if profile.SameEndpoint(endpoint, r.Method+" "+r.Path) {
			named = max(named, costs[i])
		}
	}
	return ok && named >= 0.95*most
}

// share is the part of the CPU that the planted endpoint takes, where each request is sent
// equally often.
func (s *service) share(costs []float64) float64 {
	dear, all := 0.0, 0.0
	for i := range s.Load {
		all += costs[i]
		if profile.SameEndpoint(s.Planted.Endpoint, s.Load[i].Method+" "+s.Load[i].Path) {
			dear += costs[i]
		}
	}
	return dear / max(all, 1)
}
