package ingest

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whittle/carve/dashboard/dashboardtest"
	"whittle/e2e/process"
	"whittle/internal/checkout"
	"whittle/internal/fatal"
	"whittle/internal/filelock"
	"whittle/internal/needs"
)

// nodeClients gives a folder of .cache in which npm has installed the clients' packages,
// which are no part of make deps. What cannot be installed here is listed as not tried.
func nodeClients(t *testing.T) string {
	t.Helper()
	npm := needs.Tool(t, "RudderStack's SDKs", "apt-get install nodejs npm", "npm")
	root := checkout.Root()
	if root == "" {
		root = t.TempDir()
	}
	sum := []byte(fatal.Read(t, "clients/package-lock.json"))
	cache := filepath.Join(root, ".cache", "ingest-clients")
	dir := filepath.Join(cache, fmt.Sprintf("%x", sha256.Sum256(sum)))
	fatal.If(t, os.MkdirAll(cache, 0o755))
	lock, err := os.OpenFile(filepath.Join(cache, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	fatal.If(t, err)
	defer lock.Close()
	process.Until(t, "another test's installation", func() bool { return filelock.Hold(lock) == nil })
	if _, err := os.Stat(filepath.Join(dir, "installed")); err == nil {
		return dir
	}
	fatal.If(t, errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS("clients"))))
	if status, said := process.Run(t, dir, npm, "ci", "--silent", "--no-audit", "--no-fund"); status != 0 {
		t.Log(said)
		needs.Missing(t, "RudderStack's SDKs", "let npm reach its registry")
	}
	fatal.If(t, os.WriteFile(filepath.Join(dir, "installed"), nil, 0o600))
	return dir
}

// keyed starts the service with one write key.
func keyed(t *testing.T, data string) *service {
	t.Helper()
	keys := filepath.Join(t.TempDir(), "keys")
	fatal.If(t, os.WriteFile(keys, []byte("key-of-the-test\n"), 0o600))
	return serve(t, data, "--keys", keys)
}

// arrived holds what a client sent: so many events of each kind, each once, with
// its text as it was.
func arrived(t *testing.T, data string, want map[string]int) {
	t.Helper()
	kinds, ids := map[string]int{}, map[string]bool{}
	for _, e := range entries(t, data) {
		var event struct {
			Type, MessageID, UserID, AnonymousID, ReceivedAt, Timestamp string
			Properties                                                  struct {
				N    *float64
				Text string
			}
		}
		if err := json.Unmarshal(e.Value, &event); err != nil {
			t.Fatalf("%s: %v", e.Value, err)
		}
		kinds[event.Type]++
		if ids[event.MessageID] || event.MessageID == "" || event.MessageID != e.ID {
			t.Errorf("the message %q is there twice, or has no id", event.MessageID)
		}
		ids[event.MessageID] = true
		if event.ReceivedAt == "" || event.Timestamp == "" {
			t.Errorf("an event lacks what it needs: %s", e.Value)
		}
		if event.Properties.N != nil && event.Properties.Text != "größer ✓" {
			t.Errorf("the text became %q", event.Properties.Text)
		}
		if e.Key == "" || e.Key != event.UserID && e.Key != event.AnonymousID {
			t.Errorf("the key of %s is %q", e.Value, e.Key)
		}
	}
	fatal.Same(t, fmt.Sprint(kinds), fmt.Sprint(want), "arrived")
}

// TestSegmentsNodeSDK lets Segment's own SDK send every kind of call and a burst, by a key
// that is known and by one that is not. (It sends batches side by side, so their order is
// its own.)
func TestSegmentsNodeSDK(t *testing.T) {
	node := needs.Node(t)
	if _, err := os.Stat("segment/node_modules"); err != nil {
		t.Fatal("the SDK is not installed: make deps")
	}
	const burst = 1000
	data := t.TempDir()
	s := keyed(t, data)
	if status, said := process.Run(t, "", node, "segment/send.js", s.public, "another-key", fmt.Sprint(burst)); status == 0 {
		t.Errorf("a key that is not known was let in: %s", said)
	}
	process.MustRun(t, "", 0, node, "segment/send.js", s.public, "key-of-the-test", fmt.Sprint(burst))
	s.Kill()
	arrived(t, data, map[string]int{"identify": 1, "track": 1 + burst, "page": 1, "screen": 1, "group": 1, "alias": 1})
}

// TestRudderStacksNodeSDK sends its gzip as a form, and ends its process where a
// response is no success.
func TestRudderStacksNodeSDK(t *testing.T) {
	node, modules := needs.Node(t), nodeClients(t)
	data := t.TempDir()
	s := keyed(t, data)
	process.MustRun(t, "", 0, node, "clients/rudder.js", filepath.Join(modules, "node_modules"), s.public, "key-of-the-test", "200")
	s.Kill()
	arrived(t, data, map[string]int{"identify": 1, "track": 200})
}

// TestSegmentsBrowserSDK sends from a page of another origin, event by event, and as
// a batch when the page is left, with settings that the service itself gives.
func TestSegmentsBrowserSDK(t *testing.T) {
	b := dashboardtest.Open(t)
	modules := nodeClients(t)
	sdk := http.StripPrefix("/sdk/", http.FileServer(http.Dir(filepath.Join(modules, "node_modules/@segment/analytics-next/dist/umd"))))
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/sdk/"):
			sdk.ServeHTTP(w, r)
		case r.URL.Path == "/page":
			http.ServeFile(w, r, "clients/segment.html")
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<!doctype html><title>Another page</title>")
		}
	}))
	defer page.Close()
	for _, batching := range []string{"0", "1"} {
		data := t.TempDir()
		s := keyed(t, data)
		b.Go(page.URL + "/page?batching=" + batching + "&url=" + s.public)
		process.Until(t, "batching="+batching+": the SDK has taken all", func() bool {
			state := b.JS("window.state")
			if state != "sent" && state != "loading" {
				t.Fatal(state)
			}
			return state == "sent"
		})
		b.Go(page.URL + "/another")
		process.Until(t, "batching="+batching+": all are kept", func() bool { return s.figure("ingest_log_records_total") >= 6 })
		s.Kill()
		arrived(t, data, map[string]int{"identify": 1, "track": 5})
	}
}

// TestPlainCurl sends as people try a service for the first time.
func TestPlainCurl(t *testing.T) {
	curl := needs.Tool(t, "what curl sends", "apt-get install curl", "curl")
	data := t.TempDir()
	s := serve(t, data)
	const event = `{"userId":"u1","event":"Signed Up","messageId":"m%d"}`
	for i, args := range [][]string{
		{"-d", fmt.Sprintf(event, 0), s.public + "/v1/track"},
		{"-d", fmt.Sprintf(event, 0), s.public + "/v1/track"}, // again
		{"-d", fmt.Sprintf(event, 1), s.public + "/import"},
		{"-d", fmt.Sprintf(event, 1), s.public + "/import"}, // again
		{"-H", "Content-Type: application/json", "-d", fmt.Sprintf(event, 2), s.public + "/import"},
		{"-u", "any:", "--json", fmt.Sprintf(event, 3), s.public + "/v1/t"},
		{"-d", "anything at all", s.public + "/import"},
		{"-H", "Expect: 100-continue", "-d", `{"batch":[{"type":"page","userId":"u","messageId":"m4"}]}`, s.public + "/v1/batch"},
		{"--http1.0", "-d", fmt.Sprintf(event, 5), s.public + "/v1/track"},
		{"-H", "Transfer-Encoding: chunked", "-d", fmt.Sprintf(event, 6), s.public + "/v1/track"},
	} {
		said := process.MustRun(t, "", 0, append([]string{curl, "-sS", "--fail-with-body"}, args...)...)
		if again := i == 1 || i == 3; strings.Contains(said, `"duplicate"`) != again && !strings.Contains(said, `"events"`) {
			t.Errorf("curl %q: %s", args, said)
		}
	}
	s.Kill()
	fatal.Same(t, len(entries(t, data)), 8, "records")
}

// sends is what a page of another origin does, by the id of its event.
var sends = map[string]string{
	"fetch with a key and JSON": `fetch(URL + '/v1/track', {method: 'POST', body: EVENT,
		headers: {'Content-Type': 'application/json', Authorization: 'Basic ' + btoa('key:')}}).then(r => r.json()).then(a => a.status)`,
	"fetch of plain text": `fetch(URL + '/v1/t', {method: 'POST', keepalive: true, headers: {'Content-Type': 'text/plain'}, body: EVENT})
		.then(r => r.json()).then(a => a.status)`,
	"a beacon":      `Promise.resolve(navigator.sendBeacon(URL + '/v1/t?writeKey=key', EVENT) ? 'accepted' : 'not queued')`,
	"a JSON beacon": `Promise.resolve(navigator.sendBeacon(URL + '/v1/t', new Blob([EVENT], {type: 'application/json'})) ? 'accepted' : 'not queued')`,
}

// TestPagesOfOtherOrigins has a real browser send events as SDKs and closing
// pages do, to a service that takes any origin and to one that lists the page's.
func TestPagesOfOtherOrigins(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>A shop</title>")
	}))
	defer page.Close()
	b := dashboardtest.Open(t)
	b.Go(page.URL)
	for name, flags := range map[string][]string{"any origin": nil, "a list": {"--origins", page.URL}} {
		s := serve(t, t.TempDir(), flags...)
		want := 0
		for what, script := range sends {
			event, err := json.Marshal(map[string]string{"type": "track", "event": "e", "userId": "u", "messageId": what, "writeKey": "key"})
			fatal.If(t, err)
			fatal.Same(t, b.JS(fmt.Sprintf(`(() => { const URL = %q, EVENT = %q; return %s.catch(String) })()`, s.public, event, script)), "accepted", "%s, %s", name, what)
			want++
		}
		process.Until(t, name+": all are kept", func() bool { return s.figure("ingest_log_records_total") == float64(want) })
	}
}
