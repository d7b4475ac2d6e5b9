package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"whittle/carve/admin"
	"whittle/e2e/process"
	"whittle/internal/child"
	"whittle/internal/needs"
)

var update = flag.Bool("update", false, "write what the scripts' golden files should say")

// scriptPatience bounds what a script waits for.
const scriptPatience = 2 * time.Minute

// TestGatewayScripts runs the verbs around a gateway as a shell would. In the
// scripts $MONOLITH and $CANDIDATE are servers that count alike, $FLAWED is one
// that does not, $CACHED one whose responses any cache may keep, and $PUBLIC and $ADMIN are free addresses.
func TestGatewayScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/gateway",
		UpdateScripts: *update,
		Setup:         setupGateway,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": process.Exits, "ready": ready, "send": send, "await": await, "routes": routes, "metrics": metrics,
		},
	})
}

func setupGateway(e *testscript.Env) error {
	for name, response := range map[string]func(times int) int{
		"MONOLITH": honest, "CANDIDATE": honest, "CACHED": honest, "FLAWED": func(int) int { return 1 },
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var q struct{ Times int }
			if err := json.NewDecoder(r.Body).Decode(&q); err != nil || q.Times < 0 || q.Times > 1e6 {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			w.Header().Set("Set-Cookie", fmt.Sprintf("visit=%d; HttpOnly", rand.Int64()))
			if name != "CACHED" {
				w.Header().Set("Cache-Control", "no-store")
			}
			_, _ = fmt.Fprintf(w, "Counted to %d \n", response(q.Times))
		}))
		e.Defer(srv.Close)
		e.Setenv(name, srv.Listener.Addr().String())
	}
	deploy, err := filepath.Abs("../../deploy")
	if err != nil {
		return err
	}
	e.Setenv("DEPLOY", deploy)
	free, err := child.Addresses(2)
	if err != nil {
		return err
	}
	e.Setenv("PUBLIC", free[0])
	e.Setenv("ADMIN", free[1])
	return nil
}

func honest(times int) int {
	sum := 0
	for range times {
		sum += (rand.IntN(200) + 1) >> 1
	}
	return sum
}

// eventually polls until a condition holds.
func eventually(ts *testscript.TestScript, what string, done func() (bool, string)) {
	deadline := time.Now().Add(scriptPatience)
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for {
		ok, said := done()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("waited for %s: %s", what, said)
		}
		<-poll.C
	}
}

// ready waits until the gateway at $ADMIN takes orders.
func ready(ts *testscript.TestScript, _ bool, _ []string) {
	eventually(ts, "the gateway", func() (bool, string) {
		resp, err := http.Get("http://" + ts.Getenv("ADMIN") + "/readyz")
		if err != nil {
			return false, err.Error()
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK, resp.Status
	})
}

// send asks $PUBLIC for so many counts, each by another user.
func send(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	for i := range n {
		req, err := http.NewRequest(http.MethodPost, "http://"+ts.Getenv("PUBLIC")+"/Count", strings.NewReader(`{"times":100}`))
		ts.Check(err)
		req.Header.Set("X-User", strconv.Itoa(i))
		resp, err := http.DefaultClient.Do(req)
		ts.Check(err)
		b, err := io.ReadAll(resp.Body)
		ts.Check(err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || !strings.HasPrefix(string(b), "Counted to ") {
			ts.Fatalf("request %d: %s %s", i, resp.Status, b)
		}
	}
}

// await waits until the count route's status as JSON has some words in it.
func await(ts *testscript.TestScript, _ bool, args []string) {
	client, err := admin.Dial(ts.Getenv("ADMIN"), "")
	ts.Check(err)
	defer client.Close()
	eventually(ts, args[0], func() (bool, string) {
		r, err := client.Route(context.Background(), "POST /Count")
		if err != nil {
			return false, err.Error()
		}
		b, err := json.Marshal(r)
		ts.Check(err)
		return strings.Contains(string(b), args[0]), string(b)
	})
}

// routes waits until the routes in force are these: routes NAME...
func routes(ts *testscript.TestScript, _ bool, args []string) {
	client, err := admin.Dial(ts.Getenv("ADMIN"), "")
	ts.Check(err)
	defer client.Close()
	eventually(ts, strings.Join(args, ", "), func() (bool, string) {
		s, err := client.Status(context.Background())
		if err != nil {
			return false, err.Error()
		}
		var names []string
		for _, r := range s.Routes {
			names = append(names, r.Route)
		}
		slices.Sort(names)
		return slices.Equal(names, args), strings.Join(names, ", ")
	})
}

var (
	named  = regexp.MustCompile(`(whittle_[a-z_]+)(?:\{([^}]*)\})?`)
	chosen = regexp.MustCompile(`([a-z]+)=(~?)\\?"([^"\\]*)`)
)

// metrics holds what deploy/ asks of a gateway's metrics to those at $ADMIN; metrics fleet,
// what it asks of a fleet's alone.
func metrics(ts *testscript.TestScript, _ bool, args []string) {
	const ofFleets = "whittle_fleet_"
	fleet, least := slices.Equal(args, []string{"fleet"}), 40
	if fleet {
		least = 3
	}
	resp, err := http.Get("http://" + ts.Getenv("ADMIN") + "/metrics")
	ts.Check(err)
	page, err := io.ReadAll(resp.Body)
	ts.Check(err)
	resp.Body.Close()
	seen := 0
	for _, file := range []string{"grafana/whittle.json", "prometheus/whittle.rules.yaml"} {
		text, err := os.ReadFile(filepath.Join(ts.Getenv("DEPLOY"), file))
		ts.Check(err)
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			if strings.HasPrefix(m[1], ofFleets) != fleet {
				continue
			}
			seen++
			series := regexp.MustCompile(`(?m)^`+m[1]+`(\{.*\})? `).FindAllString(string(page), -1)
			if len(series) == 0 {
				ts.Fatalf("%s: no gateway has %s", file, m[1])
			}
			for _, label := range chosen.FindAllStringSubmatch(m[2], -1) {
				want := label[1] + `="` + regexp.QuoteMeta(label[3]) + `"`
				if label[2] == "~" { // each word, or whichever
					want = label[1] + `="(` + strings.ReplaceAll(label[3], "$route", ".*") + `)"`
				}
				if is := regexp.MustCompile(want); !slices.ContainsFunc(series, is.MatchString) {
					ts.Fatalf("%s: no %s has %s", file, m[1], label[0])
				}
			}
		}
	}
	if seen < least {
		ts.Fatalf("only %d metrics are named", seen)
	}
}

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
