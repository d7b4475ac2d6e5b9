package front

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"whittle"
	"whittle/internal/fatal"
	"whittle/systems/ingest/stream"
)

func TestEveryRouteTakesEvents(t *testing.T) {
	s := serve(t, nil)
	for path, kind := range routes {
		body := fmt.Sprintf(`{"event":"e","userId":"u","groupId":"g","previousId":"p","messageId":"one%s"}`, strings.ReplaceAll(path, "/", "-"))
		if kind == "batch" {
			body = `{"batch":[` + strings.Replace(body, "{", `{"type":"track",`, 1) + `]}`
		}
		a := s.post(path, body, "Content-Type: application/json")
		if a.code != 200 || !a.Success || a.Status != "accepted" || a.Durability != "local-fsync" || a.V != 1 {
			t.Errorf("%s: %d %s", path, a.code, a.text)
		}
	}
	fatal.Same(t, len(s.stream.records()), len(routes), "records")
}

func TestImportKeepsBodyAndMetadata(t *testing.T) {
	s := serve(t, nil)
	body := "\x00\xff any bytes \r\n"
	a := s.post("/import", body, "Content-Type: application/octet-stream", "X-Trace: t1", "Accept-Language: de",
		"Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("key:")), "Cookie: secret=1", "X-Api-Key: secret",
		"Connection: X-Hop", "X-Hop: 1", "Source: forged", "Headers-Missing: 7")
	if a.code != 200 || a.Position != "0/0" || len(a.MessageID) != 32 {
		t.Fatalf("%d %s", a.code, a.text)
	}
	r := s.stream.records()[0]
	if string(r.Value) != body || !r.Intact() || r.ID != a.MessageID {
		t.Errorf("kept %q as %s", r.Value, r.ID)
	}
	for name, want := range map[string]string{
		"kind": "import", "client-address": "127.0.0.1", "x-trace": "t1", "accept-language": "de",
		"content-type": "application/octet-stream", "source": "2c70e12b7a0646f9",
		"authorization": "", "cookie": "", "x-api-key": "", "x-hop": "", "headers-missing": "", "connection": "", "content-length": "",
	} {
		fatal.Same(t, r.Get(name), want, "%s", name)
	}
}

// TestMetadataIsBounded, and the record and the metrics say of how many headers it is
// without.
func TestMetadataIsBounded(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := serve(t, func(o *Options) { o.Metrics = registry })
	missing := func(r stream.Record) int {
		n, _ := strconv.Atoi(r.Get(HeaderMissing))
		return n
	}
	lines := []string{"Content-Type: text/csv"}
	for i := range 100 {
		lines = append(lines, fmt.Sprintf("X-%03d: v", i))
	}
	if a := s.post("/import", "a,b", lines...); a.code != 200 {
		t.Fatalf("%d %s", a.code, a.text)
	}
	first := s.stream.records()[0]
	fatal.Same(t, len(first.Header), maxMetadata+1, "headers kept")
	// The kind, the address and what is missing are not the client's; Host and User-Agent are, where they are sent.
	if got := len(first.Header) - 3 + missing(first); got < 101 || got > 103 {
		t.Errorf("%d are kept or missing of 101", got)
	}
	if a := s.post("/import", "a,b", "X-Long: "+strings.Repeat("v", 9000)); a.code != 200 {
		t.Fatalf("%d %s", a.code, a.text)
	}
	second := s.stream.records()[1]
	if second.Get("x-long") != "" || missing(second) != 1 {
		t.Errorf("of a header of 9,000 bytes: %q is kept, %d are missing", second.Get("x-long"), missing(second))
	}
	fatal.Same(t, testutil.ToFloat64(s.front.metrics.missing), float64(missing(first)+1), "headers counted as missing")
	if n, err := testutil.GatherAndCount(registry, "ingest_import_headers_missing_total"); n != 1 || err != nil {
		t.Errorf("the metrics name it %d times, %v", n, err)
	}
}

// TestRefusedWithoutReading finds that what is too large, or has no room, is
// refused while its body has not been sent, and that 100 Continue is sent only for what is taken.
func TestRefusedWithoutReading(t *testing.T) {
	s := serve(t, nil)
	room := s.stream.Capacity()
	request := "POST /import HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n"
	if got := s.wire(fmt.Sprintf(request, 1<<40)); !strings.HasPrefix(got, "HTTP/1.1 413 ") {
		t.Errorf("too large: %q", got)
	}
	s.stream.setCapacity(stream.Capacity{Free: 10_000, Rate: 1000})
	if got := s.wire(fmt.Sprintf(request, 100_000)); !strings.HasPrefix(got, "HTTP/1.1 429 ") || !strings.Contains(got, "Retry-After: 60\r\n") {
		t.Errorf("no room: %q", got)
	}
	s.stream.setCapacity(stream.Capacity{Err: whittle.Errorf(whittle.ResourceExhausted, "the disk is full")})
	if got := s.wire(fmt.Sprintf(request, 10)); !strings.HasPrefix(got, "HTTP/1.1 503 ") || strings.Contains(got, "disk") {
		t.Errorf("full: %q", got)
	}
	if s.front.Ready() == nil {
		t.Error("ready on a full disk")
	}
	s.stream.setCapacity(room)
	if got := s.wire(fmt.Sprintf(request, 2) + "hi"); !strings.HasPrefix(got, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n") {
		t.Errorf("taken: %q", got)
	}
	fatal.Same(t, s.send("GET", "/import", nil).header.Get("Allow"), "POST, OPTIONS", "Allow")
}

func keysFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys")
	fatal.If(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestWriteKeys(t *testing.T) {
	path := keysFile(t, "# tenants\nkey1 # the shop\n\nkey2\n")
	keys, err := ReadKeys(path)
	fatal.If(t, err)
	s := serve(t, func(o *Options) { o.Keys = keys })
	basic := func(user string) string {
		return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user))
	}
	keyed := strings.Replace(track, "{", `{"writeKey":"key2",`, 1)
	cases := []struct {
		name, path, body string
		line             string
		want             int
	}{
		{"Basic", "/v1/track", track, basic("key1:"), 200},
		{"Basic with a password", "/v1/track", track, basic("key1:x"), 200},
		{"bearer", "/v1/track", track, "Authorization: bearer key1", 200},
		{"in the body", "/v1/track", keyed, "X-None: 1", 200},
		{"in the batch", "/v1/batch", `{"writeKey":"key1","batch":[` + track + `]}`, "X-None: 1", 200},
		{"in the query", "/v1/track?writeKey=key1", track, "Content-Type: text/plain", 200},
		{"none", "/v1/track", track, "X-None: 1", 401},
		{"unknown by Basic", "/v1/track", track, basic("key3:"), 401},
		{"unknown in the query", "/v1/track?writeKey=key3", track, "X-None: 1", 401},
		{"unknown in the body", "/v1/track", strings.Replace(keyed, "key2", "key3", 1), "X-None: 1", 401},
		{"prefix of a key", "/v1/track", track, basic("key:"), 401},
		{"Basic wrong, body right", "/v1/track", keyed, basic("key3:"), 401},
		{"raw with a key", "/import", "x", basic("key2:"), 200},
		{"raw without", "/import", "x", "X-None: 1", 401},
		{"raw JSON without", "/import", `{"writeKey":"key1"}`, "Content-Type: application/json", 401},
		{"key that begins like the scheme", "/v1/track", track, basic("Basic Bc:"), 401},
	}
	for _, c := range cases {
		a := s.post(c.path, c.body, c.line)
		fatal.Same(t, a.code, c.want, "%s: %s", c.name, a.text)
		if a.code == 401 && a.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: no challenge", c.name)
		}
	}
	fatal.If(t, os.WriteFile(path, []byte("key3\n"), 0o600))
	fatal.If(t, keys.Reload())
	fatal.If(t, os.WriteFile(path, nil, 0o600))
	if keys.Reload() == nil {
		t.Error("an emptied file is taken")
	}
	for user, want := range map[string]int{"key3:": 200, "key1:": 401, ":": 401} {
		if a := s.post("/v1/track", track, basic(user)); a.code != want {
			t.Errorf("after a reload %s: %d, want %d", user, a.code, want)
		}
	}
}

func TestCORS(t *testing.T) {
	s := serve(t, nil)
	a := s.send("OPTIONS", "/v1/batch", nil, "Origin: https://a.example", "Access-Control-Request-Method: POST")
	if a.code != 204 || a.header.Get("Access-Control-Allow-Origin") != "https://a.example" ||
		a.header.Get("Access-Control-Allow-Credentials") != "true" || !strings.Contains(a.header.Get("Access-Control-Allow-Headers"), "Authorization") {
		t.Errorf("preflight: %d %v", a.code, a.header)
	}
	if a := s.post("/v1/track", track, "Origin: https://a.example"); a.header.Get("Access-Control-Allow-Origin") != "https://a.example" {
		t.Errorf("post: %v", a.header)
	}
	only := serve(t, func(o *Options) { o.Origins = []string{"https://a.example"} })
	for origin, want := range map[string]string{"https://a.example": "https://a.example", "https://b.example": "", "null": ""} {
		pre := only.send("OPTIONS", "/v1/t", nil, "Origin: "+origin, "Access-Control-Request-Method: POST")
		if pre.code != 204 || pre.header.Get("Access-Control-Allow-Origin") != want ||
			(pre.header.Get("Access-Control-Allow-Methods") != "") != (want != "") ||
			(pre.header.Get("Access-Control-Allow-Credentials") != "") != (want != "") {
			t.Errorf("preflight from %s: %v", origin, pre.header)
		}
		if a := only.post("/v1/t", track, "Origin: "+origin); a.code != 200 || a.header.Get("Access-Control-Allow-Origin") != want || a.header.Get("Vary") != "Origin" {
			t.Errorf("post from %s: %d %v", origin, a.code, a.header)
		}
	}
	for _, bad := range []string{"example.com", "https://example.com/", "https://", "https://u@example.com/x"} {
		if _, err := New(Options{Stream: newDouble(), Origins: []string{bad}}); err == nil {
			t.Errorf("%q is taken for an origin", bad)
		}
	}
}

func TestClientAddress(t *testing.T) {
	for _, c := range []struct {
		proxies, forwarded, want string
	}{
		{"", "1.2.3.4", "127.0.0.1"},
		{"127.0.0.0/8", "1.2.3.4", "1.2.3.4"},
		{"127.0.0.0/8", "6.6.6.6, 1.2.3.4", "1.2.3.4"},
		{"127.0.0.0/8 10.0.0.0/8", "6.6.6.6, 1.2.3.4, 10.1.1.1", "1.2.3.4"},
		{"127.0.0.0/8", "nonsense", "127.0.0.1"},
		{"127.0.0.0/8", "::ffff:1.2.3.4", "1.2.3.4"},
	} {
		s := serve(t, func(o *Options) {
			for _, proxy := range strings.Fields(c.proxies) {
				o.Proxies = append(o.Proxies, netip.MustParsePrefix(proxy))
			}
		})
		s.post("/import", "x", "X-Forwarded-For: "+c.forwarded)
		fatal.Same(t, s.stream.records()[0].Get(HeaderAddress), c.want, "%q by %q", c.forwarded, c.proxies)
	}
}
