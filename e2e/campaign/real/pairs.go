package real

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"whittle/e2e/campaign/family"
	"whittle/e2e/campaign/fault"
	"whittle/e2e/campaign/sum"
)

// Pairs are those of the campaign that go through the gateway: each family at
// least once, each group of mutations, and two faithful candidates.
func Pairs() [][2]string {
	return [][2]string{
		{"profile", "rounding"},
		{"profile", "null-missing"},
		{"profile", "wrong-key"},
		{"profile", "first-100"},
		{"profile", "list-cut"},
		{"profile", "header-dropped"},
		{"money", "one-cent"},
		{"money", "first-30"},
		{"bookings", "time-zone"},
		{"bookings", "expired"},
		{"quotes", "id-constant"},
		{"quotes", "id-short"},
		{"shipments", "enum-case"},
		{"shipments", "stale-30s"},
		{"terms", "encoding"},
		{"terms", "first-10"},
		{"export", "list-twice"},
		{"login", "cookie-script"},
		{"login", "no-refusals"},
		{"graphql", "swapped-often"},
		{"graphql", "slow"},
		{"orders", "status-near"},
		{"quotes", "errors-rare"},
		{"count", "mean-low"},
		{"orders", "written-twice"},
		{"orders", "first-fails"},
		{"search", "float32"},
		{"search", "broken"},
		{"terms", ""},
		{"search", ""},
	}
}

// Find gives a pair by its names.
func Find(name, mutation string) (*family.Family, *fault.Mutation, error) {
	families, mutations := family.All(), fault.All()
	f := slices.IndexFunc(families, func(f *family.Family) bool { return f.Name == name })
	m := slices.IndexFunc(mutations, func(m *fault.Mutation) bool { return m.Name == mutation })
	switch {
	case f < 0 || (m < 0 && mutation != ""):
		return nil, nil, fmt.Errorf("no pair is called %s, %s", name, mutation)
	case m < 0:
		return families[f], nil, nil
	}
	return families[f], mutations[m], nil
}

// RunPairs runs pairs, so many at once, and gives what became of them in their
// order.
func RunPairs(ctx context.Context, pairs [][2]string, s Settings, atOnce int, done func(sum.Real)) ([]sum.Real, error) {
	out := make([]sum.Real, len(pairs))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i, pair := range pairs {
		g.Go(func() error {
			f, m, err := Find(pair[0], pair[1])
			if err == nil {
				out[i], err = Run(ctx, f, m, uint64(i+1), s)
			}
			if err == nil {
				done(out[i])
			}
			return err
		})
	}
	return out, g.Wait()
}
