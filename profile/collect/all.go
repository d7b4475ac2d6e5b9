package collect

import (
	"bytes"
	"context"
	"strconv"
	"time"

	pprof "github.com/google/pprof/profile"
	"golang.org/x/sync/errgroup"

	"whittle"
	"whittle/profile"
)

// All takes profiles of several kinds over one time.
func All(ctx context.Context, s Source, kinds []profile.Kind, d time.Duration) ([]*Collected, error) {
	out := make([]*Collected, len(kinds))
	g, ctx := errgroup.WithContext(ctx)
	for i, kind := range kinds {
		g.Go(func() (err error) {
			out[i], err = s.Take(ctx, kind, d)
			return err
		})
	}
	return out, g.Wait()
}

// Join makes one profile, and one file, of a Go service's that were taken one
// after the other. There must be at least one.
func Join(parts []*Collected) (*Collected, error) {
	if len(parts) == 1 {
		return parts[0], nil
	}
	var files []*pprof.Profile
	for _, t := range parts {
		f, err := pprof.ParseData(t.Raw)
		if err != nil {
			return nil, whittle.Errorf(whittle.Invalid, "join profiles: %w", err)
		}
		files = append(files, f)
	}
	whole, err := pprof.Merge(files)
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "join profiles: %w", err)
	}
	var raw bytes.Buffer
	if err := whole.Write(&raw); err != nil {
		return nil, whittle.Errorf(whittle.Internal, "join profiles: %w", err)
	}
	first, last := parts[0], parts[len(parts)-1]
	p, err := profile.ReadPprof(raw.Bytes(), first.Kind)
	if err != nil {
		return nil, err
	}
	p.Began, p.Service = first.Began, first.Service
	p.Duration = last.Began.Add(last.Duration).Sub(first.Began)
	return &Collected{Profile: p, Raw: raw.Bytes(), Ext: first.Ext}, nil
}

// Defaults are the kinds that show most at the least cost: a Go service may show that of
// the CPU alone.
func Defaults(s Source) []profile.Kind {
	if g, ok := s.(*pprofSource); ok && g.all {
		return []profile.Kind{profile.CPU, profile.Allocations, profile.Mutex}
	}
	return []profile.Kind{profile.CPU}
}

// WorkersFirst puts the first process of a cluster behind the others: Node has it hand the
// signal that opens its inspector on to its workers, which opens theirs for nobody.
func WorkersFirst(targets []string) []string {
	var first, last []string
	for _, target := range targets {
		if pid, err := strconv.Atoi(target); err == nil && len(Workers(pid)) > 0 {
			last = append(last, target)
		} else {
			first = append(first, target)
		}
	}
	return append(first, last...)
}
