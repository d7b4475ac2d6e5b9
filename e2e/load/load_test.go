// Package load tests load plans that several worker processes run together over a NATS
// server, of which some are killed and some are stopped.
package load

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"whittle/e2e/process"
	"whittle/internal/child"
	"whittle/internal/fatal"
	"whittle/internal/natstest"
	"whittle/load/report"
)

var whittle string

func TestMain(m *testing.M) {
	if os.Getenv("LOAD_ROLE") == "nats" {
		natstest.Serve(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT})
		return
	}
	process.Main(m, func() error {
		dir, err := process.Build("./cmd/whittle")
		whittle = filepath.Join(dir, "whittle")
		return err
	})
}

// site is a target that counts, a NATS server and four workers.
type site struct {
	t       *testing.T
	nats    string
	target  string
	workers []*child.Process

	mu   sync.Mutex
	seen map[string]int // requests by path; guarded by mu
	all  int            // guarded by mu
}

func newSite(t *testing.T) *site {
	s := &site{t: t, seen: map[string]int{}}
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.seen[r.URL.Path]++
		s.all++
	}))
	t.Cleanup(target.Close)
	s.target = target.URL
	t.Setenv("LOAD_ROLE", "nats")
	p := process.Start(t, os.Args[0])
	t.Setenv("LOAD_ROLE", "")
	s.nats = "nats://" + p.Public
	for i := range 4 {
		w, err := child.Spawn(child.Options{}, whittle, "worker", s.nats, "--name", fmt.Sprint("w", i))
		fatal.If(t, err)
		t.Cleanup(w.Kill)
		s.workers = append(s.workers, w)
	}
	return s
}

func (s *site) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

// load runs a load by all workers, and gives its exit status, output and report.
func (s *site) load(args ...string) (status int, said string, r *report.Report) {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "report.json")
	// A machine that is busy with other tests makes workers late, which is no concern here.
	args = append([]string{whittle, "load", "--workers", s.nats, "--expect", "4", "--max-late", "1h", "--json", file}, args...)
	status, said = process.Run(s.t, "", args...)
	b, err := os.ReadFile(file)
	r = new(report.Report)
	if err != nil || json.Unmarshal(b, r) != nil {
		s.t.Fatalf("%v\n%s", err, said)
	}
	return status, said, r
}

const plan = `config:
  target: http://127.0.0.1:1
  phases: [{duration: 2, arrivalRate: 100}, {duration: 1, arrivalCount: 103}]
  payload: {path: rows.csv, fields: [row], order: sequence}
scenarios: [{flow: [{get: {url: "/rows/{{ row }}", name: row}}, {get: {url: /second}}]}]`

// Four workers' parts of a plan add up: every row of its file is sent once, the server
// has seen what the report says, for each endpoint, and conditions hold of the whole.
func TestFourWorkersAddUpToOneRun(t *testing.T) {
	s := newSite(t)
	dir := t.TempDir()
	rows := ""
	for i := range 303 {
		rows += fmt.Sprintln(i)
	}
	for name, text := range map[string]string{"plan.yml": plan, "rows.csv": rows} {
		fatal.Write(t, filepath.Join(dir, name), text)
	}
	page := filepath.Join(dir, "out.html")
	status, said, r := s.load(filepath.Join(dir, "plan.yml"), "--target", s.target, "--html", page, "--fail-if", "requests < 606", "--fail-if", "errors > 0")
	if status != 0 || r.Void != "" || r.Requests != 606 || r.Completed != 606 || r.Users.Started != 303 || len(r.Workers) != 4 {
		t.Fatalf("status %d, void %q, %d requests, %d users\n%s", status, r.Void, r.Requests, r.Users.Started, said)
	}
	s.mu.Lock()
	for i := range 303 {
		fatal.Same(t, s.seen[fmt.Sprint("/rows/", i)], 1, "the times that row %d was sent", i)
	}
	if s.all != 606 || s.seen["/second"] != 303 {
		t.Errorf("the server has seen %d requests, %d of them /second", s.all, s.seen["/second"])
	}
	s.mu.Unlock()
	users := int64(0)
	for i, w := range r.Workers {
		users += w.Users
		if w.Name != fmt.Sprint("w", i) || w.Users < 75 || w.Requests != 2*w.Users || w.Completed != w.Requests || w.ScheduleError.Count != w.Users {
			t.Errorf("worker %d: %+v", i, w)
		}
	}
	var arrivals, completed int64
	for _, p := range r.Series {
		arrivals, completed = arrivals+p.Arrivals, completed+p.Completed
	}
	if users != 303 || arrivals != 303 || completed != 606 || r.Latency.Intended.Count != 606 || r.Names[0].Completed+r.Names[1].Completed != 606 || r.Codes["200"] != 606 {
		t.Errorf("%d users of workers, %d arrivals and %d responses in the series, %d latencies, names %+v", users, arrivals, completed, r.Latency.Intended.Count, r.Names)
	}
	if b, err := os.ReadFile(page); err != nil || !strings.Contains(string(b), "606") {
		t.Errorf("%s: %v, %d bytes", page, err, len(b))
	}
	fatal.Has(t, said, "worker, of 4")
	// The same workers serve the next run, whose condition of the whole fails it.
	if status, said, _ := s.load(s.target+"/third", "--users", "3", "-n", "100", "--fail-if", "requests > 99"); status != 1 {
		t.Errorf("status %d\n%s", status, said)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fatal.Same(t, s.seen["/third"], 100, "-n 100 of three users on four workers sent")
}

// A worker that is killed in the middle voids the run, and so does one that is stopped:
// the others are ended, and what was stopped makes up for nothing when it goes on.
func TestALostWorkerVoidsTheRun(t *testing.T) {
	for name, lose := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			lost := make(chan struct{})
			go func() {
				defer close(lost)
				process.Until(t, "200 requests", func() bool { return s.count() >= 200 })
				if err := s.workers[2].Signal(lose); err != nil {
					t.Error(err)
				}
			}()
			status, said, r := s.load(s.target+"/", "--rate", "200", "-d", "1h")
			<-lost
			if status != 3 || !strings.Contains(r.Void, "worker w2: it was lost") || r.Workers[2].Void == "" || r.Workers[1].Void != "" || !r.Early {
				t.Fatalf("status %d, void %q, workers %+v\n%s", status, r.Void, r.Workers, said)
			}
			if r.Workers[0].Completed == 0 || r.Requests != r.Workers[0].Requests+r.Workers[1].Requests+r.Workers[3].Requests {
				t.Errorf("%d requests of workers %+v", r.Requests, r.Workers)
			}
			if lose != syscall.SIGSTOP {
				return
			}
			before := s.count()
			fatal.If(t, s.workers[2].Signal(syscall.SIGCONT))
			process.Until(t, "w2 lets go", func() bool { return strings.Contains(s.workers[2].Said(), "run is ended") })
			if n := s.count() - before; n > 20 {
				t.Errorf("w2 has made up for %d requests", n)
			}
		})
	}
}
