package fleet

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"whittle"
	"whittle/carve/rollout"
	"whittle/internal/needs"
)

// disk is a folder with a file system of its own, which can be full.
type disk struct {
	t   *testing.T
	dir string
}

// newDisk mounts so many bytes.
func newDisk(t *testing.T, size string) *disk {
	t.Helper()
	d := &disk{t: t, dir: t.TempDir()}
	err := syscall.Mount("whittle", d.dir, "tmpfs", 0, "size="+size)
	if errors.Is(err, syscall.EPERM) {
		needs.Missing(t, "disks that are full", "run the tests as root, who may mount a tmpfs")
	}
	if err != nil {
		t.Fatal("mount: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(d.dir, syscall.MNT_DETACH); err != nil {
			t.Error("unmount: ", err)
		}
	})
	return d
}

// fill leaves no byte of it.
func (d *disk) fill() {
	d.t.Helper()
	f, err := os.Create(filepath.Join(d.dir, "filler"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for chunk := make([]byte, 1<<20); len(chunk) > 0; {
		if _, err := f.Write(chunk); errors.Is(err, syscall.ENOSPC) {
			chunk = chunk[:len(chunk)/2]
		} else if err != nil {
			d.t.Fatal(err)
		}
	}
}

// free takes away what fill has written.
func (d *disk) free() {
	d.t.Helper()
	if err := os.Remove(filepath.Join(d.dir, "filler")); err != nil {
		d.t.Fatal(err)
	}
}

// TestFullDisks: the disks of NATS servers and of gateways are full in the middle of a
// shift. While a majority of the servers keeps what is written, the fleet goes on; with
// none left nobody is on the candidate; a gateway that cannot save its state goes on, and
// says so, and comes back after a kill. No user sees an error, and the ledger is whole.
func TestFullDisks(t *testing.T) {
	t.Parallel()
	servers := &cluster{t: t}
	var stores []*disk
	for range 3 {
		stores = append(stores, newDisk(t, "256m"))
		servers.dirs = append(servers.dirs, filepath.Join(stores[len(stores)-1].dir, "store"))
	}
	servers.begin()
	w := &walk{t: t, lease: lease}
	for _, c := range servers.clients {
		w.nats = append(w.nats, "nats://"+c)
	}
	var states []*disk
	w.dirs = func() string {
		states = append(states, newDisk(t, "16m"))
		return states[len(states)-1].dir
	}
	end := w.halfway(3)

	// The disk of the server that leads the log.
	at := servers.leading(t)
	stores[at].fill()
	until(t, "another server leads the log", func() bool { return servers.leading(t) != at })
	w.connected()
	w.everywhere(5000)
	w.promote(whittle.All)
	w.everywhere(whittle.All)
	stores[at].free()
	servers.lose(at)()

	// The disks of all.
	for _, d := range stores {
		d.fill()
	}
	w.everywhere(0)
	for i, d := range stores {
		d.free()
		servers.lose(i)()
	}
	w.everywhere(whittle.All)

	// The disk of a gateway's state: it knows of a rollback by the others, though it cannot
	// save it.
	states[0].fill()
	after, err := w.order(w.all[0], rollout.Order{Kind: rollout.Rollback})
	if err != nil || after.Share != 0 {
		t.Fatalf("%v %v", after.Share, err)
	}
	w.everywhere(0)
	w.all[0].leave(syscall.SIGKILL)
	w.all[0].start()
	w.connected()
	w.none("after a rollback that a gateway could not save")
	states[0].free()
	w.reset(func() *whole { return w.all[0] })
	w.promote(5000)
	w.together(5000, 100, false)
	w.breaks()
	end()
	w.adds()
	w.faultless()
	w.judged()
}

// slow has every sync of servers take so much longer, until mend is called.
func (c *cluster) slow(by time.Duration, all ...int) (mend func()) {
	c.t.Helper()
	var tracers []func()
	for _, i := range all {
		tracers = append(tracers, delaySyncs(c.t, c.servers[i].Pid(), by))
	}
	mend = sync.OnceFunc(func() {
		for _, end := range tracers {
			end()
		}
	})
	c.t.Cleanup(mend)
	return mend
}

// delaySyncs has every sync of a process take so much longer, until end is called.
func delaySyncs(t testing.TB, pid int, by time.Duration) (end func()) {
	t.Helper()
	strace := needs.Tool(t, "disks that are slow", "apt-get install strace", "strace")
	cmd := exec.Command(strace, "-f", "-q", "-o", filepath.Join(t.TempDir(), "calls"), "-e", "trace=fsync,fdatasync",
		"-e", fmt.Sprintf("inject=fsync,fdatasync:delay_exit=%d", by.Microseconds()), "-p", strconv.Itoa(pid))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	until(t, "strace has the process", func() bool {
		select {
		case <-ended:
			needs.Missing(t, "disks that are slow", "run the tests as a user who may trace processes")
		default:
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		return err == nil && !strings.Contains(string(status), "TracerPid:\t0\n")
	})
	return func() {
		_ = cmd.Process.Signal(os.Interrupt) // it lets go of the process
		<-ended
	}
}

// TestSlowDisks: syncs of NATS servers take half as long as a lease, and longer than one.
// Nobody is on the candidate then, each gateway says why, no user sees an error, and the
// shift goes on when the disks are well again. A candidate that breaks while they are a
// little slow meets no more users than it may, and all that was sent is judged.
func TestSlowDisks(t *testing.T) {
	t.Parallel()
	servers := startCluster(t, 3)
	w := &walk{t: t, lease: lease}
	for _, c := range servers.clients {
		w.nats = append(w.nats, "nats://"+c)
	}
	end := w.halfway(3)

	// One that leads the log.
	mend := servers.slow(lease/2, servers.leading(t))
	for _, g := range w.all {
		until(t, g.name+" says why it does not hear of the fleet", func() bool {
			return slices.ContainsFunc(g.fleet().Wrong, func(s string) bool {
				return strings.HasPrefix(s, g.name+" is cut off since") && strings.Contains(s, "its disks are slow")
			})
		})
	}
	mend()
	w.together(5000, 100, false)

	// All, by more than a lease.
	mend = servers.slow(2*lease, 0, 1, 2)
	w.everywhere(0)
	mend()
	w.together(5000, 100, false)
	w.promote(whittle.All)

	// All, by so little that users stay on the candidate, which breaks.
	mend = servers.slow(lease/100, 0, 1, 2)
	w.everywhere(whittle.All)
	w.breaks()
	mend()
	end()
	w.adds()
	w.faultless()
	w.judged()
}
