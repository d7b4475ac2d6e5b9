package gateway

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestATargetWithoutAPathIsRefused: a target such as x:y has no path by which a route
// could match, and a URL in its query is not its own.
func TestATargetWithoutAPathIsRefused(t *testing.T) {
	paths := make(chan string, 1)
	monolith := rawServer(t, func(c net.Conn) {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		paths <- r.RequestURI
		_, _ = fmt.Fprint(c, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
	})
	ls, urls := facing(t, 1)
	behind(t, ls[0], Options{Monolith: quick(monolith)})
	for target, want := range map[string]string{"x:y?u=http://h/Count": "", "http://h/Count?u=x:y": "/Count?u=x:y"} {
		c, err := net.Dial("tcp", strings.TrimPrefix(urls[0], "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", target)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		c.Close()
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		select {
		case got = <-paths:
		default:
		}
		if got != want || (resp.StatusCode == http.StatusBadRequest) != (want == "") {
			t.Errorf("%s: status %d, the monolith got %q, want %q", target, resp.StatusCode, got, want)
		}
	}
}
