// Package examples runs what examples/ has, as it stands there but for addresses and for
// how long it takes. The proxies' examples are run by e2e/behind, the tutorial's by e2e/new.
package examples

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"whittle/e2e/process"
	"whittle/internal/fatal"
)

// built is where the programs are.
var built string

func TestMain(m *testing.M) {
	process.Main(m, func() (err error) {
		built, err = process.Build("./cmd/whittle", "./systems/count/cmd/count")
		return err
	})
}

// example is the path of an example's file.
func example(parts ...string) string {
	return filepath.Join(append([]string{process.Repository, "examples"}, parts...)...)
}

// whittle runs a command in a folder.
func whittle(t *testing.T, dir string, args ...string) {
	t.Helper()
	process.MustRun(t, dir, 0, append([]string{filepath.Join(built, "whittle")}, args...)...)
}

// shop has three items, and counts what was asked.
type shop struct {
	*httptest.Server
	items, orders atomic.Int64
}

func openShop(t *testing.T) *shop {
	s := &shop{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items/{id}", func(w http.ResponseWriter, r *http.Request) {
		s.items.Add(1)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id": %s, "price": 12.5}`, r.PathValue("id"))
	})
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, _ *http.Request) {
		s.orders.Add(1)
		w.WriteHeader(http.StatusCreated)
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// TestLoadArtillery: all users of the plan come, and each orders what it looked at.
func TestLoadArtillery(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	whittle(t, example("load-artillery"), "load", "plan.yml", "--target", s.URL, "--max-late", "1m")
	if s.items.Load() != 100 || s.orders.Load() != 100 {
		t.Errorf("%d items and %d orders of 100 users", s.items.Load(), s.orders.Load())
	}
}

// TestLoadJMeter: each user goes round as often as the plan says.
func TestLoadJMeter(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	host, port, err := net.SplitHostPort(s.Listener.Addr().String())
	fatal.If(t, err)
	whittle(t, example("load-jmeter"), "load", "plan.jmx", "-Jhost="+host, "-Jport="+port, "--fail-if", "errors > 0", "--max-late", "1m")
	if s.items.Load() != 20 || s.orders.Load() != 20 {
		t.Errorf("%d items and %d orders of 5 users with 4 rounds", s.items.Load(), s.orders.Load())
	}
}

// TestCIGuard keeps a baseline of a service and checks the same service against it, by
// the workflow's own command.
func TestCIGuard(t *testing.T) {
	t.Parallel()
	service := process.Start(t, filepath.Join(built, "count"), "-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0", "-env-file", "")
	text, err := os.ReadFile(example("ci-guard", "workflow.yml"))
	fatal.If(t, err)
	_, command, found := strings.Cut(string(text), "whittle profile guard http://127.0.0.1:8091 ")
	if !found {
		t.Fatal("the workflow has no guard")
	}
	command, _, _ = strings.Cut(command, "\n")
	guard := append([]string{"profile", "guard", "http://" + service.Admin, "--target", "http://" + service.Public, "--max-late", "1m", "--runs", "2"}, strings.Fields(command)...)
	dir := t.TempDir()
	plan, err := os.ReadFile(example("ci-guard", "plan.yml"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "plan.yml"), plan, 0o600)
	}
	fatal.If(t, err)
	kept := []string{}
	for i := 0; i < len(guard); i++ {
		switch guard[i] {
		case "--max-cpu-per-request", "--junit":
			i++
		case "--github":
		default:
			kept = append(kept, guard[i])
		}
	}
	whittle(t, dir, append(kept, "--update")...)
	// The machine of a test is nobody's alone: the limit is wide.
	for i := range guard {
		guard[i] = strings.Replace(guard[i], "+10%", "+400%", 1)
	}
	whittle(t, dir, guard...)
	if _, err := os.Stat(filepath.Join(dir, "cost.xml")); err != nil {
		t.Error(err)
	}
}
