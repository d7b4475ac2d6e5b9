//go:build linux

package collect

import (
	"os/exec"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whittle/internal/fatal"
	"whittle/internal/needs"
	"whittle/profile"
)

// Turns of 25 ms of CPU keep the event loop for no 50, also where the process shares its
// core with three others, and each turn takes four times as long.
func TestABusyNeighbourBlocksNoEventLoop(t *testing.T) {
	var allowed, core unix.CPUSet
	fatal.If(t, unix.SchedGetaffinity(0, &allowed))
	for n := 0; core.Count() == 0; n++ {
		if allowed.IsSet(n) {
			core.Set(n)
		}
	}
	pid := script(t, `setInterval(function turn() {
		const began = process.cpuUsage();
		let used;
		do { used = process.cpuUsage(began); } while (used.user + used.system < 25e3);
	}, 150); console.log()`)
	pids := []int{pid}
	for range 3 {
		neighbour := exec.CommandContext(t.Context(), needs.Node(t), "-e", "for (;;);")
		fatal.If(t, neighbour.Start())
		defer neighbour.Wait()
		defer neighbour.Process.Kill()
		pids = append(pids, neighbour.Process.Pid)
	}
	s, err := Open(t.Context(), strconv.Itoa(pid))
	fatal.If(t, err)
	defer s.Close(t.Context())
	for _, pid := range pids {
		fatal.If(t, unix.SchedSetaffinity(pid, &core))
	}
	long := 3 * time.Second
	if testing.Short() {
		long /= 2
	}
	p, err := s.Take(t.Context(), profile.CPU, long)
	fatal.If(t, err)
	if len(p.MainClock) == 0 {
		t.Fatal("the process's clock was not read")
	}
	for _, b := range p.Blocked() {
		if b.Sure {
			t.Errorf("named: %+v, in %s", b, p.Functions[b.Root].Name)
		}
	}
}

// Work in slices lets the event loop go between them, and blocks it not, however long all
// of it is.
func TestSlicesBlockNoEventLoop(t *testing.T) {
	pid := script(t, `(function slice() {
		const began = process.cpuUsage();
		let used;
		do { used = process.cpuUsage(began); } while (used.user + used.system < 5e3);
		setImmediate(slice);
	})(); console.log()`)
	s, err := Open(t.Context(), strconv.Itoa(pid))
	fatal.If(t, err)
	defer s.Close(t.Context())
	p, err := s.Take(t.Context(), profile.CPU, time.Second)
	fatal.If(t, err)
	if b := p.Blocked(); len(b) != 0 {
		t.Errorf("named: %+v, in %s", b, p.Functions[b[0].Root].Name)
	}
}
