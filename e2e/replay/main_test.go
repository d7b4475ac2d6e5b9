// Package replay replays what real servers were recorded with, by the built
// command: the Node monolith's random responses against both Go services, and
// JSON endpoints whose differences become tests that really run.
package replay

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/record/capture"
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

// replayed runs the command and gives its exit status and its report.
func replayed(t *testing.T, args ...string) (int, *replay.Report) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.json")
	status, said := process.Run(t, "", append([]string{filepath.Join(built, "whittle"), "replay", "--json", file}, args...)...)
	t.Log(said)
	r := fatal.JSON[replay.Report](t, file)
	fatal.Same(t, r.Ledger.Sum(), r.Ledger.Total, "the ledger does not add up: %+v", r.Ledger)
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
	process.MustRun(t, "", 0, filepath.Join(built, "whittle"), "load", "http://"+front.Public+"/people/{{ $randomNumber(1, 600) }}",
		"--header", "Authorization: Bearer real", "--users", "4", "-n", "600", "--max-late", "1h")
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
	sizes := []int{1000, 10_000, 1000, 150_000, 2000, 1000, 1000, 2000}
	const n = 5000
	dir := filepath.Join(t.TempDir(), "recorded")
	process.Record(t, "http://"+process.Monolith(t).Public, dir, n, func(i int) *capture.Entry {
		return &capture.Entry{Route: "POST /Count", Conn: uint64(i%4 + 1), Request: whittle.Request{
			Method: "POST", Target: "/Count", Header: whittle.Header{"Content-Type": {"application/json"}},
			Body: fmt.Appendf(nil, `{"times":%d}`, sizes[i%len(sizes)]),
		}}
	})
	descriptor, err := filepath.Abs(filepath.Join(process.Repository, "systems/count/count.binpb"))
	fatal.If(t, err)
	config := fatal.Write(t, filepath.Join(t.TempDir(), "whittle.yaml"), fmt.Appendf(nil, countConfig, descriptor))
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
