// Package cpu measures CPU time: of this process, of other processes, of the
// machine's cores, and of servers that report theirs on a metrics page.
package cpu

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whittle"
)

// Process is a process whose CPU time is measured.
type Process struct {
	Name string
	PID  int
}

// clockTick is the unit of /proc's CPU times: USER_HZ, 100 on every Linux
// that Go runs on.
const clockTick = 10 * time.Millisecond

// OfProcess returns the CPU time (user and system, all threads) that a process
// has used since it started, in steps of 10 ms. With children, the time of its
// ended and waited-for children is added. Linux only: elsewhere, and for a
// process that has ended, the error's code is whittle.NotFound.
func OfProcess(pid int, children bool) (time.Duration, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, whittle.Errorf(whittle.NotFound, "read cpu time of process %d: %w", pid, err)
	}
	d, err := parseStat(b, children)
	if err != nil {
		return 0, whittle.Errorf(whittle.Internal, "read cpu time of process %d: %w", pid, err)
	}
	return d, nil
}

// parseStat reads utime, stime, cutime and cstime (fields 14 to 17 of
// proc_pid_stat(5)). The command's name is in parentheses and may hold spaces
// and parentheses itself, so fields count from the last one.
func parseStat(b []byte, children bool) (time.Duration, error) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return 0, fmt.Errorf("no command name in %q", b[:min(len(b), 64)])
	}
	fields := strings.Fields(string(b[i+1:]))
	const utime = 14 - 3 // field 3 is the first after the name
	last := utime + 2
	if children {
		last += 2
	}
	if len(fields) < last {
		return 0, fmt.Errorf("%d fields after the command name, %d expected", len(fields), last)
	}
	var ticks int64
	for _, f := range fields[utime:last] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil || n < 0 {
			return 0, fmt.Errorf("cpu time %q is not a count", f)
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
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
		d, err := OfProcess(p.PID, false)
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", p.Name, err)
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
	d, err := OfProcess(w.PID, false)
	if w.gone = w.gone || err != nil || d < w.last; !w.gone { // another process may have its number later
		w.last = d
	}
}
