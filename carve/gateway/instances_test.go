package gateway

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"whittle"
)

// instances is an upstream at all of these URLs.
func instances(urls ...string) whittle.Upstream {
	u := upstreamAt(urls[0])
	u.Others, u.Insecure = urls[1:], true
	return u
}

// TestARefusedConnectionIsTriedElsewhere: a request for which no connection could be
// opened goes to another instance with its body, whatever its method and by whichever
// way it is sent.
func TestARefusedConnectionIsTriedElsewhere(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
		n, _ := io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprintf(w, "%s %d", r.Method, n)
	}
	for _, scheme := range []string{"http", "https", "h2c"} {
		t.Run(scheme, func(t *testing.T) {
			_, there, _ := strings.Cut(hanging(t, scheme == "https", echo).URL, "://")
			_, gone, _ := strings.Cut(nobody, "://")
			ls, urls := facing(t, 1)
			g := behind(t, ls[0], Options{Monolith: instances(scheme+"://"+gone, scheme+"://"+gone, scheme+"://"+there)})
			for _, length := range []int{0, 100, 128 << 10} {
				for range 8 {
					for _, method := range []string{http.MethodGet, http.MethodPost} {
						want := fmt.Sprintf("%s %d", method, length)
						if status, text := ask(t, method, urls[0], strings.Repeat("x", length)); status != http.StatusOK || text != want {
							t.Fatalf("%s with %d bytes: %d %q", method, length, status, text)
						}
					}
				}
			}
			if free := g.table.Load().monolith.Free(); free != upstreamAt("").MaxConns {
				t.Errorf("%d slots are free in the end", free)
			}
		})
	}
}

// TestWhatWasSentIsNotTriedElsewhere: an instance that has taken the request and then
// hangs up may have done what it says, so that nobody else is asked.
func TestWhatWasSentIsNotTriedElsewhere(t *testing.T) {
	var asked atomic.Int64
	cut := brokenAt(t, func(c net.Conn) {
		asked.Add(1)
		b := make([]byte, 1)
		_, _ = c.Read(b)
	})
	ls, urls := facing(t, 1)
	behind(t, ls[0], Options{Monolith: instances(cut, cut, cut)})
	for n, length := range []int{10, 128 << 10} {
		if status, _ := ask(t, http.MethodPost, urls[0], strings.Repeat("x", length)); status != http.StatusBadGateway {
			t.Errorf("the user got %d", status)
		}
		if got := asked.Load(); got != int64(n+1) {
			t.Errorf("%d instances were asked for %d requests", got, n+1)
		}
	}
}
