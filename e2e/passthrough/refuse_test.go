package passthrough

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/internal/http1/smugglingtest"
)

// TestSmugglingTable sends the cases of the table that holds all of whittle's
// readers of HTTP/1.1. What internal/http1 refuses must not get a response other
// than an error, and what is hidden behind it must never reach the upstream. What
// both it and net/http accept must be served.
func TestSmugglingTable(t *testing.T) {
	var hidden atomic.Int64
	u := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "hidden") {
			hidden.Add(1)
		}
		_, _ = io.Copy(io.Discard, r.Body)
	})
	g := through(t, u.URL)
	for _, c := range smugglingtest.Cases("request") {
		t.Run(c.Name, func(t *testing.T) {
			response := raw(t, g.addr, c.Message+"GET /hidden HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
			if c.Status == 0 {
				if c.NetHTTP == "accepts" && !strings.HasPrefix(response, "HTTP/1.1 200") && !strings.HasPrefix(response, "HTTP/1.0 200") {
					t.Errorf("response %q", response)
				}
				hidden.Store(0)
				return
			}
			if i := strings.LastIndex(response, "HTTP/1.1 "); i > 0 && strings.Contains(c.Message, "Transfer-Encoding: chunked\r\n\r\n") {
				response = response[i:] // the head was right, so a response to it may come first
			}
			if response != "" && !strings.HasPrefix(response, "HTTP/1.1 4") && !strings.HasPrefix(response, "HTTP/1.1 5") {
				t.Errorf("response %q", response)
			}
			fatal.Same(t, hidden.Swap(0), 0, "what was hidden behind it reached the upstream")
		})
	}
}

// TestExactFramingIsNotRefused keeps the check from refusing what is right, one by one and
// several requests at once, however they are cut into packets. An empty line behind a request
// takes neither its response nor the next one's.
func TestExactFramingIsNotRefused(t *testing.T) {
	u := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s [%s]", r.URL.Path, body)
	})
	g := through(t, u.URL)
	for _, empty := range []string{"", "\r\n"} {
		for _, step := range []int{0, 1, 2, 3, 7, 10_000} { // 0: each when the one before has its response
			c := dial(t, g.addr)
			r := bufio.NewReader(c)
			all := ""
			requests := []struct{ text, want string }{
				{"GET /1 HTTP/1.1\r\nhost:h\r\nX: \r\n\r\n", "/1 []"},
				{"POST /2 HTTP/1.1\r\nHost: h\r\ncontent-length: 5\r\n\r\na\nb\r\n", "/2 [a\nb\r\n]"},
				{
					"POST /3 HTTP/1.1\r\nHost: h\r\ntransfer-encoding: Chunked\r\n\r\n5\r\n\r\n\n\r\n\r\n00A;ext=\"1\"\r\n0123456789\r\n0\r\nX-T: 1\r\n\r\n",
					"/3 [\r\n\n\r\n0123456789]",
				},
				{"GET http://H/4 HTTP/1.1\r\nHost: h\r\n\r\n", "/4 []"},
				{"GET /5 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "/5 []"},
			}
			for _, q := range requests {
				all += q.text + empty
			}
			if step > 0 {
				go func() {
					for piece := range slices.Chunk([]byte(all), step) {
						_, _ = c.Write(piece) // what fails has no response
					}
				}()
			}
			for _, q := range requests {
				if step == 0 {
					_, _ = io.WriteString(c, q.text+empty)
				}
				resp, err := http.ReadResponse(r, nil)
				if err != nil {
					t.Fatalf("%q behind each, step %d, %s: %v", empty, step, q.want, err)
				}
				fatal.Same(t, mustRead(t, resp.Body), q.want, "%q behind each, step %d: %d", empty, step, resp.StatusCode)
			}
		}
	}
}

// TestGarbageBehindARequest sends garbage behind a request, in the same packet and
// while the response is awaited. The request has its response, and the connection
// ends.
func TestGarbageBehindARequest(t *testing.T) {
	for _, garbage := range []string{
		"\x00\x01\x02\r\n\r\n", "\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/1.1\r\nHost : h\r\n\r\n", strings.Repeat("\xff", 100<<10),
	} {
		for _, request := range []string{
			"GET /a HTTP/1.1\r\nHost: h\r\n\r\n",
			"POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
			"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx",
		} {
			for _, later := range []bool{false, true} {
				asked, sent := make(chan struct{}), make(chan struct{})
				u := upstream(t, func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					close(asked)
					select {
					case <-sent:
						_, _ = io.WriteString(w, "served")
					case <-r.Context().Done():
					}
				})
				g := through(t, u.URL)
				c := dial(t, g.addr)
				parts := []string{request + garbage}
				if later {
					parts = []string{request, garbage}
				}
				for i, part := range parts {
					if i > 0 {
						<-asked
					}
					_, err := io.WriteString(c, part)
					fatal.If(t, err)
				}
				select {
				case <-asked:
				case <-time.After(patience):
					t.Fatalf("%.20q behind %.4q, later %v: the request is not passed on", garbage, request, later)
				}
				close(sent)
				r := bufio.NewReader(c)
				resp, err := http.ReadResponse(r, nil)
				if err != nil {
					t.Errorf("%.20q behind %.4q, later %v: %v", garbage, request, later, err)
					continue
				}
				if got := mustRead(t, resp.Body); resp.StatusCode != http.StatusOK || got != "served" {
					t.Errorf("%.20q behind %.4q, later %v: %d %q", garbage, request, later, resp.StatusCode, got)
				}
				if rest, _ := io.ReadAll(r); len(rest) > 0 && !strings.HasPrefix(string(rest), "HTTP/1.1 400 ") {
					t.Errorf("%.20q behind %.4q, later %v, then %.60q", garbage, request, later, rest)
				}
			}
		}
	}
}

func TestLimits(t *testing.T) {
	u := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			_, _ = io.WriteString(w, "ok")
		}
	})
	g := through(t, u.URL, func(o *options) {
		o.Limits.BodyBytes, o.Limits.HeaderBytes = 5000, 2000
	})
	for name, tc := range map[string]struct {
		request string
		status  int
	}{
		"body at the limit":        {"Content-Length: 5000\r\n\r\n" + strings.Repeat("x", 5000), 200},
		"body above":               {"Content-Length: 5001\r\n\r\n" + strings.Repeat("x", 5001), 413},
		"chunked body below":       {"Transfer-Encoding: chunked\r\n\r\n1388\r\n" + strings.Repeat("x", 5000) + "\r\n0\r\n\r\n", 200},
		"chunked body above":       {"Transfer-Encoding: chunked\r\n\r\n1389\r\n" + strings.Repeat("x", 5001) + "\r\n0\r\n\r\n", 413},
		"header at the limit":      {"X: " + strings.Repeat("x", 2000-len("POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX: \r\n\r\n")) + "\r\n\r\n", 200},
		"header a byte above":      {"X: " + strings.Repeat("x", 2001-len("POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX: \r\n\r\n")) + "\r\n\r\n", 431},
		"header far above":         {"X: " + strings.Repeat("x", 8000) + "\r\n\r\n", 431},
		"endless header line":      {strings.Repeat("x", 200_000), 431},
		"many headers":             {strings.Repeat("X: y\r\n", 5000) + "\r\n", 431},
		"header below, no body":    {"X: " + strings.Repeat("x", 1500) + "\r\n\r\n", 200},
		"length above, no bytes":   {"Content-Length: 9223372036854775\r\n\r\n", 413},
		"expecting, length above":  {"Expect: 100-continue\r\nContent-Length: 5001\r\n\r\n", 413},
		"unknown expectation":      {"Expect: magic\r\n\r\n", 417},
		"short body of the client": {"Content-Length: 5000\r\n\r\nshort", 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, g.addr)
			go func() {
				_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"+tc.request)
				if tc.status == 0 || tc.status == 431 {
					_ = c.(*net.TCPConn).CloseWrite()
				}
			}()
			response, _ := io.ReadAll(c)
			status := 0
			_, _ = fmt.Sscanf(string(response), "HTTP/1.1 %d", &status)
			if tc.status == 0 && (status == 400 || status == 0) {
				return
			}
			fatal.Same(t, status, tc.status, "answered %q", response)
		})
	}
}
