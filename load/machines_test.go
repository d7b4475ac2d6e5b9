package load

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/internal/needs"
	"whittle/load/plan"
	"whittle/load/report"
	"whittle/load/wire"
)

// Virtual users are machines that never met: none resumes another's TLS session, in runs and
// in the blocks of a comparison. One resumes its own.
func TestNoUserResumesAnothersTLSSession(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{wire.HTTP1, wire.HTTP2} {
		var resumed, asked atomic.Int64
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			if r.TLS.DidResume {
				resumed.Add(1)
			}
			if r.URL.Path == "/close" {
				w.Header().Set("Connection", "close")
			}
		}))
		srv.EnableHTTP2 = true
		srv.StartTLS()
		defer srv.Close()
		p := parsed(t, "config: {tls: {rejectUnauthorized: false}, phases: [{duration: 0.1, arrivalCount: 10}]}\nscenarios: [{flow: [{get: {url: /}}]}]")
		o := Options{Target: srv.URL, Protocol: protocol, MaxLate: time.Minute}
		run(t, p, o)
		sendBlocks(t, p, o, 2, plan.Arrival{}, plan.Arrival{})
		closed, err := p.WithUsers(plan.Closed{Users: 2, Loops: 3})
		fatal.If(t, err)
		run(t, closed, o)
		if asked.Load() != 20 || resumed.Load() != 0 {
			t.Errorf("%s: of %d requests %d were of a session that another had", protocol, asked.Load(), resumed.Load())
		}
		if protocol == wire.HTTP1 {
			run(t, once(parsed(t, "config: {tls: {rejectUnauthorized: false}}\nscenarios: [{flow: [{get: {url: /close}}, {get: {url: /}}]}]")), o)
			if resumed.Load() != 1 {
				t.Errorf("a user resumed its own session %d times, want once", resumed.Load())
			}
		}
	}
}

// With fewer open files than users the generator is the limit: a kind of its own, few
// retries, and a run that is void; on a worker, which runs a part of a plan, too.
func TestTheGeneratorsOwnLimits(t *testing.T) {
	needs.Linux(t, "a limit of open files for a process of its own")
	const target, files = "WHITTLE_TEST_TARGET", 24
	if at := os.Getenv(target); at != "" {
		fatal.If(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: files, Max: files}))
		p, err := parsed(t, "scenarios: [{flow: [{get: {url: /}}]}]").WithUsers(plan.Closed{Users: 50, Duration: 500 * time.Millisecond})
		fatal.If(t, err)
		o := Options{Target: at, MaxLate: time.Minute}
		whole := run(t, p, o)
		o.Part = plan.Part{Of: 2}
		worker, err := NewRunner(p, o)
		fatal.If(t, err)
		part, err := worker.RunPart(t.Context(), PartStart{Start: time.Now()})
		fatal.If(t, err)
		b, err := json.Marshal([]any{whole, part})
		fatal.If(t, err)
		fmt.Printf("reports %s\n", b)
		return
	}
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	cmd := exec.Command(os.Args[0], "-test.run=^TestTheGeneratorsOwnLimits$", "-test.count=1")
	cmd.Env = append(os.Environ(), target+"="+srv.URL)
	out, err := cmd.CombinedOutput()
	_, text, ok := strings.Cut(string(out), "reports ")
	if err != nil || !ok {
		t.Fatalf("%v\n%s", err, out)
	}
	var r report.Report
	var part PartResult
	fatal.If(t, json.NewDecoder(strings.NewReader(text)).Decode(&[]any{&r, &part}))
	if n := part.Errors[report.ErrorGenerator]; n == 0 || n > 100 || !strings.Contains(part.Void, "had no more for") {
		t.Errorf("a part: %v, void: %s", part.Errors, part.Void)
	}
	if n := r.Errors[report.ErrorGenerator]; n == 0 || n > 100 || r.Errors[report.ErrorConnect] > 0 || !strings.Contains(r.Void, "had no more for") {
		t.Errorf("%v, void: %s", r.Errors, r.Void)
	}
	if from := r.LateFrom(); from != 0 {
		t.Errorf("lateness from %v is what it is void for", from)
	}
}
