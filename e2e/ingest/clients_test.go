package ingest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"whittle/internal/checkout"
	"whittle/internal/filelock"
	"whittle/internal/needs"

	"github.com/chromedp/chromedp"
)

// installed gives a folder of .cache in which a command has installed a client's
// packages; files are what the command reads. What cannot be installed here is
// listed as not tried. Nothing of it is part of make deps.
func installed(t *testing.T, what, remedy string, files []string, command ...string) string {
	t.Helper()
	sum := sha256.New()
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join("clients", f))
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(b)
	}
	root := checkout.Root()
	if root == "" {
		root = t.TempDir()
	}
	cache := filepath.Join(root, ".cache", "ingest-clients")
	dir := filepath.Join(cache, fmt.Sprintf("%s-%x", files[0], sum.Sum(nil)[:6]))
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(filepath.Join(cache, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	within(t, "another test's installation", func() bool { return filelock.Hold(lock) == nil })
	if _, err := os.Stat(filepath.Join(dir, "installed")); err == nil {
		return dir
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join("clients", f))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, f), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Logf("%s: %v\n%s", strings.Join(command, " "), err, out)
		needs.Missing(t, what, remedy)
	}
	if err := os.WriteFile(filepath.Join(dir, "installed"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func nodeClients(t *testing.T) string {
	t.Helper()
	needs.Tool(t, "RudderStack's SDKs", "apt-get install nodejs npm", "npm")
	return installed(t, "RudderStack's SDKs", "let npm reach its registry", []string{"package.json", "package-lock.json", ".npmrc"},
		"npm", "ci", "--silent", "--no-audit", "--no-fund")
}

// pythonClients has one environment with both SDKs and AWS's library for KPL records.
func pythonClients(t *testing.T, python string) string {
	t.Helper()
	return installed(t, "packages of Python clients", "let pip reach its index (apt-get install python3-venv)", []string{"requirements.txt"},
		"sh", "-c", python+" -m venv env && env/bin/pip install --quiet --disable-pip-version-check -r requirements.txt")
}

// keyed starts the service with one write key.
func keyed(t *testing.T, data string, flags ...string) *service {
	t.Helper()
	keys := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte("key-of-the-test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return serve(t, data, append([]string{"--keys", keys}, flags...)...)
}

// arrived holds what a client sent: so many events of each kind, each once, with
// its text as it was.
func arrived(t *testing.T, data string, want map[string]int) {
	t.Helper()
	kinds, ids := map[string]int{}, map[string]bool{}
	for _, e := range entries(t, data) {
		var event struct {
			Type, MessageID, UserID, AnonymousID string
			Properties                           struct {
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
		if event.Properties.N != nil && event.Properties.Text != "größer ✓" {
			t.Errorf("the text became %q", event.Properties.Text)
		}
		if e.Key == "" || e.Key != event.UserID && e.Key != event.AnonymousID {
			t.Errorf("the key of %s is %q", e.Value, e.Key)
		}
	}
	if fmt.Sprint(kinds) != fmt.Sprint(want) {
		t.Errorf("arrived %v, want %v", kinds, want)
	}
}

// TestRudderStacksNodeSDK sends its gzip as a form, and ends its process where a
// response is no success.
func TestRudderStacksNodeSDK(t *testing.T) {
	node, modules := needs.Node(t), nodeClients(t)
	data := t.TempDir()
	s := keyed(t, data)
	out, err := exec.CommandContext(t.Context(), node, "clients/rudder.js", filepath.Join(modules, "node_modules"), s.public, "key-of-the-test", "200").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, out, s.stderr)
	}
	s.kill()
	arrived(t, data, map[string]int{"identify": 1, "track": 200})
}

// TestRudderStacksBrowserSDK sends from a page of another origin, with a header
// of its own that a preflight asks for, and by beacons.
func TestRudderStacksBrowserSDK(t *testing.T) {
	ctx := browser(t)
	modules := nodeClients(t)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/sdk.js":
			http.ServeFile(w, r, filepath.Join(modules, "node_modules/@rudderstack/analytics-js/dist/npm/modern/bundled/umd/index.js"))
		case strings.HasPrefix(r.URL.Path, "/sourceConfig"):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"source":{"id":"s","name":"shop","writeKey":"key-of-the-test","enabled":true,"workspaceId":"w","config":{},"destinations":[]}}`)
		default:
			http.ServeFile(w, r, "clients/rudder.html")
		}
	}))
	defer page.Close()
	for _, beacon := range []string{"0", "1"} {
		data := t.TempDir()
		s := keyed(t, data)
		if err := chromedp.Do(ctx, chromedp.Navigate(page.URL+"/page?beacon="+beacon+"&url="+s.public)); err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"identify": 1, "track": 5}
		within(t, "beacon="+beacon+": all are kept", func() bool { return s.figure("ingest_log_records_total") >= 6 })
		s.kill()
		arrived(t, data, want)
	}
}

// TestSegmentsBrowserSDK sends from a page of another origin, event by event, and as
// a batch when the page is left, with settings that the service itself gives.
func TestSegmentsBrowserSDK(t *testing.T) {
	ctx := browser(t)
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
		if err := chromedp.Do(ctx, chromedp.Navigate(page.URL+"/page?batching="+batching+"&url="+s.public)); err != nil {
			t.Fatal(err)
		}
		within(t, "batching="+batching+": the SDK has taken all", func() bool {
			state, err := chromedp.Run(ctx, chromedp.Evaluate[string]("window.state"))
			if err != nil || state != "sent" && state != "loading" {
				t.Fatalf("%s, %v", state, err)
			}
			return state == "sent"
		})
		if err := chromedp.Do(ctx, chromedp.Navigate(page.URL+"/another")); err != nil {
			t.Fatal(err)
		}
		within(t, "batching="+batching+": all are kept", func() bool { return s.figure("ingest_log_records_total") >= 6 })
		s.kill()
		arrived(t, data, map[string]int{"identify": 1, "track": 5})
	}
}

// TestSegmentsPythonSDK sends a NaN among its events: that one is rejected with
// its place, and is a dead letter.
func TestSegmentsPythonSDK(t *testing.T) {
	python := needs.Tool(t, "Segment's Python SDK", "apt-get install python3 python3-venv", "python3")
	env := pythonClients(t, python)
	for _, gzip := range [][]string{nil, {"gzip"}} {
		data := t.TempDir()
		s := keyed(t, data)
		args := append([]string{"clients/send.py", s.public, "key-of-the-test", "150"}, gzip...)
		out, err := exec.CommandContext(t.Context(), filepath.Join(env, "env/bin/python"), args...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "NaN is none of its values") {
			t.Fatalf("%v: %s\n%s", err, out, s.stderr)
		}
		s.kill()
		arrived(t, data, map[string]int{"identify": 1, "track": 149})
		if dead := entries(t, filepath.Join(data, "dead")); len(dead) != 1 || !strings.Contains(string(dead[0].Value), `"price": NaN`) {
			t.Errorf("the dead letters are %+v", dead)
		}
	}
}

// installedJars is installed for a Java program: its jars, and the program compiled.
func installedJars(t *testing.T, what, pom, program string) (dir string) {
	t.Helper()
	return installed(t, what, "let Maven reach its central repository", []string{pom, program},
		"sh", "-c", "mvn --quiet --batch-mode --strict-checksums -f "+pom+" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DoutputDirectory=jars"+
			" && javac -encoding UTF-8 -cp 'jars/*' "+program)
}

// javaArgs run one of them in a JVM that starts fast.
func javaArgs(dir, class string) []string {
	return []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", dir + string(filepath.ListSeparator) + filepath.Join(dir, "jars", "*"), class}
}

func TestSegmentsJavaSDK(t *testing.T) {
	java := needs.Tool(t, "Segment's Java SDK", "apt-get install default-jdk-headless maven", "java")
	needs.Tool(t, "Segment's Java SDK", "apt-get install maven", "mvn")
	jars := installedJars(t, "Segment's Java SDK", "pom.xml", "Send.java")
	data := t.TempDir()
	s := keyed(t, data)
	out, err := exec.CommandContext(t.Context(), java, append(javaArgs(jars, "Send"), s.public, "key-of-the-test", "100")...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, out, s.stderr)
	}
	s.kill()
	arrived(t, data, map[string]int{"identify": 1, "track": 100})
}

// TestRudderStacksPythonSDK sends plain and gzipped JSON.
func TestRudderStacksPythonSDK(t *testing.T) {
	python := needs.Tool(t, "RudderStack's Python SDK", "apt-get install python3 python3-venv", "python3")
	env := pythonClients(t, python)
	sendsAll(t, filepath.Join(env, "env/bin/python"), "clients/rudder.py")
}

// TestRudderStacksJavaSDK sends plain and gzipped JSON.
func TestRudderStacksJavaSDK(t *testing.T) {
	java := needs.Tool(t, "RudderStack's Java SDK", "apt-get install default-jdk-headless maven", "java")
	needs.Tool(t, "RudderStack's Java SDK", "apt-get install maven", "mvn")
	jars := installedJars(t, "RudderStack's Java SDK", "rudder.xml", "SendRudder.java")
	sendsAll(t, append([]string{java}, javaArgs(jars, "SendRudder")...)...)
}

// sendsAll runs a client that takes URL, KEY, COUNT and perhaps gzip, both ways.
func sendsAll(t *testing.T, client ...string) {
	t.Helper()
	for _, gzip := range [][]string{nil, {"gzip"}} {
		data := t.TempDir()
		s := keyed(t, data)
		args := append(append(client[1:len(client):len(client)], s.public, "key-of-the-test", "100"), gzip...)
		if out, err := exec.CommandContext(t.Context(), client[0], args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s\n%s", err, out, s.stderr)
		}
		s.kill()
		arrived(t, data, map[string]int{"identify": 1, "track": 100})
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
		out, err := exec.CommandContext(t.Context(), curl, append([]string{"-sS", "--fail-with-body"}, args...)...).CombinedOutput()
		if err != nil {
			t.Errorf("curl %q: %v: %s", args, err, out)
		}
		if again := i == 1 || i == 3; strings.Contains(string(out), `"duplicate"`) != again && !strings.Contains(string(out), `"events"`) {
			t.Errorf("curl %q: %s", args, out)
		}
	}
	s.kill()
	if n := len(entries(t, data)); n != 8 {
		t.Errorf("%d records", n)
	}
}
