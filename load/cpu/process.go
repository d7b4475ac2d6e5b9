// Package cpu measures CPU time: of this process, of other processes, of the
// machine's cores, and of servers that report theirs on a metrics page.
package cpu

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"whittle"
	"whittle/internal/cputime"
)

// Process is a process whose CPU time is measured.
type Process struct {
	Name string
	PID  int
}

// Own returns the CPU time (user and system, all threads) that this process
// has used, to the microsecond.
func Own() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Watch measures the CPU time of a process, or of a server that has it on a metrics page.
type Watch struct {
	// Process is what the report calls it: of a page its URL without what is secret, and no
	// PID.
	Process
	read func(context.Context) (time.Duration, error)
	page bool
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu sync.Mutex
	// The following is guarded by mu.
	first, last time.Duration
	gone        bool // the last reading failed
	ended       bool // the process has; another may have its number, or its page, later
}

// Open takes the first reading of each process and of each page, or returns why there is
// none.
func Open(ctx context.Context, processes []Process, pages []string) ([]*Watch, error) {
	var out []*Watch
	for _, p := range processes {
		out = append(out, &Watch{Process: p, read: func(context.Context) (time.Duration, error) {
			d, err := cputime.Of(p.PID)
			if err != nil {
				return 0, whittle.Errorf(whittle.NotFound, "watch %s: %w", p.Name, err)
			}
			return d, nil
		}})
	}
	if len(pages) > maxPages {
		return nil, whittle.Errorf(whittle.Invalid, "watch %d URLs: %d at most", len(pages), maxPages)
	}
	for _, url := range pages {
		w, err := newPage(url)
		if err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	for _, w := range out {
		if err := w.Begin(ctx); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Begin takes the first reading; again, where time has passed before Start.
func (w *Watch) Begin(ctx context.Context) (err error) {
	w.first, err = w.read(ctx)
	w.last = w.first
	return err
}

// Start reads a page once a second until Finish. A server that hangs delays only this
// goroutine.
func (w *Watch) Start(ctx context.Context) {
	if !w.page {
		return
	}
	ctx, w.stop = context.WithCancel(context.WithoutCancel(ctx))
	w.wg.Go(func() {
		t := time.NewTicker(sampleEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				w.sample(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
}

// Finish takes the last reading of a page.
func (w *Watch) Finish() {
	if w.page {
		w.stop()
		w.wg.Wait()
		w.sample(context.Background())
	}
}

// Sample takes a reading of a process.
func (w *Watch) Sample() {
	if !w.page {
		w.sample(context.Background())
	}
}

func (w *Watch) sample(ctx context.Context) {
	d, err := w.read(ctx)
	if errors.Is(err, context.Canceled) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = w.ended || err == nil && d < w.last || err != nil && !w.page
	if w.gone = err != nil || w.ended; !w.gone {
		w.last = d
	}
}

// Used is the CPU time since the first reading; gone: the last one failed, or the process
// has ended.
func (w *Watch) Used() (d time.Duration, gone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last - w.first, w.gone
}
