package passthrough

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"whittle/e2e/process"
	"whittle/internal/fatal"
)

// TestWhatPassesAsItCame is the list in docs/gateway.md of what passes as it came and
// what does not.
func TestWhatPassesAsItCame(t *testing.T) {
	const refused = "HTTP/1.1 400 Bad Request"
	for _, tt := range []struct {
		name string
		sent string // without Host and Connection
		says string // by the upstream; "": okResponse
		// gets is the status line for the client, and line the request's for the
		// upstream; "": it gets none. netHTTP is gets where net/http has read the request.
		gets, netHTTP, line string
		body                string // for the upstream
		trailer             []string
	}{
		{name: "reason phrase", sent: "GET /a HTTP/1.1\r\n", says: "HTTP/1.1 599 Custom Phrase\r\n" +
			"Content-Length: 2\r\n\r\nok", gets: "HTTP/1.1 599 Custom Phrase", netHTTP: "HTTP/1.1 599 status code 599", line: "GET /a"},
		{name: "reason phrase of a long response", sent: "GET /a HTTP/1.1\r\n", says: "HTTP/1.1 418 I'm a Teapot\r\n" +
			"Content-Length: 50000\r\n\r\n" + strings.Repeat("x", 50_000), gets: "HTTP/1.1 418 I'm a Teapot", netHTTP: "HTTP/1.1 418 I'm a teapot", line: "GET /a"},
		{
			name: "reason phrase to a chunked request", sent: "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
			says: "HTTP/1.1 200 Fine\r\nContent-Length: 2\r\n\r\nok", gets: "HTTP/1.1 200 Fine", netHTTP: "HTTP/1.1 200 OK", line: "POST /a", body: "abc",
		},
		{name: "no reason phrase", sent: "GET /a HTTP/1.1\r\n", says: "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok", gets: "HTTP/1.1 200 OK", line: "GET /a"},
		{name: "a bare % in the path", sent: "GET /a%zz HTTP/1.1\r\n", gets: refused},
		{name: "a bare % at the end", sent: "GET /100% HTTP/1.1\r\n", gets: refused},
		{name: "a bare % in the query", sent: "GET /a?x=100%&y=%zz HTTP/1.1\r\n", gets: "HTTP/1.1 200 OK", line: "GET /a?x=100%&y=%zz"},
		{name: "a body of GET", sent: "GET /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", gets: "HTTP/1.1 200 OK", line: "GET /a", body: "abc"},
		{name: "a chunked body of GET", sent: "GET /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", gets: "HTTP/1.1 200 OK", line: "GET /a", body: "abc"},
		{name: "a body of DELETE", sent: "DELETE /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", gets: "HTTP/1.1 200 OK", line: "DELETE /a", body: "abc"},
		{name: "a method in lower case", sent: "get /a HTTP/1.1\r\n", gets: "HTTP/1.1 200 OK", line: "get /a"},
		{name: "two equal lengths", sent: "POST /a HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", gets: refused},
		{name: "two equal lengths of a response", sent: "GET /a HTTP/1.1\r\n", says: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", gets: "HTTP/1.1 200 OK", line: "GET /a"},
		{
			name: "a trailer", sent: "POST /a HTTP/1.1\r\nTrailer: X-Sum, X_Sum, X-Forwarded-For, Cookie\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n" +
				"X-Sum: 1\r\nX_Sum: 2\r\nX-Forwarded-For: 9.9.9.9\r\nX_Forwarded_For: 9.9.9.9\r\nCookie: a=b\r\nX-Sudden: 1\r\n\r\n",
			gets: "HTTP/1.1 200 OK", line: "POST /a", body: "abc", trailer: []string{"X-Sum: 1"},
		},
		{name: "a trailer that says nothing but who the client is", sent: "POST /a HTTP/1.1\r\nTrailer: X-Real-Ip\r\nTransfer-Encoding: chunked\r\n\r\n" +
			"3\r\nabc\r\n0\r\nX-Real-Ip: 9.9.9.9\r\n\r\n", gets: "HTTP/1.1 200 OK", line: "POST /a", body: "abc"},
		{name: "a trailer that is not announced", sent: "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n", gets: "HTTP/1.1 200 OK", line: "POST /a", body: "abc"},
		{name: "a client that sends no more", sent: "GET /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nab", gets: ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked := make(chan *http.Request, 1)
			bodies := make(chan string, 1)
			says := tt.says
			if says == "" {
				says = okResponse
			}
			u := scripted(t, func(_ int, c net.Conn, r *bufio.Reader) {
				req, body, err := readRequest(r)
				if err != nil {
					return
				}
				asked <- req
				bodies <- string(body)
				_, _ = io.WriteString(c, says)
			})
			g := through(t, u)
			line, rest, _ := strings.Cut(tt.sent, "\r\n")
			if !strings.Contains(rest, "\r\n\r\n") {
				rest += "\r\n"
			}
			c := dial(t, g.addr)
			_, _ = io.WriteString(c, line+"\r\nHost: h\r\nConnection: close\r\n"+rest)
			if tt.gets == "" {
				_ = c.(*net.TCPConn).CloseWrite()
			}
			got, _ := io.ReadAll(c)
			want := tt.gets
			if process.NetHTTP && tt.netHTTP != "" {
				want = tt.netHTTP
			}
			if tt.gets != "" && firstLine(string(got)) != want {
				t.Errorf("the client got %q, want %q", firstLine(string(got)), want)
			}
			if tt.line == "" {
				select {
				case req := <-asked:
					t.Errorf("the upstream got %s %s", req.Method, req.RequestURI)
				default:
				}
				return
			}
			req := <-asked
			if line, body := req.Method+" "+req.RequestURI, <-bodies; line != tt.line || body != tt.body {
				t.Errorf("the upstream got %q with %q", line, body)
			}
			var trailer []string
			for name, values := range req.Trailer {
				for _, v := range values {
					trailer = append(trailer, name+": "+v)
				}
			}
			slices.Sort(trailer)
			if !slices.Equal(trailer, tt.trailer) {
				t.Errorf("the upstream got the trailer %q", trailer)
			}
		})
	}
}

// TestWhatPassesOverHTTP2 is the same for what HTTP/2 has of it.
func TestWhatPassesOverHTTP2(t *testing.T) {
	asked := make(chan *http.Request, 1)
	u := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked <- r.Clone(context.WithoutCancel(r.Context()))
		_, _ = fmt.Fprintf(w, "%s", body)
	})
	g := through(t, u.URL)
	req, _ := http.NewRequest(http.MethodGet, g.url("/a?x=100%"), io.MultiReader(strings.NewReader("abc")))
	req.Trailer = http.Header{"X-Sum": {"1"}, "X_sum": {"2"}, "X-Forwarded-For": {"9.9.9.9"}}
	req.Header["X_forwarded_for"] = []string{"9.9.9.9"}
	req.Header["X-Latin"] = []string{"caf\xe9"}
	req.Header["X-Empty"] = []string{""}
	resp, err := speaking(t, true, nil).Do(req)
	fatal.If(t, err)
	if got := mustRead(t, resp.Body); resp.StatusCode != http.StatusOK || got != "abc" {
		t.Errorf("%d %q", resp.StatusCode, got)
	}
	r := <-asked
	if fmt.Sprint(r.Trailer) != "map[X-Sum:[1]]" || r.RequestURI != "/a?x=100%" || r.Method != http.MethodGet {
		t.Errorf("the upstream got %s %s and the trailer %v", r.Method, r.RequestURI, r.Trailer)
	}
	if h := r.Header; h["X-Latin"][0] != "caf\xe9" || h["X-Empty"][0] != "" || h["X_forwarded_for"] != nil || len(h["X-Forwarded-For"]) != 1 || h["X-Forwarded-For"][0] != "127.0.0.1" {
		t.Errorf("the upstream got %v", h)
	}
}
