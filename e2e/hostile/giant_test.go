package hostile

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/internal/needs"
)

// zeros is an endless body that costs nothing.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestGiantBodiesInConstantMemory sends 1 GiB up and 1 GiB down.
func TestGiantBodiesInConstantMemory(t *testing.T) {
	needs.Linux(t, "peak memory, which is read from /proc")
	needs.Long(t, "it sends 2 GiB over loopback")
	const size, bound = 1 << 30, 64 << 20
	u := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			t.Errorf("upstream reads: %v", err)
		}
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Length", fmt.Sprint(size))
			_, _ = io.CopyN(w, zeros{}, size)
			return
		}
		_, _ = fmt.Fprint(w, n)
	}))
	defer u.Close()
	p := start(t, setup{Monolith: u.URL, NetHTTP: process.NetHTTP})
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	c := http.Client{Transport: transport}
	for _, known := range []bool{true, false} {
		req, _ := http.NewRequest(http.MethodPut, p.url+"/up", io.LimitReader(zeros{}, size))
		if known {
			req.ContentLength = size
		}
		resp, err := c.Do(req)
		fatal.If(t, err)
		if got, err := io.ReadAll(resp.Body); string(got) != fmt.Sprint(size) {
			t.Errorf("length known %v: the upstream got %s bytes, %v", known, got, err)
		}
		_ = resp.Body.Close()
	}
	resp, err := c.Get(p.url + "/down")
	fatal.If(t, err)
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); err != nil || n != size {
		t.Errorf("down came %d bytes, %v", n, err)
	}
	if _, got := p.stop(t); got > bound {
		t.Errorf("the gateway held %d MiB at its peak, more than %d", got>>20, bound>>20)
	} else {
		t.Logf("peak memory %d MiB", got>>20)
	}
}
