package walk

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"whittle"
	"whittle/carve/admin"
	"whittle/e2e/process"
	"whittle/internal/child"
	"whittle/internal/fatal"
)

// replaceable is a whittle whose processes follow each other.
type replaceable struct {
	gate
	*process.Replaceable
}

func openReplaceable(t *testing.T, s setting) *replaceable {
	t.Helper()
	s.Work = t.TempDir()
	r := &replaceable{gate: gate{setting: s, name: countRoute}}
	r.write(t, s)
	r.Replaceable = process.StartReplaceable(t, s.Work, nil, gateway, "run", "-c", r.path())
	r.Process = &process.Process{Process: &child.Process{Public: r.Public, Admin: r.Admin}}
	client, err := admin.Dial(r.Admin, "")
	fatal.If(t, err)
	t.Cleanup(client.Close)
	r.client = client
	return r
}

// TestReplace replaces the process again and again under load, over kept and fresh
// connections: nobody sees an error, no user changes sides, and the ledger has each
// request once, those that were under way as interrupted. So has the access log, each line
// whole, and whoever has taken over goes on with the recorded log.
func TestReplace(t *testing.T) {
	const users = 12
	rounds := 5
	if testing.Short() {
		rounds = 2
	}
	m := process.Monolith(t)
	candidate := newFake(t)
	r := openReplaceable(t, setting{Monolith: m.Public, Candidate: candidate.address(), Plain: true, Top: `limits: {grace: 60s}
access: {file: access.log, fields: [request_id, status, side, "header:X-User"]}
record: {dir: recorded, sample: 100%}
`})
	c := gather(r.Public, users, func(u *user, i int) error {
		if i%3 == 2 && u.name != "user-0" {
			u.close()
		}
		return u.count(1000 + 1000*(i%3))
	})
	c.more(t, users)
	r.climb(t, 1, 10)
	c.more(t, 4*users)
	before, from := r.route(t), time.Now()
	for range rounds {
		c.more(t, 4*users)
		r.Replace()
		after := r.await(t, "the status of the other process", func(s *whittle.RouteStatus) bool { return s.Ledger.Total > before.Ledger.Total })
		if after.Share != before.Share || after.Phase != before.Phase || after.Verdict.Compared < before.Verdict.Compared || len(after.Timeline) < len(before.Timeline) {
			t.Errorf("%s at %d with %d compared became %s at %d with %d", before.Phase, before.Share, before.Verdict.Compared, after.Phase, after.Share, after.Verdict.Compared)
		}
		before = after
	}
	recorded, _ := r.recorded(t)
	c.more(t, 4*users)
	c.home()
	c.content(t)
	r.holdsEach(t, c.served.Load())
	r.logsEach(t, c.served.Load(), from)
	process.Await(t, "the last process to record", func() (bool, string) {
		n, say := r.recorded(t)
		return recorded > 0 && n > recorded && n <= c.served.Load(), fmt.Sprint(n, " of ", recorded, say)
	})
}

// recorded is how many exchanges of the one route are in the recorded log.
func (r *replaceable) recorded(t *testing.T) (n int64, say string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), gateway, "record", "ls", filepath.Join(r.setting.Work, "recorded"), "--json=-").Output()
	var ls struct{ Routes []struct{ Count int64 } }
	if err = errors.Join(err, json.Unmarshal(out, &ls)); err != nil || len(ls.Routes) != 1 {
		return 0, fmt.Sprintf("%v %s", err, out)
	}
	return ls.Routes[0].Count, ""
}

// logsEach waits until each request has its line in the access log, and holds that none has
// two, that since a time each side served somebody, and that no user was served by both.
func (r *replaceable) logsEach(t *testing.T, served int64, from time.Time) {
	t.Helper()
	var text string
	process.Await(t, "each request to have its line", func() (bool, string) {
		text = fatal.Read(t, filepath.Join(r.setting.Work, "access.log"))
		n := int64(strings.Count(text, "\n"))
		return n >= served, fmt.Sprint(n)
	})
	ids, sides, seen := map[string]bool{}, map[string]string{}, map[string]int{}
	for line := range strings.Lines(text) {
		var e struct {
			Time   time.Time
			ID     string `json:"request_id"`
			Status int
			Side   string
			User   string `json:"header:X-User"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Status != http.StatusOK || ids[e.ID] {
			t.Fatalf("%q: %v", line, err)
		}
		ids[e.ID] = true
		if e.Time.Before(from) {
			continue
		}
		seen[e.Side]++
		if was := sides[e.User]; was != "" && was != e.Side {
			t.Errorf("%s was served by both sides", e.User)
		}
		sides[e.User] = e.Side
	}
	if seen["monolith"] == 0 || seen["candidate"] == 0 || len(seen) != 2 || int64(len(ids)) != served {
		t.Errorf("%d requests, %d lines, served by %v", served, len(ids), seen)
	}
}

// holdsEach waits until every replaced process has ended, whose last word is part of the
// ledger, and holds that the ledger has each request once.
func (r *replaceable) holdsEach(t *testing.T, served int64) {
	t.Helper()
	process.Await(t, "the processes that were replaced to end", func() (bool, string) {
		all := r.Pids()
		for _, pid := range all[:len(all)-1] {
			if !gone(pid) {
				return false, fmt.Sprint(pid)
			}
		}
		return true, ""
	})
	l := r.await(t, "the ledger to have all requests", func(s *whittle.RouteStatus) bool {
		return s.Ledger.Pending == 0 && s.Ledger.Total >= served
	}).Ledger
	if l.Total != served || l.Gap != nil {
		t.Errorf("%d were served, and the ledger has %s\n%s", served, l.Account(), r.Said())
	}
}

// TestReplaceFails: a process that cannot take over leaves everything as it was.
func TestReplaceFails(t *testing.T) {
	m := process.Monolith(t)
	r := openReplaceable(t, setting{Monolith: m.Public, Candidate: newFake(t).address(), Plain: true})
	c := gather(r.Public, 4, small)
	c.more(t, 20)
	good := r.setting
	bad := good
	bad.Mirror = "{shed_abve: off}"
	// A state file that cannot be opened fails only once the old process has let go of its own.
	late := good
	late.Work = filepath.Join(good.Work, "whittle.db")
	for _, s := range []setting{bad, late} {
		r.write(t, s)
		r.FailToReplace()
		c.more(t, 20)
	}
	r.write(t, good)
	r.order(t, "promote")
	c.more(t, 20)
	r.Replace()
	c.more(t, 20)
	c.home()
	c.content(t)
	r.holdsEach(t, c.served.Load())
}

// echoUpstream responds with a name, and echoes what comes after an upgrade.
func echoUpstream(t *testing.T) (address string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			_, _ = io.WriteString(w, "plain")
			return
		}
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = rw.Flush()
		_, _ = io.Copy(c, rw)
		_ = c.Close()
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// echo says something over an upgraded connection and gives what comes back.
func echo(c net.Conn, what string) (string, error) {
	if err := c.SetDeadline(time.Now().Add(process.Patience)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(c, what); err != nil {
		return "", err
	}
	b := make([]byte, len(what))
	_, err := io.ReadFull(c, b)
	return string(b), err
}

func upgraded(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	fatal.If(t, err)
	t.Cleanup(func() { _ = c.Close() })
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(resp, err)
	}
	return c
}

// TestReplaceUpgraded: an upgraded connection goes on in the process that was replaced,
// for its own grace; others come about in the new one. Two replacements follow each other
// while it is open. When the last process is asked to end, so is the first.
func TestReplaceUpgraded(t *testing.T) {
	r := openReplaceable(t, setting{Monolith: echoUpstream(t), Top: "limits: {grace: 100ms}\ndrain: {upgraded: 1h}\n"})
	var open []net.Conn
	for range 3 {
		open = append(open, upgraded(t, r.Public))
		for i, c := range open {
			if got, err := echo(c, "hello"); got != "hello" {
				t.Fatalf("connection %d: %q, %v\n%s", i, got, err, r.Said())
			}
		}
		if len(open) < 3 {
			r.Replace()
		}
	}
	all := r.Pids()
	for _, pid := range all {
		if err := syscall.Kill(pid, 0); err != nil {
			t.Errorf("process %d has ended with a connection open: %v", pid, err)
		}
	}
	for _, c := range open {
		_ = c.Close()
	}
	process.Await(t, "the processes that were replaced to end", func() (bool, string) {
		return syscall.Kill(all[0], 0) != nil && syscall.Kill(all[1], 0) != nil, r.Said()
	})
	fatal.If(t, syscall.Kill(all[2], syscall.SIGTERM))
	process.Await(t, "the last process to end", func() (bool, string) { return gone(all[2]), r.Said() })
}

// gone reports whether a process that is no child of the test's has ended: it may wait
// as a zombie for whoever adopted it.
func gone(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(b), ") Z ")
}

// TestReplaceChangesListeners has another config take effect: a listener that stays is
// never closed, one that is new is bound, and one that is not in it any more is closed.
func TestReplaceChangesListeners(t *testing.T) {
	r := openReplaceable(t, setting{Monolith: echoUpstream(t), Listen: "[\"127.0.0.1:0\", \"unix:a\", {address: \"unix:kept\", mode: \"0666\"}]", Top: "limits: {grace: 100ms}\n"})
	path := func(name string) string { return filepath.Join(r.setting.Work, name) }
	r.Public, _, _ = strings.Cut(r.Public, ",")
	ask := func(network, address string) string {
		c, err := net.Dial(network, address)
		if err != nil {
			return err.Error()
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(process.Patience))
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
		b, err := io.ReadAll(c)
		return fmt.Sprint(string(b), err)
	}
	served := func(said string) bool { return strings.HasSuffix(said, "plain<nil>") }
	if got := ask("unix", path("a")); !served(got) {
		t.Fatal(got)
	}
	s := r.setting
	s.Listen = "[\"127.0.0.1:0\", {address: \"unix:b\", mode: \"0600\"}, {address: \"unix:kept\", mode: \"0600\"}]"
	r.write(t, s)
	r.Replace()
	process.Await(t, "the old socket to be closed", func() (bool, string) {
		got := ask("unix", path("a"))
		return strings.Contains(got, "refused"), got
	})
	if info, err := os.Stat(path("kept")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of the socket that was taken over: %v, %v", info, err)
	}
	for network, address := range map[string]string{"tcp": r.Public, "unix": path("b")} {
		if got := ask(network, address); !served(got) {
			t.Errorf("%s: %s", address, got)
		}
	}
}

// TestLameDuck: asked to end, whittle says that it is not ready, and goes on serving whoever
// comes.
func TestLameDuck(t *testing.T) {
	r := openReplaceable(t, setting{Monolith: echoUpstream(t), Top: "drain: {lame_duck: 1h}\n"})
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: process.Patience}
	status := func(url string) int {
		resp, err := client.Get(url)
		if err != nil {
			return 0
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	if got := status("http://" + r.Admin + "/readyz"); got != http.StatusOK {
		t.Fatalf("ready: %d", got)
	}
	fatal.If(t, syscall.Kill(r.Pids()[0], syscall.SIGTERM))
	process.Await(t, "it to be no longer ready", func() (bool, string) {
		return status("http://"+r.Admin+"/readyz") == http.StatusServiceUnavailable, r.Said()
	})
	for range 20 {
		if got := status("http://" + r.Public + "/"); got != http.StatusOK {
			t.Fatalf("a fresh connection got %d", got)
		}
	}
	fatal.If(t, syscall.Kill(r.Pids()[0], syscall.SIGTERM)) // a second one ends it at once
	process.Await(t, "it to end", func() (bool, string) { return gone(r.Pids()[0]), r.Said() })
}

// TestSystemd: the service manager is told when whittle is ready, which process is the main one
// after a replacement, and when it ends.
func TestSystemd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	fatal.If(t, err)
	defer l.Close()
	next := func() string {
		b := make([]byte, 1000)
		_ = l.SetReadDeadline(time.Now().Add(process.Patience))
		n, err := l.Read(b)
		fatal.If(t, err)
		return string(b[:n])
	}
	t.Setenv("NOTIFY_SOCKET", path)
	r := openReplaceable(t, setting{Monolith: echoUpstream(t), Top: "limits: {grace: 100ms}\n"})
	fatal.Same(t, next(), "READY=1", "at the start")
	r.Replace()
	all := r.Pids()
	for _, want := range []string{fmt.Sprintf("MAINPID=%d", all[1]), "READY=1"} {
		if got := next(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	process.Await(t, "the first process to end", func() (bool, string) { return gone(all[0]), r.Said() })
	_ = l.SetReadDeadline(time.Now())
	if n, err := l.Read(make([]byte, 1)); err == nil {
		t.Errorf("the process that was replaced said %d bytes when it ended", n)
	}
	fatal.If(t, syscall.Kill(all[1], syscall.SIGTERM))
	fatal.Same(t, next(), "STOPPING=1", "at the end")
	process.Await(t, "the last process to end", func() (bool, string) { return gone(all[1]), r.Said() })
}
