package cpu

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// maxCores bounds the cores in a report; further cores are left out.
const maxCores = 64

// Core is what a core has done since the machine started, in clock ticks.
type Core struct{ busy, total uint64 }

// Cores reads the CPU time of the machine's cores from /proc/stat; nil where
// there is none.
func Cores() []Core {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return nil
	}
	cs, err := parseCores(b)
	if err != nil {
		return nil
	}
	return cs
}

// parseCores reads the lines "cpuN user nice system idle iowait irq softirq
// steal …" of proc_stat(5). Waiting for a disk counts as idle; time stolen by the
// hypervisor counts as busy, because the machine could not use it. User time
// includes guest time.
func parseCores(b []byte) ([]Core, error) {
	var out []Core
	for line := range bytes.Lines(b) {
		f := bytes.Fields(line)
		if len(f) == 0 || len(f[0]) < 4 || !bytes.HasPrefix(f[0], []byte("cpu")) || len(out) == maxCores {
			continue
		}
		if len(f) < 5 {
			return nil, fmt.Errorf("core line %q is short", line)
		}
		var c Core
		for i, field := range f[1:min(len(f), 9)] {
			n, err := strconv.ParseUint(string(field), 10, 63)
			if err != nil {
				return nil, fmt.Errorf("core time %q is not a count", field)
			}
			c.total += n
			if i != 3 && i != 4 {
				c.busy += n
			}
		}
		out = append(out, c)
	}
	return out, nil
}

// Since is what each core did between two readings; nil where their number
// changed.
func Since(before, now []Core) []Core {
	if len(before) != len(now) {
		return nil
	}
	out := make([]Core, len(now))
	for i := range now {
		// Kernels let idle time run backwards by a tick now and then.
		if now[i].total > before[i].total && now[i].busy >= before[i].busy {
			out[i] = Core{now[i].busy - before[i].busy, now[i].total - before[i].total}
		}
	}
	return out
}

// Sum adds up the times of two spans.
func Sum(a, b []Core) []Core {
	if len(a) == 0 {
		return b
	}
	for i := range min(len(a), len(b)) {
		a[i].busy += b[i].busy
		a[i].total += b[i].total
	}
	return a
}

// Busy is the fraction of time, 0 to 1 in hundredths, that each core was busy.
func Busy(cs []Core) []float64 {
	if len(cs) == 0 {
		return nil
	}
	out := make([]float64, len(cs))
	for i, c := range cs {
		if c.total > 0 {
			out[i] = float64(min((c.busy*100+c.total/2)/c.total, 100)) / 100
		}
	}
	return out
}
