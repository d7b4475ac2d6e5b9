package passthrough

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"whittle"
	"whittle/internal/fatal"
)

// heard is a request line and header as an upstream saw them on the wire.
type heard struct {
	line   string
	header []string
	body   string
}

// marked is the one field that the gateway adds in addition to who the client is; its
// value is another one in each process.
var marked = regexp.MustCompile(`^Cdn-Loop: whittle-[a-z2-7]{26}$`)

// wiretap is an upstream that notes each request as its bytes were, and responses
// them all alike.
func wiretap(t *testing.T, response string) (url string, last func() heard) {
	t.Helper()
	var mu sync.Mutex
	var got heard
	url = scripted(t, func(_ int, c net.Conn, r *bufio.Reader) {
		for {
			var h heard
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			h.line = strings.TrimSuffix(line, "\r\n")
			length := 0
			for {
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				if line == "\r\n" {
					break
				}
				h.header = append(h.header, marked.ReplaceAllString(strings.TrimSuffix(line, "\r\n"), "Cdn-Loop: MARK"))
				_, _ = fmt.Sscanf(line, "Content-Length: %d", &length)
			}
			body := make([]byte, length)
			if _, err := io.ReadFull(r, body); err != nil {
				return
			}
			h.body = string(body)
			mu.Lock()
			got = h
			mu.Unlock()
			_, _ = io.WriteString(c, response)
		}
	})
	return url, func() heard {
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}

const okResponse = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// TestTargetsPassByteForByte sends each without a body, and with one that is so long that
// net/http's transport sends it on in place of the lean client.
func TestTargetsPassByteForByte(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for method, body := range map[string]string{"GET": "", "DELETE": "", "PROPFIND": "", "POST": long} {
		url, last := wiretap(t, okResponse)
		g := through(t, url)
		framing := "\r\n"
		if body != "" {
			framing = "Content-Length: 10000\r\n\r\n"
		}
		for _, target := range []string{
			"/", "/a/b", "//", "//a//b/", "/a/../b/./c", "/%2e%2e/%2F/a%2fb", "/a%20b", "/ü", "/\xff\xfe", "//a?b", "//?",
			"/a?b=c&d", "/?", "/a??b", "/a;b=c?d;e", "/a?x=%zz&y=+", "/a|b\"<>^`{}\\", "/a:b@c", "/a|b?x=%zz|",
			"/a#b", "/" + strings.Repeat("long/", 1000), "/~'()!$&*,;=", "//a|b?c",
		} {
			if target == "//a|b?c" && body != "" {
				continue // net/http's transport escapes what no path may have behind "//"
			}
			response := raw(t, g.addr, method+" "+target+" HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"+framing+body)
			if want := method + " " + target + " HTTP/1.1"; !strings.HasPrefix(response, "HTTP/1.1 200") || last().line != want || last().body != body {
				t.Errorf("%s %q: answered %q, upstream saw %q with %d bytes", method, target, firstLine(response), last().line, len(last().body))
			}
		}
	}
}

func TestAbsoluteFormAndAsterisk(t *testing.T) {
	url, last := wiretap(t, okResponse)
	g := through(t, url)
	for target, want := range map[string]string{
		"GET http://h/a%2fb?c HTTP/1.1":  "GET /a%2fb?c HTTP/1.1",
		"GET http://h HTTP/1.1":          "GET / HTTP/1.1",
		"GET http://h?x HTTP/1.1":        "GET /?x HTTP/1.1",
		"OPTIONS * HTTP/1.1":             "OPTIONS * HTTP/1.1",
		"GET /http://other/x?y HTTP/1.1": "GET /http://other/x?y HTTP/1.1",
	} {
		response := raw(t, g.addr, target+"\r\nHost: h\r\nConnection: close\r\n\r\n")
		if !strings.HasPrefix(response, "HTTP/1.1 200") || last().line != want {
			t.Errorf("%s: answered %q, upstream saw %q, want %q", target, firstLine(response), last().line, want)
		}
	}
}

func TestHeadersPass(t *testing.T) {
	url, last := wiretap(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nSet-Cookie: a=1\r\nset-cookie: b=\"2\"; Path=/\r\n"+
		"X-Odd:   inner  spaces \t kept  \r\nX-Empty:\r\nX-Latin: caf\xe9\r\nConnection: X-Hop\r\nX-Hop: gone\r\nKeep-Alive: timeout=5\r\n"+
		"Folded: one\r\n  two\r\n\r\nok")
	for _, length := range []int{0, 10, 10_000} { // lean without and with a body, and net/http's transport
		g := through(t, url)
		response := raw(t, g.addr, "POST /p HTTP/1.1\r\nHost: Example.com:81\r\nConnection: close, X-Named\r\nX-Named: 1\r\n"+
			"X-Many: one\r\nx-many: two\r\nX-Odd:  a  b \r\nX-Empty:\r\nX-Latin: caf\xe9\r\nAccept-Encoding: br;q=1.0, gzip;q=0.8\r\nTE: trailers, gzip\r\nKeep-Alive: 300\r\n"+
			"Proxy-Authorization: x\r\nProxy-Connection: x\r\nForwarded: for=9.9.9.9\r\nX-Forwarded-For: 9.9.9.9\r\nX-Forwarded-Prefix: /x\r\nX-Real-IP: 9.9.9.9\r\n"+
			fmt.Sprintf("Content-Length: %d\r\n\r\n", length)+strings.Repeat("b", length))
		got := last()
		slices.Sort(got.header)
		want := []string{
			"Accept-Encoding: br;q=1.0, gzip;q=0.8", "Cdn-Loop: MARK",
			fmt.Sprintf("Content-Length: %d", length),
			`Forwarded: for=127.0.0.1;host="Example.com:81";proto=http`,
			"Host: Example.com:81", "Te: trailers", "X-Empty: ",
			"X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: Example.com:81", "X-Forwarded-Proto: http",
			"X-Latin: caf\xe9", "X-Many: one", "X-Many: two", "X-Odd: a  b",
		}
		if !slices.Equal(got.header, want) {
			t.Errorf("length %d: upstream saw\n%q\nwant\n%q", length, got.header, want)
		}
		fatal.Has(t, response, "\r\nSet-Cookie: a=1\r\n", "\r\nSet-Cookie: b=\"2\"; Path=/\r\n", "\r\nX-Odd: inner  spaces \t kept\r\n",
			"\r\nX-Empty: \r\n", "\r\nX-Latin: caf\xe9\r\n", "\r\nContent-Length: 2\r\n")
		for _, gone := range []string{"X-Hop", "Keep-Alive", "Content-Type", "X-Named"} {
			if strings.Contains(response, gone) {
				t.Errorf("length %d: the client got %s in\n%s", length, gone, response)
			}
		}
		if i := strings.Index(response, "Folded: one"); i < 0 || !strings.HasPrefix(strings.TrimLeft(response[i+len("Folded: one"):], " "), "two\r\n") {
			t.Errorf("length %d: a folded line did not become one in\n%s", length, response)
		}
		fatal.If(t, g.stop())
	}
}

func TestTrustedProxyIsAddedTo(t *testing.T) {
	url, last := wiretap(t, okResponse)
	g := through(t, url, func(o *options) {
		o.Trusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		o.Monolith.Host = whittle.HostOfURL
	})
	raw(t, g.addr, "GET / HTTP/1.1\r\nHost: inner\r\nConnection: close, X-Forwarded-For\r\nForwarded: for=1.1.1.1\r\nX-Forwarded-For: 1.1.1.1, 2.2.2.2\r\n"+
		"X-Forwarded-Host: outer\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Port: 443\r\nX-Real-IP: 1.1.1.1\r\n\r\n")
	got := last().header
	slices.Sort(got)
	want := []string{
		"Cdn-Loop: MARK",
		"Forwarded: for=1.1.1.1, for=127.0.0.1;host=inner;proto=http",
		"Host: " + strings.TrimPrefix(url, "http://"),
		"X-Forwarded-For: 1.1.1.1, 2.2.2.2, 127.0.0.1", "X-Forwarded-Host: outer", "X-Forwarded-Port: 443",
		"X-Forwarded-Proto: https", "X-Real-Ip: 1.1.1.1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("upstream saw\n%q\nwant\n%q", got, want)
	}
	// An empty line is no address: many frameworks take what is before the first comma.
	raw(t, g.addr, "GET / HTTP/1.1\r\nHost: inner\r\nConnection: close\r\nX-Forwarded-For:\r\nX-Forwarded-For: 1.1.1.1\r\nForwarded: \r\n\r\n")
	for _, want := range []string{"X-Forwarded-For: 1.1.1.1, 127.0.0.1", "Forwarded: for=127.0.0.1;host=inner;proto=http"} {
		if got := last().header; !slices.Contains(got, want) {
			t.Errorf("upstream saw %q, want %s", got, want)
		}
	}
}

func TestUpstreamPathPrefix(t *testing.T) {
	url, last := wiretap(t, okResponse)
	g := through(t, url+"/base/")
	raw(t, g.addr, "GET //x?y HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
	if want := "GET /base//x?y HTTP/1.1"; last().line != want {
		t.Errorf("upstream saw %q, want %q", last().line, want)
	}
}

func TestBodiesPassByteForByte(t *testing.T) {
	u := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("upstream reads body: %v", err)
		}
		if r.URL.Query().Get("chunked") != "" {
			w.(http.Flusher).Flush()
		}
		_, _ = w.Write(body)
	})
	g := through(t, u.URL)
	c := client(t)
	rnd := rand.NewChaCha8([32]byte{1})
	for _, size := range []int{0, 1, 4095, 4096, 4097, 8191, 8192, 8193, 65_536, 1 << 20, 5<<20 + 3} {
		sent := make([]byte, size)
		_, _ = rnd.Read(sent)
		for _, query := range []string{"", "?chunked=1"} {
			for _, known := range []bool{true, false} {
				var body io.Reader = bytes.NewReader(sent)
				if !known {
					body = io.MultiReader(body)
				}
				resp, err := c.Post(g.url("/echo"+query), "application/octet-stream", body)
				fatal.If(t, err)
				got := mustRead(t, resp.Body)
				if sha256.Sum256([]byte(got)) != sha256.Sum256(sent) {
					t.Errorf("size %d known %v %s: %d bytes came back, and not the same", size, known, query, len(got))
				}
			}
		}
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\r\n")
	return line
}
