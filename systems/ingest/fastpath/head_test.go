package fastpath

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"whittle/internal/http1/smuggling"
)

// FuzzHead holds the fast path to net/http's reading: whatever head the fast path takes,
// http.ReadRequest takes, as the same request with the same body and the same
// bytes behind it. Two readings of one request are what smuggling lives on.
func FuzzHead(f *testing.F) {
	for _, text := range []string{
		post("/import", "hello", "Connection: keep-alive", "Content-Type: application/json") + post("/", "x"),
		post("/v1/t?writeKey=k", "x", "X-A:  b \t", "x-a: c"),
		post("/a?", "x"), post("//a", "x"), post("/a;b", "x"), post("/./..", "x"),
		post("/a", "x", "Content-Length: 1"), post("/a", "x", "Transfer-Encoding: chunked"),
		post("/a", "x", "Host: y"), post("/a", "x", " folded"), post("/a", "x", "X: \r"),
		post("/a", "x", "Pragma: no-cache"), post("/a", "x", "Trailer: X"), post("/a", "x", "Connection: close"),
		"POST / HTTP/1.1\r\nHost:[::1]:80\r\nContent-Length:1\r\n\r\nx", "POST / HTTP/1.1\nHost: x\n\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 00\r\n\r\n", "\r\nPOST / HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		f.Add([]byte(text))
	}
	for _, c := range smuggling.Cases("request") {
		f.Add([]byte(c.Message))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var h head
		n, odd := h.endOf(b)
		if n == 0 || odd || !h.read(b[:n]) {
			return
		}
		rest := bufio.NewReader(bytes.NewReader(b))
		want, err := http.ReadRequest(rest)
		if err != nil {
			t.Fatalf("net/http refuses %q: %v", b, err)
		}
		if want.Method != http.MethodPost || want.Proto != "HTTP/1.1" || want.Close || want.TransferEncoding != nil || want.Trailer != nil ||
			want.RequestURI != h.target || !reflect.DeepEqual(*want.URL, h.url) || want.Host != h.host ||
			!reflect.DeepEqual(want.Header, h.header) || want.ContentLength != int64(h.length) {
			t.Fatalf("%q is %+v to net/http, and %+v here", b, want, h)
		}
		body, _ := io.ReadAll(want.Body)
		end := min(len(b), n+h.length)
		if !bytes.Equal(body, b[n:end]) {
			t.Fatalf("%q has the body %q to net/http, and %q here", b, body, b[n:end])
		}
		if n+h.length <= len(b) {
			if behind, _ := io.ReadAll(rest); !bytes.Equal(behind, b[end:]) {
				t.Fatalf("%q goes on with %q to net/http, and %q here", b, behind, b[end:])
			}
		}
		// The same head again is known by its bytes; another one is read afresh.
		before := h
		before.header = h.header.Clone()
		if m, odd := h.endOf(b); m != n || odd || !h.read(b[:n]) || h.target != before.target || !reflect.DeepEqual(h.header, before.header) {
			t.Fatalf("%q is another one the second time", b)
		}
		other := []byte(post("/other", "abc", "X-Other: 1"))
		m, odd := h.endOf(other)
		if m != len(other)-3 || odd || !h.read(other[:m]) || h.length != 3 || h.target != "/other" || len(h.header) != 2 {
			t.Fatalf("behind %q the next head is read as %+v", b, h)
		}
	})
}

// TestEndOfHead says what is waited for, and what goes to net/http at once.
func TestEndOfHead(t *testing.T) {
	full := post("/a", "")
	for text, want := range map[string]struct {
		n   int
		odd bool
	}{
		"": {}, "P": {}, "POST": {}, "POST /a HTTP/1.1\r": {}, full[:len(full)-1]: {},
		full: {n: len(full)}, full + "body": {n: len(full)},
		"G": {odd: true}, "POSTS": {odd: true}, "POST a": {odd: true}, "\r\n": {odd: true},
		"POST / HTTP/1.1\n": {odd: true}, "POST / HTTP/1.1\r\nHost: x\n": {odd: true},
	} {
		var h head
		if n, odd := h.endOf([]byte(text)); n != want.n || odd != want.odd {
			t.Errorf("%q: %d, %v", text, n, odd)
		}
	}
}

// TestFieldsAreBounded finds that an idle connection keeps no memory of a head
// with hundreds of fields.
func TestFieldsAreBounded(t *testing.T) {
	var lines []string
	for n := 2; n <= maxFields+1; n++ { // Host and Content-Length come first
		var h head
		text := []byte(post("/a", "x", lines...))
		end, odd := h.endOf(text)
		if got := !odd && end == len(text)-1 && h.read(text[:end]); got != (n <= maxFields) {
			t.Fatalf("with %d fields: %v", n, got)
		}
		lines = append(lines, fmt.Sprintf("X-%d: v", n))
	}
}

// TestKnownHeadAfterPartOfIt finds that a head which came in two pieces, and was
// known by its bytes in the end, leaves nothing behind for the next one.
func TestKnownHeadAfterPartOfIt(t *testing.T) {
	var h head
	for _, path := range []string{"/a", "/a", "/b"} {
		text := []byte(post(path, "x", "X: y"))
		if n, odd := h.endOf(text[:20]); n != 0 || odd {
			t.Fatalf("%s: a part is read as %d, %v", path, n, odd)
		}
		n, odd := h.endOf(text)
		if n != len(text)-1 || odd || !h.read(text[:n]) || h.target != path {
			t.Fatalf("%s is read as %d, %v, %+v", path, n, odd, h)
		}
	}
	if n, odd := h.endOf([]byte(post("/b", "x", "X: y"))[:20]); n != 0 || odd {
		t.Fatal(n, odd)
	}
	known := []byte(post("/b", "x", "X: y"))
	other := []byte(post("/longer", "x"))
	if n, odd := h.endOf(known); odd || !h.read(known[:n]) {
		t.Fatal("the known head is odd")
	}
	if n, odd := h.endOf(other); odd || !h.read(other[:n]) || h.target != "/longer" {
		t.Fatalf("behind it, another is read as %+v", h)
	}
}

func BenchmarkHead(b *testing.B) {
	lines := []string{"User-Agent: analytics", "Accept: */*", "Content-Type: application/json", "Authorization: Basic a2V5Og=="}
	one := []byte(post("/v1/track", strings.Repeat("x", 1000), lines...))
	other := []byte(post("/v1/track", strings.Repeat("x", 1001), lines...))
	for name, next := range map[string][]byte{"same": one, "another": other} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var h head
			for b.Loop() {
				for _, text := range [][]byte{one, next} {
					if n, odd := h.endOf(text); odd || !h.read(text[:n]) {
						b.Fatal("odd")
					}
				}
			}
		})
	}
}
