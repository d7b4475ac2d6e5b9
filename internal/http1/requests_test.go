package http1

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"whittle/internal/fatal"
	"whittle/internal/http1/smugglingtest"
)

// several is what a client sends on one connection: requests of each framing, the last
// one's head cut off.
const several = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n" +
	"POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello" +
	"POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n" +
	"POST /d HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" +
	"GET /e HTTP/1.1\r\nHo"

// followed gives the targets of the heads that Requests sees in text, which comes in pieces,
// each with how many bytes were taken until its head was whole, and how many bytes were
// taken in all.
func followed(t *testing.T, r *Requests, pieces ...string) (targets []string, ends []int, taken int, err error) {
	t.Helper()
	for _, in := range pieces {
		for in != "" {
			begun := !r.Body.Done()
			n, head, err := r.Next([]byte(in))
			if n < 0 || n > len(in) || n == 0 && err == nil {
				t.Fatalf("%d bytes of %q were taken, %v", n, in, err)
			}
			taken += n
			if head {
				if begun {
					t.Errorf("a head within a body, at %d", taken)
				}
				targets, ends = append(targets, string(r.Head.Target())), append(ends, taken)
				r.Forget(8)
			}
			if err != nil {
				return targets, ends, taken, err
			}
			in = in[n:]
		}
	}
	return targets, ends, taken, nil
}

// TestRequestsInPieces: wherever what a client sends is cut, in one place, in two, or at
// each byte, the heads are the same and end where they end, and nothing is taken twice.
func TestRequestsInPieces(t *testing.T) {
	var want []int
	for at, rest := 0, several; ; {
		i := strings.Index(rest, "HTTP/1.1\r\n")
		if i < 0 || !strings.Contains(rest[i:], "\r\n\r\n") {
			break
		}
		end := i + strings.Index(rest[i:], "\r\n\r\n") + 4
		at, rest = at+end, rest[end:]
		want = append(want, at)
	}
	look := func(pieces ...string) {
		t.Helper()
		r := &Requests{}
		targets, ends, taken, err := followed(t, r, pieces...)
		if got := strings.Join(targets, " "); got != "/a /b /c /d" || err != nil || taken != len(several) {
			t.Fatalf("%q: targets %q, %d of %d bytes taken, %v", pieces, got, taken, len(several), err)
		}
		for i, end := range ends {
			if end != want[i] {
				t.Fatalf("%q: head %d ends at %d, want %d", pieces, i, end, want[i])
			}
		}
		if got := string(r.Part()); got != "GET /e HTTP/1.1\r\nHo" || !r.Body.Done() {
			t.Fatalf("%q: the part is %q", pieces, got)
		}
	}
	look(strings.Split(several, "")...)
	for a := range len(several) {
		look(several[:a], several[a:])
		for b := a; b < len(several); b += 7 {
			look(several[:a], several[a:b], several[b:])
		}
	}
}

// TestRequestsKeepNothingOfABody: of a body in work no byte is kept, of a trailer section
// that is cut off its own are, and a body's trailer is gone with it.
func TestRequestsKeepNothingOfABody(t *testing.T) {
	r := &Requests{}
	const head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
	if _, _, taken, err := followed(t, r, head+"5\r\nab", "cde\r\n"); err != nil || taken != len(head)+10 || len(r.Part()) != 0 || r.Body.Done() {
		t.Errorf("%d bytes taken, %v; part %q", taken, err, r.Part())
	}
	if _, _, _, err := followed(t, r, "0\r\nX-Sum: 1\r\nX-"); err != nil || r.Body.Done() || !strings.HasSuffix(string(r.Part()), "X-") {
		t.Errorf("%v; part %q", err, r.Part())
	}
	if _, _, _, err := followed(t, r, "More: 2\r\n\r\n"); err != nil || !r.Body.Done() || len(r.Part()) != 0 || r.Body.Trailer().Len() != 0 {
		t.Errorf("%v; part %q, %d fields of a trailer", err, r.Part(), r.Body.Trailer().Len())
	}
}

// TestRequestsRefuse: what comes before a refused line or byte is taken, whatever of it came
// before, and no head is whole then.
func TestRequestsRefuse(t *testing.T) {
	const ok, chunked = "GET /a HTTP/1.1\r\nHost: h\r\n", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, c := range []struct {
		name, text string
		good       int
		heads      int
	}{
		{"a field", ok + "no colon\r\n\r\n", len(ok), 0},
		{"a request line", "GET\r\n\r\n", 0, 0},
		{"a chunk's size", chunked + "2\r\nab\r\nx\r\n", len(chunked) + 7, 1},
		{"a second head", ok + "\r\n" + "GET\r\n\r\n", len(ok) + 2, 1},
	} {
		for cut := range len(c.text) {
			r, want := &Requests{}, c.good
			targets, _, taken, err := followed(t, r, c.text[:cut])
			if err == nil { // nothing was wrong yet, so all of it was taken
				var more []string
				var rest int
				more, _, rest, err = followed(t, r, c.text[cut:])
				targets, taken, want = append(targets, more...), taken+rest, max(want, cut)
			}
			if err == nil || len(targets) != c.heads || taken != want {
				t.Errorf("%s, cut at %d: %d taken, %d heads, %v; want %d and %d", c.name, cut, taken, len(targets), err, want, c.heads)
			}
		}
	}
}

const (
	benchRequest = "POST /v1/track HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: analytics\r\nAccept: */*\r\n" +
		"Content-Type: application/json\r\nAuthorization: Basic a2V5Og==\r\nContent-Length: 1000\r\n\r\n"
	benchResponse = "HTTP/1.1 200 OK\r\nDate: Mon, 23 Nov 2026 00:00:00 GMT\r\nContent-Type: application/json\r\n" +
		"Cache-Control: no-store\r\nX-Request-Id: 0123456789abcdef0123456789abcdef\r\nContent-Length: 27\r\n\r\n"
)

// With50Fields is what a browser behind several proxies sends.
func with50Fields() string {
	return strings.TrimSuffix(benchRequest, "\r\n") + strings.Repeat("X-Some-Header: a value of usual length, 40 bytes or so\r\n", 44) + "\r\n"
}

var update = flag.Bool("update", false, "write what net/http does to smuggling/cases.json")

// TestSmuggling holds every row to its status, whole and byte by byte, and to
// what net/http does with it. A row that net/http accepts and this package
// refuses is where this package is stricter; there is no other list.
func TestSmuggling(t *testing.T) {
	rows := smugglingtest.Cases("")
	if len(rows) < 100 {
		t.Fatalf("%d cases", len(rows))
	}
	for i := range rows {
		row := &rows[i]
		read, theirs := readRequest, netHTTPServer
		if row.Side == "response" {
			read, theirs = readResponse, netHTTPClient
		}
		for _, step := range []int{len(row.Message), 1, 7} {
			got := read([]byte(row.Message), step, 0)
			fatal.Same(t, statusOf(got.err), row.Status, "%s %q by %d: %v: status", row.Side, row.Name, step, got.err)
		}
		verdict := "refuses"
		if theirs(t, row.Message) {
			verdict = "accepts"
		}
		if *update {
			row.NetHTTP = verdict
		}
		fatal.Same(t, row.NetHTTP, verdict, "%s %q: net/http", row.Side, row.Name)
		if row.Nginx == "" || row.Envoy == "" {
			t.Errorf("%s %q does not say what nginx and Envoy do", row.Side, row.Name)
		}
	}
	if *update {
		text, err := json.MarshalIndent(rows, "", " ")
		fatal.If(t, err)
		fatal.If(t, os.WriteFile("smuggling/cases.json", append(text, '\n'), 0o644))
	}
}

func statusOf(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status
	}
	return -1
}

// netHTTPServer reports whether a net/http server hands the request with its
// whole body to a handler.
func netHTTPServer(t *testing.T, message string) bool {
	t.Helper()
	whole := make(chan struct{}, 10)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			whole <- struct{}{}
		}
	}))
	defer s.Close()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	fatal.If(t, err)
	defer c.Close()
	_, _ = io.WriteString(c, message)
	_ = c.(*net.TCPConn).CloseWrite()
	_, _ = io.Copy(io.Discard, c)
	return len(whole) > 0
}

// netHTTPClient reports whether net/http reads the response with its whole body.
func netHTTPClient(t *testing.T, message string) bool {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(message)), nil)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err == nil
}
