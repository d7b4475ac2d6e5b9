package workers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"

	"github.com/nats-io/nats-server/v2/server"
	"go.uber.org/goleak"

	"whittle"
	"whittle/internal/fatal"
	"whittle/internal/natslink"
	"whittle/load"
	"whittle/load/jmxtest"
	"whittle/load/report"
	"whittle/load/wire"
	"whittle/whittletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func startNATS(t *testing.T) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true})
	fatal.If(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the NATS server does not start")
	}
	return s
}

func linkTo(url string) Link {
	return Link{NATS: natslink.Settings{Servers: url}, Version: "v1"}
}

// workersOf starts a NATS server with so many workers.
func workersOf(t *testing.T, n int) Link {
	t.Helper()
	link := linkTo(startNATS(t).ClientURL())
	serveWorkers(t, link, n)
	return link
}

// serveWorkers starts workers w0, w1 … that end with the test.
func serveWorkers(t *testing.T, link Link, n int) {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	t.Cleanup(func() { end(); wg.Wait() })
	for i := range n {
		wg.Go(func() {
			w := Worker{Link: link, Name: fmt.Sprint("w", i)}
			if err := w.Serve(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

// counting is a target that counts requests by path and query.
func counting(t *testing.T) (url string, seen func() map[string]int) {
	t.Helper()
	var mu sync.Mutex
	got := map[string]int{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got[r.URL.RequestURI()]++
		_, _ = w.Write([]byte(`{"t": {"a": ["deep"]}}`))
	}))
	t.Cleanup(s.Close)
	return s.URL, func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}

// patientOptions void no run for a machine that is busy with other tests.
func patientOptions(target string) load.Options {
	return load.Options{Target: target, MaxLate: time.Hour, Protocol: wire.HTTP1}
}

// folder is one with these files.
func folder(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		fatal.Write(t, filepath.Join(dir, name), text)
	}
	return dir
}

// ran is a run by so many workers of its own.
func ran(t *testing.T, n int, w load.Workload, o load.Options) *report.Report {
	t.Helper()
	c := Coordinator{Link: workersOf(t, n), Expect: n, Wait: time.Minute}
	r, err := c.Run(t.Context(), w, o)
	fatal.If(t, err)
	return r
}

// scripted is a plan with all that a plan may be read from.
var scripted = map[string]string{
	"plan/plan.yml": `config:
  phases: [{duration: 1, arrivalCount: 8}]
  payload: [{path: ../data/users.csv, fields: [user], order: sequence}]
  processor: ./lib/main.js
  includeFiles: [late/later.json]
before: {flow: [{get: {url: /before, capture: {header: x-none, as: token, strict: false}}}]}
after: {flow: [{get: {url: /after}}]}
scenarios: [{flow: [{function: word}, {log: "as {{ user }}"}, {get: {url: "/{{ user }}?{{ word }}&{{ $env.WORKERS_TEST }}"}}]}]`,
	"data/users.csv": "a\nb\nc\nd\ne\nf\ng\nh\n",
	"plan/lib/main.js": `const part = require('./part'); const other = require('other');
module.exports = { word: (c, e, done) => { c.vars.word = part.word + other + require('../late/later.json').word + process.env.WORKERS_LATE; done() } }`,
	"plan/lib/part.js":                   "module.exports = { word: 'x' }",
	"plan/node_modules/other/index.js":   "module.exports = process.env.WORKERS_TEST",
	"plan/node_modules/unused/secret.js": "module.exports = 1",
	"plan/late/later.json":               `{"word": "l"}`,
}

// setEnvironment sets what it may ask for.
func setEnvironment(t *testing.T) {
	for name, value := range map[string]string{"TEST": "e", "LATE": "v", "UNNAMED": "u"} {
		t.Setenv("WORKERS_"+name, value)
	}
}

func withoutBefore(files map[string]string) map[string]string {
	out := map[string]string{}
	for name, text := range files {
		out[name] = strings.Replace(text, "before: {", "x-before: {", 1)
	}
	return out
}

// Workers get the plan, its files, its modules and its environment from the coordinator
// alone, and no two users have the same row.
func TestWorkersRunAPlanThatIsElsewhere(t *testing.T) {
	setEnvironment(t)
	dir := folder(t, withoutBefore(scripted))
	url, seen := counting(t)
	var mu sync.Mutex
	lines := 0
	o := patientOptions(url)
	o.OnLog = func(int64, string) { mu.Lock(); lines++; mu.Unlock() }
	r := ran(t, 3, load.Workload{Plan: filepath.Join(dir, "plan/plan.yml"), Target: url}, o)
	want := map[string]int{"/after": 1}
	for _, user := range "abcdefgh" {
		want["/"+string(user)+"?xelv&e"] = 1
	}
	fatal.Same(t, seen(), want, "sent")
	if r.Void != "" || r.Requests != 8 || r.Completed != 8 || len(r.Workers) != 3 || r.Early || lines != 8 {
		t.Errorf("void %q, %d requests, %d completed, %d lines, workers %+v", r.Void, r.Requests, r.Completed, lines, r.Workers)
	}
}

// What a plan's scripts look for during the run alone was not sent: the run is void, and
// says which file it was. A file that is nowhere is the plan's own affair.
func TestAFileThatWasNotSentVoidsTheRun(t *testing.T) {
	setEnvironment(t)
	for include, says := range map[string]string{"includeFiles: []": "late/later.json", "includeFiles: [late/later.json]": "", "includeFiles: [late/later.json, ]": "$WORKERS_UNNAMED"} {
		files := withoutBefore(scripted)
		if strings.HasPrefix(says, "$") {
			files["plan/lib/main.js"] = strings.Replace(files["plan/lib/main.js"], "done()", "c.vars.x = process.env['WORKERS_' + 'UNNAMED']; done()", 1)
		}
		files["plan/plan.yml"] = strings.Replace(files["plan/plan.yml"], "includeFiles: [late/later.json]", include, 1)
		files["plan/lib/main.js"] = "require('fs').existsSync('nowhere');" + files["plan/lib/main.js"]
		url, _ := counting(t)
		r := ran(t, 1, load.Workload{Plan: filepath.Join(folder(t, files), "plan/plan.yml"), Target: url}, patientOptions(url))
		if (r.Void == "") != (says == "") || !strings.Contains(r.Void, says) {
			t.Errorf("%s: void %q", include, r.Void)
		}
	}
}

// The variables of the flow before the run, which the coordinator runs, are every
// worker's users'.
func TestTheFlowBeforeRunsOnce(t *testing.T) {
	url, seen := counting(t)
	dir := folder(t, map[string]string{"p.yml": `config: {phases: [{duration: 1, arrivalCount: 6}]}
before: {flow: [{get: {url: /login, capture: {json: $.t, as: token}}}]}
scenarios: [{flow: [{get: {url: "/{{ token.a[0] }}"}}]}]`})
	r := ran(t, 2, load.Workload{Plan: filepath.Join(dir, "p.yml")}, patientOptions(url))
	if !reflect.DeepEqual(seen(), map[string]int{"/login": 1, "/deep": 6}) || r.Void != "" {
		t.Errorf("void %q, sent %v", r.Void, seen())
	}
}

func quick(url string) load.Workload {
	return load.Workload{Plan: url, Rate: 20, Duration: time.Second}
}

// Two versions refuse each other by name, whatever the coordinator or the worker is.
func TestVersionsRefuseEachOther(t *testing.T) {
	link := workersOf(t, 1)
	other := link
	other.Version = "v2"
	c := Coordinator{Link: other, Expect: 1, Wait: time.Minute}
	_, err := c.Run(t.Context(), quick("http://127.0.0.1:1/"), load.Options{Protocol: wire.HTTP1})
	whittletest.Refused(t, err, whittle.FailedPrecondition, "", `worker "w0"`, `"v1"`, `"v2"`)
	if _, err := link.decode([]byte(`{"format":"whittle.load.workers/2","version":"v1","kind":"join","id":"i","name":"n"}`)); !errors.Is(err, errVersion) || !strings.Contains(err.Error(), "workers/2") {
		t.Errorf("another format: %v", err)
	}
}

// What cannot be run is refused before anybody is called, or by the worker's name.
func TestRefusals(t *testing.T) {
	link := linkTo(startNATS(t).ClientURL())
	dir := folder(t, map[string]string{"pool.yml": "config: {target: 'http://127.0.0.1:1', http: {pool: 1}, phases: [{duration: 1, arrivalRate: 2}]}\nscenarios: [{flow: [{get: {url: /}}]}]"})
	run := func(c Coordinator, w load.Workload) error {
		_, err := c.Run(t.Context(), w, load.Options{Protocol: wire.HTTP1})
		return err
	}
	none := load.Workload{Plan: filepath.Join(dir, "none.yml")}
	whittletest.Refused(t, run(Coordinator{Link: link, Wait: time.Millisecond}, none), whittle.NotFound, "no plan")
	whittletest.Refused(t, run(Coordinator{Link: link, Wait: time.Millisecond}, quick("http://127.0.0.1:1/")), whittle.Unavailable, "", "no worker joined")
	serveWorkers(t, link, 2)
	if err := run(Coordinator{Link: link, Expect: 2, Wait: time.Minute}, load.Workload{Plan: filepath.Join(dir, "pool.yml")}); whittle.CodeOf(err) != whittle.Unsupported {
		t.Errorf("a pool of one for two: %v", err)
	}
	serveWorkers(t, link, 1) // another w0
	whittletest.Refused(t, run(Coordinator{Link: link, Expect: 3, Wait: time.Minute}, quick("http://127.0.0.1:1/")), whittle.Invalid, "two of a name", `"w0"`)
	for _, subject := range []string{"a b", "a.*", ".a", "a.>"} {
		bad := link
		bad.Subject = subject
		whittletest.Refused(t, run(Coordinator{Link: bad, Wait: time.Minute}, quick("http://127.0.0.1:1/")), whittle.Invalid, "subject "+subject)
	}
}

// Workers are there for the next run after one that was ended early, that failed to
// begin, or that two coordinators wanted at once.
func TestWorkersServeRunAfterRun(t *testing.T) {
	link := workersOf(t, 2)
	url, seen := counting(t)
	c := Coordinator{Link: link, Expect: 2, Wait: time.Minute}
	for i := range 3 {
		ctx, end := context.WithCancel(t.Context())
		w := quick(url + "/run" + fmt.Sprint(i))
		if i == 1 {
			w.Duration = time.Hour
		}
		o := patientOptions("")
		o.OnProgress = func(p report.Progress) {
			if i == 1 && p.Completed > 5 {
				end()
			}
		}
		r, err := c.Run(ctx, w, o)
		end()
		if err != nil || r.Void != "" || r.Early != (i == 1) || r.Completed != int64(seen()["/run"+fmt.Sprint(i)]) || i != 1 && r.Completed != 20 {
			t.Fatalf("run %d: %v %+v", i, err, r)
		}
	}
}

// A message that no worker sends changes nothing, and one that is lost voids the run.
func TestWhatIsLostOrForgedVoidsTheRun(t *testing.T) {
	url := startNATS(t).ClientURL()
	link := linkTo(url)
	serveWorkers(t, link, 1)
	target, _ := counting(t)
	conn, err := client.Connect(url)
	fatal.If(t, err)
	defer conn.Close()
	link.Subject = DefaultSubject
	heard := make(chan *client.Msg, 64)
	_, err = conn.ChanSubscribe(link.Subject+".from.*", heard)
	fatal.If(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for raw := range heard {
			m, err := link.decode(raw.Data)
			if err != nil || m.Kind != toSay || m.Number != 2 {
				continue
			}
			_ = conn.Publish(raw.Subject, []byte("{not JSON"))
			forged := *m
			forged.ID = "nobody"
			_ = conn.Publish(raw.Subject, link.encode(forged))
			forged.ID, forged.Number = m.ID, 9
			_ = conn.Publish(raw.Subject, link.encode(forged))
			return
		}
	}()
	c := Coordinator{Link: link, Expect: 1, Wait: time.Minute}
	w := quick(target)
	w.Duration = time.Hour
	r, err := c.Run(t.Context(), w, patientOptions(""))
	fatal.If(t, err)
	<-done
	if !strings.Contains(r.Void, "worker w0: ") || !strings.Contains(r.Void, "of its messages were lost") || r.Err() == nil {
		t.Errorf("void %q", r.Void)
	}
}

// Scripts that fail are one place with one count, whichever workers they failed in, and
// what a condition goes by.
func TestFailedScriptsOfAllWorkersAreOneCount(t *testing.T) {
	failing := jmxtest.Groovy("JSR223PostProcessor", "look", `throw new Exception("no")`)
	dir := folder(t, map[string]string{"p.jmx": jmxtest.Plan(jmxtest.Group(6, 2, "\n"+jmxtest.Get("/x", failing)))})
	url, _ := counting(t)
	o := patientOptions(url)
	conditions, err := report.ParseFailIf([]string{"scripts > 11", "scripts > 12"})
	fatal.If(t, err)
	o.FailIf = conditions
	r := ran(t, 3, load.Workload{Plan: filepath.Join(dir, "p.jmx"), Target: url}, o)
	if r.Void != "" || len(r.ScriptFailures) != 1 || r.ScriptFailures[0].Count != 12 || filepath.Base(r.ScriptFailures[0].File) != "p.jmx" || r.ScriptFailures[0].Line != 2 {
		t.Errorf("void %q, %+v", r.Void, r.ScriptFailures)
	}
	if len(r.Ensure) != 2 || r.Ensure[0].Passed || !r.Ensure[1].Passed {
		t.Errorf("%+v", r.Ensure)
	}
}

// TestAConnectionThatWasLostBeforeTheRunVoidsNothing: what counts is what is sent from the
// start on.
func TestAConnectionThatWasLostBeforeTheRunVoidsNothing(t *testing.T) {
	s := startNATS(t)
	link := linkTo(s.ClientURL())
	target, _ := counting(t)
	c := Coordinator{Link: link, Expect: 1, Wait: time.Minute, Say: func(text string) {
		if !strings.HasPrefix(text, "waits for") {
			return
		}
		all, err := s.Connz(nil)
		if err != nil || len(all.Conns) != 1 {
			t.Errorf("%+v, %v", all, err)
			return
		}
		if err := s.DisconnectClientByID(all.Conns[0].Cid); err != nil {
			t.Error(err)
		}
		serveWorkers(t, link, 1)
	}}
	r, err := c.Run(t.Context(), quick(target), patientOptions(""))
	fatal.If(t, err)
	if r.Void != "" || r.Completed == 0 {
		t.Errorf("void %q, %d responses", r.Void, r.Completed)
	}
}

// A parcel has what was read of it and nothing else, and is bounded by name.
func TestParcel(t *testing.T) {
	dir := folder(t, scripted)
	setEnvironment(t)
	p := newParcel()
	w := load.Workload{Plan: filepath.Join(dir, "plan/plan.yml"), Files: p, Getenv: p.Getenv}
	_, err := w.Read()
	fatal.If(t, err)
	b, err := p.pack(assignment{Options: load.Options{Seed: 1<<52 + 1}, Workload: w})
	fatal.If(t, err)
	u, err := unpack(b)
	fatal.If(t, err)
	if u.order.Options.Seed != 1<<52+1 || u.order.Workload.Plan != w.Plan || !reflect.DeepEqual(u.env, map[string]string{"WORKERS_TEST": "e", "WORKERS_LATE": "v"}) {
		t.Errorf("order %+v, environment %v", u.order, u.env)
	}
	var names []string
	for _, f := range u.zip.File {
		names = append(names, f.Name)
	}
	if all := strings.Join(names, " "); strings.Contains(all, "unused") || !strings.Contains(all, "folder/lib/part.js") || !strings.Contains(all, "folder/late/later.json") {
		t.Errorf("sent: %s", all)
	}
	_, err = u.ReadFile("plan", "/etc/passwd", 1<<20)
	whittletest.Refused(t, err, whittle.NotFound, "a file of the worker's own")
	big := newParcel()
	whittletest.Refused(t, big.put(big.files, "huge.csv", make([]byte, maxBundle+1)), whittle.ResourceExhausted, "too large", "huge.csv")
	if _, err := big.pack(assignment{}); err == nil {
		t.Error("what was too large is left out")
	}
	for _, bad := range [][]byte{nil, []byte("PK"), b[:len(b)/2]} {
		if _, err := unpack(bad); err == nil {
			t.Errorf("%d bytes are a parcel", len(bad))
		}
	}
}
