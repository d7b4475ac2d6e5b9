package fleet

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/fatal"
)

// TestEmbeddedIsRefused: what keeps a gateway's server from starting is an error of "run"
// and of nothing else, placed in the config.
func TestEmbeddedIsRefused(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	fatal.If(t, err)
	defer taken.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "whittle.yaml")
	config := func(store string) string {
		return fmt.Sprintf("listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nmonolith: http://127.0.0.1:1\n"+
			"fleet: {nats: embedded, name: x, member: a, secret_env: FLEET_SECRET, store: %q, peers: {a: %q, b: \"127.0.0.1:1\"}}\n", store, taken.Addr())
	}
	for _, c := range []struct{ program, store, says string }{
		{builtEmbedded, "store", ": fleet.peers: listen on " + taken.Addr().String()},
		{built, "store", "this binary has no NATS server in it"},
	} {
		fatal.If(t, os.WriteFile(file, []byte(config(c.store)), 0o600))
		cmd := exec.CommandContext(t.Context(), filepath.Join(c.program, "whittle"), "run", "-c", file)
		cmd.Env = append(os.Environ(), "FLEET_SECRET=0123456789abcdef")
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.says) || strings.Contains(string(out), "goroutine") {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// TestEmbeddedReplaced: processes that have the fleet's NATS servers in them are replaced, the
// leader's too, and one by a process that fails: no user sees an error, each comes back with
// its store, and the fleet goes on where it was.
func TestEmbeddedReplaced(t *testing.T) {
	w := &walk{t: t, nats: []string{"embedded"}, peers: addresses(t, 3), lease: 2 * lease, replaceable: true}
	end := w.halfway(3)
	settled := func() {
		t.Helper()
		for _, g := range w.all {
			process.Until(t, g.name+" hears of the fleet, and misses nobody", func() bool { f := g.fleet(); return f.Connected && len(f.Wrong) == 0 })
		}
		w.everywhere(5000)
	}
	for _, g := range w.all {
		settled()
		began := time.Now()
		g.processes.Replace()
		t.Logf("%s is replaced after %v", g.name, time.Since(began).Round(time.Millisecond))
	}
	settled()

	w.all[0].fails()
	settled()
	end()
	w.adds()
	w.faultless()
}

// TestEmbedded: three gateways with nothing else installed are a fleet. It begins when the
// third is there, and users are served before; the gateway that leads is killed with users
// on the candidate, is missed by nobody, and comes back with its own store; then each ends
// by a signal and is started again. No user sees an error.
func TestEmbedded(t *testing.T) {
	w := &walk{t: t, nats: []string{"embedded"}, peers: addresses(t, 3), lease: 2 * lease}
	end := w.serve(2)
	process.Until(t, "users are served, and the operator reads who is missing", func() bool {
		return w.requests.Load() > 20 && strings.Contains(strings.Join(w.all[0].fleet().Wrong, " "), "see no g2")
	})
	fatal.Same(t, w.all[0].inForce(), 0, "users on the candidate before there is a fleet")
	w.add("g2")
	w.promote(5000)
	w.everywhere(5000)
	w.oneSide()

	old := w.leader()
	began := time.Now()
	old.leave(syscall.SIGKILL)
	w.promote(whittle.All)
	w.everywhere(whittle.All)
	t.Logf("the next step, after the leader and its server were killed, was taken after %v", time.Since(began).Round(time.Millisecond))
	old.start()
	process.Until(t, "it is back", func() bool { return old.fleet().Connected })
	w.everywhere(whittle.All)

	for _, g := range w.all {
		began := time.Now()
		g.leave(syscall.SIGTERM)
		ended := time.Since(began)
		g.start()
		process.Until(t, g.name+" is back", func() bool { return g.fleet().Connected })
		w.everywhere(whittle.All)
		t.Logf("%s ended after %v, and was back after %v more", g.name, ended.Round(time.Millisecond), (time.Since(began) - ended).Round(time.Millisecond))
	}

	w.sides.broken.Store(true)
	w.everywhere(0)
	end()
	w.adds()
	w.faultless()
	for _, g := range w.all {
		if entries, err := os.ReadDir(filepath.Join(g.dir, "whittle.db.nats")); err != nil || len(entries) < 2 {
			t.Errorf("%s has no store where its state is: %v %v", g.name, entries, err)
		}
	}
}
