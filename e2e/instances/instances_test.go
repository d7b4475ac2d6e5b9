package instances

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"whittle/carve/gateway/resolve/dnstest"
	"whittle/e2e/process"
	"whittle/internal/fatal"
)

const (
	readers, writers = 6, 4
	// some responses show that there is load.
	some = 100
)

// TestInstancesKilledInTurn kills two instances in turn, as no instance should end,
// and starts them again, with the config read again in the middle. No user who reads
// sees an error. A write fails only if it was under way while an instance ended, whose
// sockets take in data until the system has closed them; none is done twice, and each that was answered was done.
func TestInstancesKilledInTurn(t *testing.T) {
	done := filepath.Join(t.TempDir(), "done")
	both := []*process.Process{start(t, "a", "127.0.0.1:0", done), start(t, "b", "127.0.0.1:0", done)}
	names := []string{"a", "b"}
	config := fmt.Sprintf("monolith:\n  url: [http://%s, http://%s]\n  eject: {consecutive: 3, time: 50ms}\n  health: {interval: 20ms, timeout: 10s, unhealthy: 1, healthy: 1}\n",
		both[0].Public, both[1].Public)
	g := run(t, config)
	l := begin("http://"+g.Public, readers, writers)
	more := func(name string) {
		t.Helper()
		want := l.count(name) + some
		process.Until(t, "requests at "+name, func() bool { return l.count(name) >= want })
	}
	const kills = 4
	var ends [kills]span // from the signal until its sockets were closed
	for i := range kills {
		at, other := i%2, (i+1)%2
		more(names[at])
		if i == kills/2 {
			g.write(t, config+"routes:\n  - {match: GET /other, timeout: 1s}\n")
			g.Signal(t, syscall.SIGHUP)
		}
		ends[i].from = time.Now()
		both[at].Kill()
		ends[i].to = time.Now()
		more(names[other])
		both[at] = start(t, names[at], both[at].Public, done)
	}
	more(names[0])
	more(names[1])
	l.end()
	for _, f := range l.faults {
		t.Error(f)
	}
	for id, at := range l.failed {
		if !slices.ContainsFunc(ends[:], at.overlaps) {
			t.Errorf("write %s failed, and was not under way while an instance ended", id)
		}
	}
	const class = `whittle_requests_total{class="5xx",route=""}`
	if got := process.Metrics(g.Admin)[class]; got != float64(len(l.failed)) {
		t.Errorf("%d writes failed, and the gateway counts %v", len(l.failed), got)
	}
	said, err := exec.CommandContext(t.Context(), gateway, "status", "--admin", "http://"+g.Admin).CombinedOutput()
	for i := range both {
		if err != nil || !strings.Contains(string(said), "  ready     "+both[i].Public) {
			t.Errorf("whittle status: %v\n%s", err, said)
		}
	}
	text, err := os.ReadFile(done)
	fatal.If(t, err)
	times := map[string]int{}
	for _, id := range strings.Fields(string(text)) {
		times[id]++
	}
	for id, n := range times {
		if n > 1 {
			t.Errorf("write %s was done %d times", id, n)
		}
		if _, failed := l.failed[id]; !l.written[id] && !failed {
			t.Errorf("write %s was done, and nobody was told", id)
		}
	}
	for id := range l.written {
		if times[id] == 0 {
			t.Errorf("write %s was answered and not done", id)
		}
	}
	t.Logf("%d requests, %d writes done, %d failed", l.n, len(l.written), len(l.failed))
}

// TestDNSMovesUnderLoad moves an upstream from one instance to the next by its
// name, with the config read again and DNS failing in between. Nobody sees an error,
// and an instance that is no longer in DNS gets no requests.
func TestDNSMovesUnderLoad(t *testing.T) {
	done := filepath.Join(t.TempDir(), "done")
	dns := dnstest.New(t)
	const name = "app.example"
	old := start(t, "0", "127.0.0.1:0", done)
	dns.Set(name, 0, "127.0.0.1")
	_, port, _ := strings.Cut(old.Public, ":")
	url := "http://" + name + ":" + port
	config := fmt.Sprintf("monolith: {url: %q, resolver: %q}\n", url, dns.Address)
	g := run(t, config)
	l := begin("http://"+g.Public, readers, writers)
	more := func(name string) {
		t.Helper()
		want := l.count(name) + some
		process.Until(t, "requests at "+name, func() bool { return l.count(name) >= want })
	}
	more("0")
	ready := func(n int) {
		t.Helper()
		line := fmt.Sprintf(`whittle_upstream_instances{state="ready",upstream=%q}`, url)
		process.Until(t, fmt.Sprintf("%d instances", n), func() bool { return process.Metrics(g.Admin)[line] == float64(n) })
	}
	for i := 1; i <= 2; i++ {
		next := fmt.Sprint(i)
		was, is := fmt.Sprintf("127.0.0.%d", i), fmt.Sprintf("127.0.0.%d", i+1)
		p := start(t, next, is+":"+port, done)
		dns.Set(name, 0, was, is)
		ready(2)
		more(next)
		dns.Set(name, 0, is)
		ready(1)
		// What was chosen before may still be under way: a round of all users ends it.
		want := l.count("") + 10*(readers+writers)
		process.Until(t, "all users have asked again", func() bool { return l.count("") >= want })
		before := l.count(fmt.Sprint(i - 1))
		more(next)
		if after := l.count(fmt.Sprint(i - 1)); after != before {
			t.Errorf("an instance that is not in DNS any more had %d requests", after-before)
		}
		old.Kill()
		if i == 1 {
			dns.Remove(name)
			g.write(t, strings.Replace(config, "resolver:", "timeout: 50s, resolver:", 1)) // an upstream that has found nothing yet
			g.Signal(t, syscall.SIGHUP)
			more(next)
		}
		old = p
	}
	l.end()
	for _, f := range l.faults {
		t.Error(f)
	}
	if len(l.failed) > 0 {
		t.Errorf("%d writes failed", len(l.failed))
	}
}
