package fleet

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"whittle"
	"whittle/internal/child"
)

var (
	listens  = regexp.MustCompile(`listening public=(\S+) admin=(\S+)`)
	tookOver = regexp.MustCompile(`msg="took over" pid=(\d+)`)
)

// startReplaceable starts the gateway with a log file, since a process that takes over has
// no pipe to the test.
func (g *whole) startReplaceable(program, file string) {
	g.w.t.Helper()
	out, err := os.Create(filepath.Join(g.dir, "log"))
	if err != nil {
		g.w.t.Fatal(err)
	}
	g.install(program)
	cmd := exec.Command(g.installed(), "run", "-c", file)
	cmd.Stdout, cmd.Stderr, cmd.Env = out, out, append(os.Environ(), "FLEET_SECRET=0123456789abcdef")
	if err := cmd.Start(); err != nil {
		g.w.t.Fatal(err)
	}
	_ = out.Close() // the process has it
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	g.first, g.ended = cmd.Process.Pid, ended
	g.w.t.Cleanup(func() {
		for _, pid := range g.pids() {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
		<-ended
		if said := g.said(); strings.Contains(said, "panic:") {
			g.w.t.Errorf("%s said\n%s", g.name, said)
		}
	})
	until(g.w.t, g.name+" listens", func() bool { return listens.MatchString(g.said()) })
	m := listens.FindStringSubmatch(g.said())
	g.mu.Lock()
	defer g.mu.Unlock()
	g.p, g.up, g.killed = &child.Process{Public: m[1], Admin: m[2]}, true, false
}

// installed is where the gateway's program is, and install has it be another one.
func (g *whole) installed() string { return filepath.Join(g.dir, "whittle") }

func (g *whole) install(program string) {
	g.w.t.Helper()
	if err := os.RemoveAll(g.installed()); err != nil {
		g.w.t.Fatal(err)
	}
	if err := os.Symlink(program, g.installed()); err != nil {
		g.w.t.Fatal(err)
	}
}

func (g *whole) said() string {
	b, err := os.ReadFile(filepath.Join(g.dir, "log"))
	if err != nil {
		g.w.t.Fatal(err)
	}
	return string(b)
}

// pids are those of all processes so far.
func (g *whole) pids() []int {
	all := []int{g.first}
	for _, m := range tookOver.FindAllStringSubmatch(g.said(), -1) {
		pid, _ := strconv.Atoi(m[1]) // digits
		all = append(all, pid)
	}
	return all
}

// replace has the gateway's process replaced by another, which has its share at once.
func (g *whole) replace(share whittle.Share) {
	g.w.t.Helper()
	g.succeed()
	var got float64
	until(g.w.t, g.name+" says what users have", func() bool { got = g.inForce(); return got <= 1 })
	if got != float64(share)/float64(whittle.All) {
		g.w.t.Errorf("%s has a share of %v when it has taken over, not %v\n%s", g.name, got, share, g.said())
	}
}

// fails has a process replaced whose config says other in the place of old, which must not
// come about.
func (g *whole) fails(old, other string) {
	g.w.t.Helper()
	file := filepath.Join(g.dir, "whittle.yaml")
	good, err := os.ReadFile(file)
	if err != nil {
		g.w.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(good), old, other, 1)), 0o600); err != nil {
		g.w.t.Fatal(err)
	}
	all := g.pids()
	if err := syscall.Kill(all[len(all)-1], syscall.SIGUSR2); err != nil {
		g.w.t.Fatal(err)
	}
	until(g.w.t, "the attempt to fail", func() bool { return strings.Contains(g.said(), "not replaced: this process goes on serving") })
}

// succeed has another process serve in the place of the gateway's.
func (g *whole) succeed() {
	g.w.t.Helper()
	all := g.pids()
	if err := syscall.Kill(all[len(all)-1], syscall.SIGUSR2); err != nil {
		g.w.t.Fatal(err)
	}
	until(g.w.t, "another process of "+g.name+" serves", func() bool {
		said := g.said()
		if strings.Contains(said, "not replaced") {
			g.w.t.Fatal(said)
		}
		return len(listens.FindAllString(said, -1)) > len(all)
	})
}

// TestReplaced: each gateway's process is replaced under load, that of the leader too, twice
// and by one that fails as well: no user sees an error or another side, the share is in force at
// once, the ledger has each request once, and a candidate that breaks then meets no more
// users than before.
func TestReplaced(t *testing.T) {
	servers := startCluster(t, 1)
	w := &walk{t: t, nats: []string{"nats://" + servers.clients[0]}, lease: lease, replaceable: true, exposure: walkExposure}
	end := w.halfway(3)
	for _, g := range w.all {
		g.replace(5000)
	}
	for _, g := range w.all {
		<-g.ended // it has given its permits back
		g.replace(5000)
	}
	if both := w.sides.onBoth(); len(both) > 0 {
		t.Errorf("%d users were on both sides: %s", len(both), both)
	}
	for _, g := range w.all {
		until(t, g.name+" is connected", func() bool { return g.fleet().Connected })
	}
	w.promote(whittle.All)
	w.everywhere(whittle.All)

	g := w.all[0]
	g.fails("member: g0", "member: other") // only once the old process has left its place
	until(t, "it to take part again", func() bool { return g.fleet().Connected && g.inForce() == 1 })

	w.breaks()
	end()
	w.adds()
	until(t, "nothing is under way", func() bool { return w.latest().Ledger.Pending == 0 })
	if l := w.latest().Ledger; l.Skipped[whittle.SkipInterrupted] > 0 {
		t.Errorf("the ledger has %s", l.Account())
	}
	w.faultless()
}
