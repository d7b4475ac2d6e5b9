// Package replay replays what real servers were recorded with, by the built
// command: the Node monolith's random responses against both Go services, and
// JSON endpoints whose differences become tests that really run.
package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/record/capture"
	"whittle/record/journal"
	"whittle/record/replay"
)

// built is where the commands are.
var built string

func TestMain(m *testing.M) { process.Main(m, build) }

func build() (err error) {
	if err := process.NeedMonolith(); err != nil {
		return err
	}
	built, err = process.Build("./cmd/whittle", "./systems/count/cmd/...")
	return err
}

// start runs a server until the test ends, and gives where it listens.
func start(t *testing.T, argv ...string) string {
	t.Helper()
	return "http://" + process.Start(t, argv...).Public
}

// record asks a monolith and keeps what it returns in a journal's folder.
func record(t *testing.T, monolith, route string, n int, request func(i int) whittle.Request) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "recorded")
	w, err := journal.Create(dir, journal.Options{})
	fatal.If(t, err)
	client := &http.Client{Timeout: process.Patience}
	defer client.CloseIdleConnections()
	for i := range n {
		q := request(i)
		hq, err := http.NewRequestWithContext(t.Context(), q.Method, monolith+q.Target, bytes.NewReader(q.Body))
		fatal.If(t, err)
		hq.Header = http.Header(q.Header)
		at := time.Now()
		resp, err := client.Do(hq)
		fatal.If(t, err)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		fatal.If(t, err)
		e := &capture.Entry{
			Route: route, Conn: uint64(i%4 + 1), At: at, Request: q,
			Response: whittle.Response{Status: resp.StatusCode, Header: whittle.Header(resp.Header), Body: body, Latency: time.Since(at)},
		}
		fatal.If(t, w.Append(e))
	}
	fatal.If(t, w.Close())
	return dir
}

// replayed runs the command and gives its exit status and its report.
func replayed(t *testing.T, args ...string) (int, *replay.Report) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.json")
	status, said := process.Run(t, "", append([]string{filepath.Join(built, "whittle"), "replay", "--json", file}, args...)...)
	t.Log(said)
	b, err := os.ReadFile(file)
	fatal.If(t, err)
	var r replay.Report
	fatal.If(t, json.Unmarshal(b, &r))
	if r.Ledger.Sum() != r.Ledger.Total {
		t.Errorf("the ledger does not add up: %+v", r.Ledger)
	}
	return status, &r
}

// people responds with what is secret, each user's own, to those who log in.
func people(domain string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer real" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"user":%q,"email":"user%s@%s"}`, r.URL.Path, r.URL.Path[len("/people/"):], domain)
	})
}

// TestWhatIsRecordedIsReplayed records through the command, and replays what it
// has kept against a service that holds the same secrets and one that does not.
func TestWhatIsRecordedIsReplayed(t *testing.T) {
	monolith, other := httptest.NewServer(people("shop.example")), httptest.NewServer(people("shop.test"))
	defer monolith.Close()
	defer other.Close()
	dir := filepath.Join(t.TempDir(), "recorded")
	front := process.Start(t, filepath.Join(built, "whittle"), "record", "--listen", "127.0.0.1:0", "--monolith", monolith.URL, "--to", dir)
	var users sync.WaitGroup
	for u := range 4 {
		users.Go(func() {
			client := &http.Client{Transport: &http.Transport{}, Timeout: process.Patience}
			defer client.CloseIdleConnections()
			for i := range 150 {
				q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://%s/people/%d", front.Public, 150*u+i), http.NoBody)
				if err != nil {
					t.Error(err)
					return
				}
				q.Header.Set("Authorization", "Bearer real")
				resp, err := client.Do(q)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	users.Wait()
	front.Signal(t, os.Interrupt)
	if err := front.Wait(); err != nil {
		t.Errorf("it ended with %v\n%s", err, front.Said())
	}

	login := []string{dir, "--speed", "max", "--header", "Authorization: Bearer real"}
	status, r := replayed(t, append(login, "--against", monolith.URL)...)
	if status != 0 || r.Ledger.Compared != 600 || r.Differing != 0 || r.Redacted.Requests != 0 {
		t.Errorf("the same secrets: status %d, %+v, %d differ, %+v", status, r.Ledger, r.Differing, r.Redacted)
	}
	status, r = replayed(t, append(login, "--against", other.URL)...)
	if status != 1 || r.Verdict != whittle.Different || r.Routes[0].Verdict.Findings[0].Path != "$.email" {
		t.Errorf("other secrets: status %d, %s", status, r.Summary)
	}
	if strings.Contains(fmt.Sprint(r.Routes), "@shop") {
		t.Error("the report holds what recording takes out")
	}
	status, r = replayed(t, dir, "--speed", "max", "--against", monolith.URL)
	if status != 3 || r.Redacted.Denied != 600 || r.Ledger.Compared != 0 {
		t.Errorf("no login: status %d, %+v", status, r.Redacted)
	}
	fatal.If(t, os.Remove(dir+".key"))
	status, r = replayed(t, append(login, "--against", monolith.URL)...)
	if status != 3 || r.Verdict != whittle.Undecided || r.Redacted.Responses != 600 {
		t.Errorf("no key: status %d, %+v", status, r.Redacted)
	}
}

const countConfig = `listen: 127.0.0.1:0
monolith: http://127.0.0.1:1
routes:
  - match: POST /Count
    candidate:
      url: http://127.0.0.1:1
      rpc: {protocol: twirp, descriptor: %s, method: twirp.carved.Carved/Count}
      response: {content_type: text/html; charset=utf-8, template: "Counted to {{.Sum}} \n"}
    safe: true
    compare: {kind: statistical, value: number in the body, per: request.times}
`

// TestCount records the Node monolith and replays it against the service as
// published, which it must call DIFFERENT, and the mended one.
func TestCount(t *testing.T) {
	if _, err := os.Stat(filepath.Join(process.Repository, "systems/count/monolith/node_modules")); err != nil {
		t.Fatal("the Node monolith's packages are not installed: run `make deps`")
	}
	t.Setenv("NODE_ENV", "production")
	monolith := start(t, "node", filepath.Join(process.Repository, "systems/count/monolith/server.js"), "--port", "0")
	sizes := []int{1000, 10_000, 1000, 150_000, 2000, 1000, 1000, 2000}
	const n = 5000
	dir := record(t, monolith, "POST /Count", n, func(i int) whittle.Request {
		return whittle.Request{
			Method: "POST", Target: "/Count", Header: whittle.Header{"Content-Type": {"application/json"}},
			Body: fmt.Appendf(nil, `{"times":%d}`, sizes[i%len(sizes)]),
		}
	})
	descriptor, err := filepath.Abs(filepath.Join(process.Repository, "systems/count/count.binpb"))
	fatal.If(t, err)
	config := filepath.Join(t.TempDir(), "whittle.yaml")
	fatal.If(t, os.WriteFile(config, fmt.Appendf(nil, countConfig, descriptor), 0o600))
	argv := []string{filepath.Join(built, "count"), "-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0", "-env-file", ""}
	mended := start(t, argv...)
	argv[0] = filepath.Join(built, "count-as-published")
	published := start(t, append(argv, "-flaws", "all")...)

	status, r := replayed(t, dir, "--against", published, "-c", config, "--speed", "max")
	if status != 1 || r.Verdict != whittle.Different || r.Ledger.Compared != n {
		t.Fatalf("the published service: status %d, %s, %+v", status, r.Verdict, r.Ledger)
	}
	for _, kind := range []whittle.FindingKind{whittle.FoundWrongValue, whittle.FoundRepeats} {
		if !slices.ContainsFunc(r.Routes[0].Verdict.Findings, func(f whittle.Finding) bool { return f.Kind == kind && f.Decided }) {
			t.Errorf("%s is not shown", kind)
		}
	}
	status, r = replayed(t, dir, "--against", mended, "-c", config, "--speed", "max", "--fail-if", "undecided")
	if status != 0 || r.Verdict != whittle.Equivalent || r.Ledger.Compared != n || r.Shapes.Share != 1 {
		t.Errorf("the mended service: status %d, %s, %+v", status, r.Summary, r.Ledger)
	}
}
