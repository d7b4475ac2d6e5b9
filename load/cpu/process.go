// Package cpu measures CPU time: of this process, of other processes, of the
// machine's cores, and of servers that report theirs on a metrics page.
package cpu

import (
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

// Watch measures a watched process. Once the process has ended, the last reading
// stays.
type Watch struct {
	Process
	first, last time.Duration
	gone        bool
}

// WatchProcesses takes the first reading of each process.
func WatchProcesses(ps []Process) ([]*Watch, error) {
	out := make([]*Watch, len(ps))
	for i, p := range ps {
		d, err := cputime.Of(p.PID)
		if err != nil {
			return nil, whittle.Errorf(whittle.NotFound, "watch %s: %w", p.Name, err)
		}
		out[i] = &Watch{Process: p, first: d, last: d}
	}
	return out, nil
}

// Used returns the CPU time between the first reading and the last; gone: the process
// had ended by then.
func (w *Watch) Used() (d time.Duration, gone bool) { return w.last - w.first, w.gone }

// Sample takes a reading.
func (w *Watch) Sample() {
	d, err := cputime.Of(w.PID)
	if w.gone = w.gone || err != nil || d < w.last; !w.gone { // another process may have its number later
		w.last = d
	}
}
