package fleet

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/needs"
)

// older is a commit of before, whose gateways are in a fleet with those of this tree.
// FLEET_OLDER names another one.
const older = "d5313b9bdef2b1890b67b26b9d4dc0c00a5289f9"

var buildingOlder sync.Mutex

// buildOlder makes the program of an earlier commit, once.
func buildOlder(t *testing.T) (program string) {
	t.Helper()
	buildingOlder.Lock()
	defer buildingOlder.Unlock()
	commit := cmp.Or(os.Getenv("FLEET_OLDER"), older)
	git := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = process.Repository
		return cmd
	}
	if git("cat-file", "-e", commit+"^{commit}").Run() != nil {
		needs.Missing(t, "a fleet of two versions", "git fetch --unshallow, which brings "+commit)
	}
	dir, err := filepath.Abs(filepath.Join(process.Repository, ".cache/older", commit))
	if err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(dir, "bin", "whittle")
	if _, err := os.Stat(program); err == nil {
		return program
	}
	source := filepath.Join(dir, "source")
	if err := os.MkdirAll(source, 0o750); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(dir, "source.tar")
	run := func(cmd *exec.Cmd) {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
		}
	}
	defer os.RemoveAll(source)
	defer os.Remove(archive)
	run(git("archive", "-o", archive, commit))
	run(exec.CommandContext(t.Context(), "tar", "-xf", archive, "-C", source))
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w -X whittle/cmdline.version=v0.0.1", "-o", program, "./cmd/whittle")
	build.Dir = source
	run(build)
	return program
}

// TestTwoVersions: a fleet is updated from an earlier version under load, one gateway after
// the other, and goes back again, while the leader is of either version, and is killed. The
// share, the evidence and the ledger are kept, each user is on one side, and none sees an
// error.
func TestTwoVersions(t *testing.T) {
	t.Parallel()
	before, now := buildOlder(t), filepath.Join(built, "whittle")
	servers := startCluster(t, 1)
	w := &walk{t: t, nats: []string{"nats://" + servers.clients[0]}, lease: lease, program: before}
	end := w.halfway(3)
	for _, program := range []string{now, before} {
		compared := w.latest().Verdict.Compared
		for n, g := range w.all {
			g.program = program
			g.leave(syscall.SIGTERM)
			g.start()
			w.everywhere(5000)
			if n == 1 { // two of one version, and one of the other
				lead := w.leader()
				lead.leave(syscall.SIGKILL)
				w.leader()
				w.everywhere(5000)
				lead.start()
				w.together(5000, compared, true)
			}
		}
		w.together(5000, compared, false)
		t.Logf("%d compared, %d requests", w.latest().Verdict.Compared, w.requests.Load())
	}
	w.promote(whittle.All)
	w.everywhere(whittle.All)
	w.breaks()
	end()
	w.adds()
	w.faultless()
}

// TestReplacedByAnotherVersion: each gateway's process is replaced by one of a later version
// under load, and that by one of the earlier one.
func TestReplacedByAnotherVersion(t *testing.T) {
	t.Parallel()
	before, now := buildOlder(t), filepath.Join(built, "whittle")
	servers := startCluster(t, 1)
	w := &walk{t: t, nats: []string{"nats://" + servers.clients[0]}, lease: lease, replaceable: true, program: before}
	end := w.halfway(3)
	for round, program := range []string{now, before} {
		compared := w.latest().Verdict.Compared
		for n, g := range w.all {
			if round > 0 {
				<-g.ended // it has given its permits back
			}
			g.install(program)
			g.replace(5000)
			until(t, g.name+" is connected", func() bool { return g.fleet().Connected })
			if n == 1 { // two of one version, and one of the other
				w.together(5000, compared, true)
			}
		}
	}
	w.promote(whittle.All)
	w.everywhere(whittle.All)
	w.breaks()
	end()
	w.adds()
	w.faultless()
}

const mixed = "Gateways have different versions"

// together holds that the gateways have one share, the evidence that there was, and nothing
// to complain of but that they are of two versions.
func (w *walk) together(share whittle.Share, compared int, two bool) {
	w.t.Helper()
	w.connected()
	w.everywhere(share)
	w.oneSide()
	for _, g := range w.all {
		until(w.t, g.name+" shows the evidence", func() bool { return g.route().Verdict.Compared >= compared })
		until(w.t, g.name+" has only that to say of the fleet which is so", func() bool {
			wrong := slices.DeleteFunc(g.fleet().Wrong, func(s string) bool { return strings.Contains(s, "clock") })
			if two {
				return len(wrong) == 1 && strings.HasPrefix(wrong[0], mixed)
			}
			return len(wrong) == 0
		})
	}
}
