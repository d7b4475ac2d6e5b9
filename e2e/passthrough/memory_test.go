package passthrough

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"

	"whittle"
	"whittle/carve/gateway"
	"whittle/carve/gateway/listener"
	"whittle/e2e/process"
	"whittle/internal/needs"
)

// childUpstream makes the test binary a gateway before this upstream: a process
// of its own, whose memory can be read.
const childUpstream = "WHITTLE_TEST_UPSTREAM"

// childNetHTTP, where it is set, is for Options.NetHTTP.
const childNetHTTP = "WHITTLE_TEST_NETHTTP"

func child(upstream string) int {
	g, err := gateway.New(gateway.Options{Monolith: whittle.Upstream{URL: upstream}, NetHTTP: os.Getenv(childNetHTTP) != ""})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	fmt.Println(l.Addr())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := g.Serve(ctx, listener.Listener{Listener: l}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	return 0
}

// startChild gives the address of a gateway in a process of its own, and what
// reads the most memory that the process has ever held.
func startChild(t *testing.T, upstream string) (addr string, peak func() int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childUpstream+"="+upstream)
	if process.NetHTTP {
		cmd.Env = append(cmd.Env, childNetHTTP+"=1")
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("gateway process: %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	status := fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)
	return strings.TrimSpace(line), func() int {
		b, err := os.ReadFile(status)
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(b), "VmHWM:")
		var kb int
		if _, err := fmt.Sscan(after, &kb); err != nil {
			t.Fatal(err)
		}
		return kb << 10
	}
}

// zeros is an endless body that costs nothing.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestGiantBodiesInConstantMemory sends 1 GiB up and 1 GiB down.
func TestGiantBodiesInConstantMemory(t *testing.T) {
	needs.Linux(t, "peak memory, which is read from /proc")
	needs.Long(t, "it sends 2 GiB over loopback")
	const size, bound = 1 << 30, 64 << 20
	u := upstream(t, func(w http.ResponseWriter, r *http.Request) {
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
	})
	addr, peak := startChild(t, u.URL)
	c := client(t)
	c.Timeout = 0
	for _, known := range []bool{true, false} {
		req, _ := http.NewRequest(http.MethodPut, "http://"+addr+"/up", io.LimitReader(zeros{}, size))
		if known {
			req.ContentLength = size
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if got := mustRead(t, resp.Body); got != fmt.Sprint(size) {
			t.Errorf("length known %v: the upstream got %s bytes", known, got)
		}
		_ = resp.Body.Close()
	}
	resp, err := c.Get("http://" + addr + "/down")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); err != nil || n != size {
		t.Errorf("down came %d bytes, %v", n, err)
	}
	if got := peak(); got > bound {
		t.Errorf("the gateway held %d MiB at its peak, more than %d", got>>20, bound>>20)
	} else {
		t.Logf("peak memory %d MiB", got>>20)
	}
}
