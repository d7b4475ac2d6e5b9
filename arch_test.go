package whittle_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"whittle/internal/fatal"
)

// rooms is the architecture: a package imports only packages of a strictly
// lower rank, so that data flows one way and the folder list tells the truth.
// A package that is not listed here does not belong to whittle. Ranks go in
// tens, so that a package can be put between two.
var rooms = map[string]int{
	"whittle":                              0,
	"whittle/internal/jsonpath":            0,
	"whittle/internal/coding":              0,
	"whittle/internal/checkout":            0,
	"whittle/internal/http1":               0,
	"whittle/internal/jscode":              0,
	"whittle/internal/sourcemap":           0,
	"whittle/internal/http1/smugglingtest": 0,
	"whittle/internal/httpfield":           0,
	"whittle/internal/lifetime":            0,
	"whittle/internal/conns":               0,
	"whittle/internal/cputime":             0,
	"whittle/internal/table":               0,

	"whittle/internal/latency":      0,
	"whittle/carve/account":         10,
	"whittle/carve/fleet":           10,
	"whittle/carve/fleet/simtest":   20,
	"whittle/carve/fleet/evidence":  20,
	"whittle/carve/fleet/jetstream": 30,
	"whittle/carve/fleet/part":      40,
	"whittle/carve/rollout":         10,
	"whittle/carve/transcode":       10,
	"whittle/carve/config":          25,
	"whittle/carve/state":           10,
	"whittle/internal/chart":        0,
	"whittle/internal/jsonscan":     0,
	"whittle/internal/natslink":     0,
	"whittle/internal/natstest":     0,
	"whittle/internal/notify":       0,
	"whittle/internal/openfiles":    0,
	"whittle/internal/pemfile":      0,
	"whittle/internal/socket":       0,
	"whittle/internal/paired":       0,
	"whittle/internal/proxyproto":   0,
	"whittle/internal/listening":    0,
	"whittle/internal/units":        0,
	"whittle/internal/yamltree":     0,
	"whittle/internal/certtest":     0,
	"whittle/internal/rawtest":      0,
	"whittle/internal/simtest":      0,
	"whittle/systems/ingest/stream": 10,
	"whittle/profile":               10,
	"whittle/internal/label":        0,
	"whittle/internal/needs":        0,
	"whittle/internal/fatal":        0,
	"whittle/whittletest":           1,
	"whittle/internal/child":        0,
	"whittle/internal/filelock":     0,
	"whittle/internal/adminport":    0,
	"whittle/cmdline":               10,

	"whittle/carve/compare/body":         3,
	"whittle/carve/compare/digest":       1,
	"whittle/carve/compare/eprocess":     1,
	"whittle/carve/compare/display":      1,
	"whittle/carve/compare/novelty":      2,
	"whittle/carve/compare/guard":        3,
	"whittle/carve/compare/query":        2,
	"whittle/carve/compare/own":          2,
	"whittle/carve/compare/jsondoc":      2,
	"whittle/carve/compare/jsondiff":     3,
	"whittle/carve/compare/noise":        2,
	"whittle/carve/compare/twosample":    2,
	"whittle/carve/compare/form":         4,
	"whittle/carve/compare/header":       5,
	"whittle/carve/compare/distribution": 6,
	"whittle/carve/compare/cause":        5,
	"whittle/carve/compare/comparetest":  1,
	"whittle/carve/compare/promisetest":  1,
	"whittle/carve/compare":              10,

	"whittle/record/capture":  10,
	"whittle/record/redact":   10,
	"whittle/record/journal":  20,
	"whittle/record/har":      20,
	"whittle/record/recorder": 30,
	"whittle/record/replay":   30,
	"whittle/record/show":     30,

	"whittle/contract":          10,
	"whittle/contract/openapi":  20,
	"whittle/contract/proto":    20,
	"whittle/contract/infer":    26,
	"whittle/contract/scaffold": 30,

	"whittle/contract/source":         40,
	"whittle/contract/infer/document": 20,
	"whittle/contract/infer/pattern":  20,
	"whittle/contract/infer/shape":    22,
	"whittle/contract/infer/verify":   24,

	"whittle/carve/dashboard":               20,
	"whittle/carve/dashboard/dashboardtest": 10,

	"whittle/systems/ingest/stream/durable":             10,
	"whittle/systems/ingest/stream/embedded":            20,
	"whittle/systems/ingest/stream/inflight":            20,
	"whittle/systems/ingest/stream/kafka":               30,
	"whittle/systems/ingest/stream/nats":                30,
	"whittle/systems/ingest/stream/relay":               20,
	"whittle/systems/ingest/stream/streamtest":          20,
	"whittle/systems/ingest/stream/kafka/kafkatest":     10,
	"whittle/systems/ingest/stream/kinesis":             30,
	"whittle/systems/ingest/stream/kinesis/kinesistest": 10,

	"whittle/carve/gateway/bodycopy":        10,
	"whittle/carve/gateway/breaker":         10,
	"whittle/carve/gateway/preview":         10,
	"whittle/carve/gateway/extproc":         10,
	"whittle/carve/gateway/accesslog":       12,
	"whittle/carve/gateway/mirror":          10,
	"whittle/carve/gateway/listener":        12,
	"whittle/carve/gateway/listener/h2":     11,
	"whittle/carve/gateway/inbound":         14,
	"whittle/carve/gateway/upstream":        16,
	"whittle/carve/gateway/forward":         18,
	"whittle/carve/gateway":                 20,
	"whittle/carve/control":                 20,
	"whittle/carve/admin":                   20,
	"whittle/carve/show":                    10,
	"whittle/carve/handover":                10,
	"whittle/carve/recording":               40,
	"whittle/carve/gate":                    30,
	"whittle/carve/notification":            30,
	"whittle/carve/webhook":                 10,
	"whittle/carve/logqueue":                10,
	"whittle/carve/gateway/resolve":         10,
	"whittle/carve/gateway/resolve/dnstest": 1,
	"whittle/carve/promquery":               30,
	"whittle/carve/steer":                   30,

	"whittle/carve/fleet/natsserver": 10,
	"whittle/carve/fleet/embedded":   40,

	"whittle/load/expr":       10,
	"whittle/load/jmxtest":    10,
	"whittle/load/script":     10,
	"whittle/load/snippet":    10,
	"whittle/load/report":     10,
	"whittle/load/plan":       20,
	"whittle/load/artillery":  30,
	"whittle/load/jmeter":     30,
	"whittle/load/engine":     10,
	"whittle/load/cpu":        20,
	"whittle/load/wire":       30,
	"whittle/load":            40,
	"whittle/load/duel":       50,
	"whittle/load/workers":    50,
	"whittle/load/corpustest": 50,

	"whittle/profile/collect":  20,
	"whittle/profile/smell":    20,
	"whittle/profile/gosource": 20,
	"whittle/profile/guard":    20,
	"whittle/profile/report":   30,
	"whittle/profile/measure":  60,
	"whittle/profile/rank":     70,

	"whittle/systems/count/rpc":                    300,
	"whittle/systems/count/sum":                    300,
	"whittle/systems/count/server":                 310,
	"whittle/systems/count/published":              310,
	"whittle/systems/count/cmd/count":              320,
	"whittle/systems/count/cmd/count-as-published": 320,

	"whittle/systems/daemon":            20,
	"whittle/systems/ingest/event":      300,
	"whittle/systems/ingest/deadletter": 300,
	"whittle/systems/ingest/dedup":      300,
	"whittle/systems/ingest/front":      310,

	"whittle/systems/ingest/cmd/ingest": 320,

	"whittle/systems/emojify/piece":               305,
	"whittle/systems/emojify/rpc":                 300,
	"whittle/systems/emojify/picture":             300,
	"whittle/systems/emojify/draw":                310,
	"whittle/systems/emojify/facebox":             310,
	"whittle/systems/emojify/facebox/faceboxtest": 1,
	"whittle/systems/emojify/fetch":               310,
	"whittle/systems/emojify/cache":               310,
	"whittle/systems/emojify/api":                 310,
	"whittle/systems/emojify/cmd/emojify":         320,

	"whittle/cmd/whittle": 400,
	"whittle/cmd/demo":    400,
}

// outside are the trees that may look into every room, and that no room looks into.
var outside = []string{"whittle/bench/", "whittle/e2e/"}

// vague names say nothing of what a room is for.
var vague = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base"}

type listed struct {
	ImportPath string
	Name       string
	Dir        string
	Imports    []string
	GoFiles    []string
	// IgnoredGoFiles are of other systems.
	IgnoredGoFiles            []string
	TestGoFiles, XTestGoFiles []string
}

// packages are those of the module. They are listed once.
func packages(t *testing.T) []listed {
	t.Helper()
	all, err := listing()
	fatal.If(t, err)
	return all
}

var listing = sync.OnceValues(func() (all []listed, err error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Name,Dir,Imports,GoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles", "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

func isOutside(pkg string) bool {
	return slices.ContainsFunc(outside, func(p string) bool { return strings.HasPrefix(pkg, p) })
}

// TestRanks fails on an import that does not go down, on a room that the table
// does not name, and on a row of the table whose room is gone.
func TestRanks(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range packages(t) {
		seen[p.ImportPath] = true
		if slices.Contains(vague, path.Base(p.ImportPath)) {
			t.Errorf("%s: a room is named after what it is for", p.ImportPath)
		}
		rank, known := rooms[p.ImportPath]
		if !known && !isOutside(p.ImportPath) {
			t.Errorf("%s has no rank: add it to the table, or move it", p.ImportPath)
			continue
		}
		for _, imp := range p.Imports {
			if imp != "whittle" && !strings.HasPrefix(imp, "whittle/") {
				continue
			}
			below, ok := rooms[imp]
			switch {
			case strings.HasPrefix(p.ImportPath, "whittle/internal/"):
				t.Errorf("%s imports %s: internal/ knows nothing of whittle", p.ImportPath, imp)
			case isOutside(p.ImportPath):
			case !ok:
				t.Errorf("%s imports %s, which stands outside", p.ImportPath, imp)
			case below >= rank:
				t.Errorf("%s (rank %d) imports %s (rank %d): imports go strictly down", p.ImportPath, rank, imp, below)
			}
		}
	}
	for room := range rooms {
		if !seen[room] {
			t.Errorf("%s is in the table and not in the tree", room)
		}
	}
}

// reached are the packages that a program is made of, by what imports them first.
func reached(all []listed, program string) map[string]string {
	imports := map[string][]string{}
	for _, p := range all {
		imports[p.ImportPath] = p.Imports
	}
	by := map[string]string{program: ""}
	for todo := []string{program}; len(todo) > 0; todo = todo[1:] {
		for _, imp := range imports[todo[0]] {
			if _, seen := by[imp]; !seen {
				by[imp] = todo[0]
				todo = append(todo, imp)
			}
		}
	}
	return by
}

// forNoUser reports whether a package is there for tests, audits and demos alone: the
// test's own, Go's testing, the services with the flaws that they were published
// with, and what stands around the house.
func forNoUser(pkg string) bool {
	if strings.HasPrefix(pkg, "whittle/") {
		return strings.HasSuffix(pkg, "test") || strings.Contains(pkg, "published") || isOutside(pkg)
	}
	return pkg == "testing" || strings.HasPrefix(pkg, "testing/")
}

// TestTheProductHasNoTests: the product's binary has nothing that only tests and demos need.
func TestTheProductHasNoTests(t *testing.T) {
	by := reached(packages(t), "whittle/cmd/whittle")
	if len(by) < 100 {
		t.Fatalf("the product is made of %d packages only", len(by))
	}
	for pkg, from := range by {
		if forNoUser(pkg) {
			t.Errorf("%s imports %s, which is for tests: so the product's binary has it", from, pkg)
		}
		if pkg == "whittle/carve/fleet/natsserver" || strings.HasPrefix(pkg, "github.com/nats-io/nats-server/") {
			t.Errorf("%s imports %s: only what is built with the tag embedded has a NATS server", from, pkg)
		}
	}
}

// bans are imports that a room must not have, each with its reason. A room that
// ends in /... is that package and all below it.
var bans = []struct{ room, imports, why string }{
	{"whittle", "net/http", "the words do not depend on a transport"},
	{"whittle/carve/compare/...", "os", "compare is pure: two responses in, findings out"},
	{"whittle/carve/compare/...", "net/http", "compare is pure: two responses in, findings out"},
	{"whittle/carve/compare/...", "log/slog", "compare is pure: what it has to say is in the verdict"},
	{"whittle/carve/rollout", "os", "rollout is a pure state machine"},
	{"whittle/carve/rollout", "log/slog", "rollout is a pure state machine: its decisions are returned"},
	{"whittle/carve/fleet", "os", "a fleet's parts are state machines: what they write is returned"},
	{"whittle/internal/paired", "os", "paired is pure: samples and a random source in, ratios out"},
	{"whittle/internal/paired", "time", "paired knows no clock: samples are numbers"},
	{"whittle/load/expr", "net/http", "expressions look at a response's bytes; the load room gets them"},
	{"whittle/load/engine", "net/http", "an event loop moves bytes; the wire knows what they mean"},
	{"whittle/load/plan", "net/http", "a plan is what to send, not how"},
	{"whittle/load/plan", "whittle/load/script", "a plan is what to send: its reader has the scripts"},
	{"whittle/load/report", "net/http", "a report is what a run came to: it sends nothing"},
	{"whittle/carve/transcode", "net/http", "transcode turns bytes into bytes; the gateway makes the calls"},
	{"whittle/systems/ingest/event", "net/http", "event is pure: bytes in, records out; front speaks HTTP"},
	{"whittle/systems/ingest/event", "os", "event is pure: bytes in, records out"},
	{"whittle/systems/ingest/event", "encoding/json", "an event is spliced, never decoded and encoded: its bytes are its client's"},
	{"whittle/systems/emojify/picture", "net/http", "a picture is bytes in, pixels out; fetch goes and gets it"},
	{"whittle/systems/emojify/picture", "os", "a picture is bytes in, pixels out"},
	{"whittle/carve/gateway/forward", "encoding/json", "the user's path parses no body; compare and transcode do"},
	{"whittle/carve/gateway", "encoding/json", "the user's path parses no body; compare and transcode do"},
}

// inRoom reports whether a package is the room, or below one that ends in /....
func inRoom(pkg, room string) bool {
	top, below := strings.CutSuffix(room, "/...")
	return pkg == top || below && strings.HasPrefix(pkg, top+"/")
}

// TestBans holds the imports that would quietly undo a decision.
func TestBans(t *testing.T) {
	for _, p := range packages(t) {
		for _, b := range bans {
			if inRoom(p.ImportPath, b.room) && slices.Contains(p.Imports, b.imports) {
				t.Errorf("%s imports %s: %s", p.ImportPath, b.imports, b.why)
			}
		}
	}
}
