//go:build linux

package profile

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/carve/admin"
	"whittle/carve/rollout"
	"whittle/e2e/process"
)

const countPath = "/twirp/twirp.carved.Carved/Count"

// TestTheGatewayGuardsCPU puts two candidates before users that respond as their
// monolith does: of the two count services one draws everything twice. As a
// candidate it is rolled back for that and for nothing else; the other way round
// the candidate stays for as many readings as the dear one was given.
//
// Both gateways are before the same two processes: what a guard reads is a process's,
// whoever asks it, so one interval's work is evidence for both.
func TestTheGatewayGuardsCPU(t *testing.T) {
	once := counter(t, "count")
	t.Setenv(countsTwice, "1")
	twice := process.Start(t, os.Args[0], "-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0", "-env-file", "")
	cheap, dear := behind(t, twice, once), behind(t, once, twice)
	t.Run("a dear candidate", func(t *testing.T) {
		t.Parallel()
		holdGuard(t, dear, true)
	})
	t.Run("a cheap candidate", func(t *testing.T) {
		t.Parallel()
		holdGuard(t, cheap, false)
	})
}

// behind starts a gateway that has half of its users served by the candidate.
func behind(t *testing.T, monolith, candidate *process.Process) *admin.Client {
	t.Helper()
	client, gateway := guarded(t, monolith, candidate)
	sendUsers(t, gateway.Public)
	order := rollout.Order{Kind: rollout.Promote, By: "the test", Reason: "the test's word", Force: true}
	if _, err := client.Order(t.Context(), "POST "+countPath, order); err != nil {
		t.Fatal(err)
	}
	return client
}

func holdGuard(t *testing.T, client *admin.Client, dear bool) {
	t.Helper()
	r := awaitGuard(t, client)
	meter := cpuMeter(t, &r)
	last := r.Timeline[len(r.Timeline)-1]
	t.Logf("%s at %g %%: %s; %s", r.Phase, r.Percent, last.Reason, meter.Summary)
	switch {
	case r.Ledger.Compared == 0:
		t.Error("nothing was compared meanwhile")
	case dear && (r.Phase != whittle.PhaseRolledBack || r.Share != 0 || !meter.Breached):
		t.Errorf("%s, and the guard says %+v", r.Phase, meter)
	case dear && (!strings.Contains(last.Reason, "cpu") || !strings.Contains(last.Reason, "µs of CPU a request")):
		t.Errorf("it was rolled back for %q", last.Reason)
	case !dear && (r.Phase == whittle.PhaseRolledBack || r.Share == 0 || meter.Breached):
		t.Errorf("%s for %q, and the guard says %+v", r.Phase, last.Reason, meter)
	}
	if dearer := meter.Candidate > meter.Limit; dearer != dear {
		t.Errorf("CPU a request: candidate %v µs, limit %v µs", meter.Candidate, meter.Limit)
	}
}

// guarded starts whittle before two count services. No other guard than that of
// the CPU can speak: the comparison leaves the random sum out, and a candidate
// may be as slow as it is dear. How often it errs is simulated in carve/compare/guard;
// twice the CPU is seen in each interval, so few of them are asked for.
func guarded(t *testing.T, monolith, candidate *process.Process) (*admin.Client, *process.Process) {
	t.Helper()
	config := write(t, "whittle.yaml", fmt.Sprintf(`
listen: 127.0.0.1:0
admin: 127.0.0.1:0
state: %s
monolith: {url: "http://%s", metrics: "http://%s/metrics"}
routes:
  - match: POST %s
    candidate: {url: "http://%s", timeout: 1m, metrics: "http://%s/metrics"}
    safe: true
    compare: {kind: json, ignore: [$.Sum]}
    mirror: {shed_above: off}
    rollout: {auto: false, steps: [50, 100], hold: 1h, sticky_by: header:X-User}
    guard: {cpu: 1.1x, p99: off, confidence: 0.5}
`, filepath.Join(t.TempDir(), "whittle.db"), monolith.Public, monolith.Admin, countPath, candidate.Public, candidate.Admin))
	gateway := process.Start(t, filepath.Join(built, "whittle"), "run", "-c", config)
	client, err := admin.Dial(gateway.Admin, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client, gateway
}

// sendUsers sends requests of users until the test ends, each user once, so
// that half of them are served by each side, at a pace that fills an interval
// about as fast as it is read: two gateways' users together. Few requests wait at once, so that the circuit
// breaker does not take a machine that stands still for a candidate that hangs.
func sendUsers(t *testing.T, address string) {
	t.Helper()
	const callers, pace = 2, 200 * time.Millisecond // of one caller
	ctx, cancel := context.WithCancel(t.Context())
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}, Timeout: process.Patience}
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			tick := time.NewTicker(pace)
			defer tick.Stop()
			for n := 0; ctx.Err() == nil; n++ {
				if err := sendOnce(ctx, client, address, fmt.Sprintf("user-%d-%d", caller, n)); err != nil && ctx.Err() == nil {
					t.Errorf("a user: %v", err)
					return
				}
				select {
				case <-ctx.Done():
				case <-tick.C:
				}
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		all.Wait()
		client.CloseIdleConnections()
	})
}

func sendOnce(ctx context.Context, client *http.Client, address, user string) error {
	const times = 7_000_000 // some four milliseconds of the cheap one: enough for an interval in one reading
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+countPath, strings.NewReader(fmt.Sprintf(`{"times": %d}`, times)))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-User", user)
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", resp.Status)
	}
	return nil
}

// awaitGuard waits until the guard of the CPU had as many intervals as it needs
// to speak, or the candidate lost its users.
func awaitGuard(t *testing.T, client *admin.Client) whittle.RouteStatus {
	t.Helper()
	const longest = 4 * time.Minute // some ten intervals of five seconds, on a machine that is busy
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for deadline := time.Now().Add(longest); ; <-poll.C {
		r, err := client.Route(t.Context(), "POST "+countPath)
		if err != nil {
			t.Fatal(err)
		}
		m := cpuMeter(t, &r)
		// A breach is one interval's, and the rollback the decision after it.
		if r.Phase == whittle.PhaseRolledBack || m.Count >= m.Needed && !m.Breached {
			return r
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v: %s at %g %%: %s", longest, r.Phase, r.Percent, m.Summary)
		}
	}
}

func cpuMeter(t *testing.T, r *whittle.RouteStatus) whittle.Meter {
	t.Helper()
	for _, m := range r.Guards {
		if m.Name == "cpu" {
			return m
		}
	}
	t.Fatalf("the guard of the CPU is not among %+v", r.Guards)
	return whittle.Meter{}
}
