//go:build linux

package profile

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"whittle/e2e/process"
	"whittle/internal/fatal"
)

// profiled says whether V8's profiler runs in a process: it has a thread then.
func profiled(t *testing.T, pid int) bool {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", pid))
	if err != nil || len(threads) == 0 {
		t.Fatalf("the threads of process %d: %v", pid, err)
	}
	for _, path := range threads {
		if name, err := os.ReadFile(path); err == nil && strings.HasPrefix(string(name), "v8:Prof") { // one that ended is gone
			return true
		}
	}
	return false
}

// TestNothingIsLeftOnByAKilledWhittle kills whittle in the middle of a profile,
// which gives it no time to turn off what it turned on.
func TestNothingIsLeftOnByAKilledWhittle(t *testing.T) {
	for _, way := range []struct {
		name, flag string
		open       bool // the inspector, before whittle came
	}{
		{"an inspector that whittle opened", "--inspect-port=127.0.0.1:0", false},
		{"one that was open", "--inspect=127.0.0.1:0", true},
	} {
		t.Run(way.name, func(t *testing.T) {
			node := process.Monolith(t, way.flag)
			id := node.Pid()
			before := fmt.Sprint(listeningOn(t, id))
			cmd := exec.Command(filepath.Join(built, "whittle"), "profile", pid(node), "--duration", "1h")
			fatal.If(t, cmd.Start())
			killed := false
			kill := func() {
				if !killed {
					killed = true
					_ = cmd.Process.Kill()
					_ = cmd.Wait() // it was killed, which is an error
				}
			}
			t.Cleanup(kill)
			process.Until(t, "the profiler runs", func() bool { return profiled(t, id) })
			if during := fmt.Sprint(listeningOn(t, id)); (during == before) != way.open {
				t.Fatalf("it listened on %s before, on %s now", before, during)
			}
			// Whittle at rest keeps nobody waiting, and closes nothing.
			fatal.If(t, cmd.Process.Signal(syscall.SIGSTOP))
			count(t, node)
			if !profiled(t, id) {
				t.Error("the profile ended with a whittle that was only stopped")
			}
			kill()
			process.Until(t, "the profiler is off and the inspector as it was", func() bool {
				return !profiled(t, id) && fmt.Sprint(listeningOn(t, id)) == before
			})
			count(t, node)
		})
	}
}

// count has the monolith serve a request.
func count(t *testing.T, p *process.Process) {
	t.Helper()
	client := &http.Client{Timeout: process.Patience, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Post("http://"+p.Public+"/Count", "application/json", strings.NewReader(`{"times": 1000}`))
	fatal.If(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("status %s", resp.Status)
	}
}

// listeningOn gives the addresses that a process listens on, as the kernel
// writes them: what is left on would be among them.
func listeningOn(t *testing.T, pid int) (out []string) {
	t.Helper()
	folder := fmt.Sprintf("/proc/%d", pid)
	fds, err := os.ReadDir(filepath.Join(folder, "fd"))
	fatal.If(t, err)
	var sockets []string
	for _, fd := range fds {
		if to, err := os.Readlink(filepath.Join(folder, "fd", fd.Name())); err == nil && strings.HasPrefix(to, "socket:[") {
			sockets = append(sockets, strings.Trim(strings.TrimPrefix(to, "socket:"), "[]"))
		}
	}
	for _, table := range []string{"tcp", "tcp6"} {
		b, err := os.ReadFile(filepath.Join(folder, "net", table))
		fatal.If(t, err)
		for row := range strings.Lines(string(b)) {
			if f := strings.Fields(row); len(f) > 9 && f[3] == "0A" && slices.Contains(sockets, f[9]) {
				out = append(out, f[1])
			}
		}
	}
	slices.Sort(out)
	return out
}
