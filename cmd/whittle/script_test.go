package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"whittle/internal/needs"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"whittle": main})
}

// TestScripts runs the verbs as a shell would. In the scripts, $URL is a server
// that serves "ok" and writes what it was asked to the file $WORK/asked.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			f, err := os.Create(e.WorkDir + "/asked")
			if err != nil {
				return err
			}
			var mu sync.Mutex
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				mu.Lock()
				fmt.Fprintf(f, "%s %s %s%s\n", r.Method, r.RequestURI, r.Header.Get("X-A"), b)
				mu.Unlock()
				if r.URL.Path == "/bad" {
					w.WriteHeader(http.StatusNotFound)
				}
				fmt.Fprint(w, "ok")
			}))
			e.Setenv("URL", srv.URL)
			e.Defer(func() {
				srv.Close()
				f.Close()
			})
			return nil
		},
	})
}

// TestAlertRules: Prometheus takes the alert rules, and they fire when they should.
func TestAlertRules(t *testing.T) {
	promtool := needs.Tool(t, "alert rules in promtool", "apt-get install prometheus", "promtool")
	for _, args := range [][]string{{"check", "rules", "whittle.rules.yaml"}, {"test", "rules", "whittle.test.yaml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = "../../deploy/prometheus"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v: %s", args, err, out)
		}
	}
}
