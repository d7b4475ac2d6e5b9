package walk

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"whittle"
	"whittle/carve/admin"
	"whittle/e2e/process"
	"whittle/internal/child"
)

// replaceable is a whittle whose processes follow each other.
type replaceable struct {
	gate
	log string
	pid int
}

// openReplaceable starts whittle with a log file, since a process that takes over has
// no pipe to the test.
func openReplaceable(t *testing.T, s setting) *replaceable {
	t.Helper()
	s.Work = t.TempDir()
	r := &replaceable{gate: gate{setting: s, name: countRoute}, log: filepath.Join(s.Work, "log")}
	r.write(t, s)
	out, err := os.Create(r.log)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(gateway, "run", "-c", r.path())
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = out.Close() // the process has it
	r.pid = cmd.Process.Pid
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	t.Cleanup(func() {
		for _, pid := range r.pids(t) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
		<-ended
		if said := r.said(t); strings.Contains(said, "DATA RACE") || strings.Contains(said, "panic:") {
			t.Errorf("whittle said\n%s", said)
		}
	})
	until(t, "whittle to listen", func() (bool, string) {
		m := regexp.MustCompile(`listening public=(\S+) admin=(\S+)`).FindStringSubmatch(r.said(t))
		if m == nil {
			return false, r.said(t)
		}
		r.Process = &process.Process{Process: &child.Process{Public: m[1], Admin: m[2]}}
		return true, ""
	})
	if r.client, err = admin.Dial(r.Admin, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.client.Close() })
	return r
}

func (r *replaceable) said(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(r.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var tookOver = regexp.MustCompile(`msg="took over" pid=(\d+)`)

// pids are those of all processes so far.
func (r *replaceable) pids(t *testing.T) []int {
	t.Helper()
	all := []int{r.pid}
	for _, m := range tookOver.FindAllStringSubmatch(r.said(t), -1) {
		pid, _ := strconv.Atoi(m[1]) // digits
		all = append(all, pid)
	}
	return all
}

// replace has the present process replaced, and waits until another has taken over.
func (r *replaceable) replace(t *testing.T) {
	t.Helper()
	all := r.pids(t)
	if err := syscall.Kill(all[len(all)-1], syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	until(t, "another process to take over", func() (bool, string) { return len(r.pids(t)) > len(all), r.said(t) })
}

// TestReplace replaces the process five times under load, over kept and fresh
// connections: nobody sees an error, no user changes sides, and the ledger has each
// request once.
func TestReplace(t *testing.T) {
	const rounds, users = 5, 12
	m := process.Monolith(t)
	candidate := newFake(t)
	r := openReplaceable(t, setting{Monolith: m.Public, Candidate: candidate.address(), Plain: true, More: "limits: {grace: 2s}\n"})
	c := gather(r.Public, users, func(u *user, i int) error {
		if i%3 == 2 && u.name != "user-0" {
			u.close()
		}
		return u.count(1000 + 1000*(i%3))
	})
	c.more(t, users)
	r.climb(t, 1, 10)
	before := r.route(t)
	for range rounds {
		c.more(t, 4*users)
		r.replace(t)
		after := r.await(t, "the status of the other process", func(s *whittle.RouteStatus) bool { return s.Ledger.Total > before.Ledger.Total })
		if after.Share != before.Share || after.Phase != before.Phase || after.Verdict.Compared < before.Verdict.Compared || len(after.Timeline) < len(before.Timeline) {
			t.Errorf("%s at %d with %d compared became %s at %d with %d", before.Phase, before.Share, before.Verdict.Compared, after.Phase, after.Share, after.Verdict.Compared)
		}
		before = after
	}
	c.more(t, 4*users)
	c.home()
	c.content(t)
	until(t, "the processes that were replaced to end", func() (bool, string) {
		all := r.pids(t)
		for _, pid := range all[:len(all)-1] {
			if syscall.Kill(pid, 0) == nil {
				return false, fmt.Sprint(pid)
			}
		}
		return true, ""
	})
	l := r.atRestReplaced(t)
	if l.Total != c.served.Load() || l.Skipped[whittle.SkipInterrupted] != 0 {
		t.Errorf("%d were served, and the ledger has %s\n%s", c.served.Load(), l.Account(), r.said(t))
	}
}

// atRestReplaced waits until nothing is under way in any process.
func (r *replaceable) atRestReplaced(t *testing.T) whittle.Ledger {
	t.Helper()
	var last whittle.Ledger
	return r.await(t, "the ledger at rest", func(s *whittle.RouteStatus) bool {
		same := s.Ledger.Pending == 0 && s.Ledger.Total == last.Total
		last = s.Ledger
		return same
	}).Ledger
}

// TestReplaceFails: a process that cannot take over leaves everything as it was.
func TestReplaceFails(t *testing.T) {
	m := process.Monolith(t)
	r := openReplaceable(t, setting{Monolith: m.Public, Candidate: newFake(t).address(), Plain: true})
	c := gather(r.Public, 4, func(u *user, _ int) error { return u.count(1000) })
	c.more(t, 20)
	good := r.setting
	bad := good
	bad.Mirror = "{shed_abve: off}"
	// A state file that cannot be opened fails only once the old process has let go of its own.
	late := good
	late.Work = filepath.Join(good.Work, "whittle.db")
	for i, s := range []setting{bad, late} {
		r.write(t, s)
		if err := syscall.Kill(r.pid, syscall.SIGUSR2); err != nil {
			t.Fatal(err)
		}
		until(t, "the attempt to fail", func() (bool, string) {
			said := r.said(t)
			return strings.Count(said, "not replaced: this process goes on serving") > i, said
		})
		c.more(t, 20)
	}
	r.write(t, good)
	r.order(t, "promote")
	c.more(t, 20)
	r.replace(t)
	c.more(t, 20)
	c.home()
	c.content(t)
	if l := r.atRestReplaced(t); l.Total != c.served.Load() {
		t.Errorf("%d were served, and the ledger has %s", c.served.Load(), l.Account())
	}
}
