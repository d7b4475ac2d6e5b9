//go:build linux

package profile

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"whittle/e2e/process"
	"whittle/internal/child"
	"whittle/internal/fatal"
	"whittle/profile/report"
)

// profiled says whether V8's profiler runs in a process: it has a thread then.
func profiled(t *testing.T, pid int) bool {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", pid))
	if err != nil || len(threads) == 0 {
		t.Fatalf("the threads of process %d: %v", pid, err)
	}
	for _, path := range threads {
		if name, err := os.ReadFile(path); err == nil && strings.HasPrefix(string(name), "v8:Prof") { // one that ended is gone
			return true
		}
	}
	return false
}

// TestNothingIsLeftOnByAKilledWhittle kills whittle in the middle of a profile,
// which gives it no time to turn off what it turned on.
func TestNothingIsLeftOnByAKilledWhittle(t *testing.T) {
	for _, way := range []struct {
		name, flag string
		open       bool // the inspector, before whittle came
	}{
		{"an inspector that whittle opened", "--inspect-port=127.0.0.1:0", false},
		{"one that was open", "--inspect=127.0.0.1:0", true},
	} {
		t.Run(way.name, func(t *testing.T) {
			node := process.Monolith(t, way.flag)
			id := node.Pid()
			before := fmt.Sprint(listeningOn(t, id))
			whittle, err := child.Spawn(child.Options{}, filepath.Join(built, "whittle"), "profile", pid(node), "--duration", "1h")
			fatal.If(t, err)
			t.Cleanup(whittle.Kill)
			process.Until(t, "the profiler runs", func() bool { return profiled(t, id) })
			if during := fmt.Sprint(listeningOn(t, id)); (during == before) != way.open {
				t.Fatalf("it listened on %s before, on %s now", before, during)
			}
			// Whittle at rest keeps nobody waiting, and closes nothing.
			fatal.If(t, whittle.Signal(syscall.SIGSTOP))
			count(t, node)
			if !profiled(t, id) {
				t.Error("the profile ended with a whittle that was only stopped")
			}
			whittle.Kill()
			process.Until(t, "the profiler is off and the inspector as it was", func() bool {
				return !profiled(t, id) && fmt.Sprint(listeningOn(t, id)) == before
			})
			count(t, node)
		})
	}
}

// count has the monolith serve a request.
func count(t *testing.T, p *process.Process) {
	t.Helper()
	client := &http.Client{Timeout: process.Patience, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Post("http://"+p.Public+"/Count", "application/json", strings.NewReader(`{"times": 1000}`))
	fatal.If(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("status %s", resp.Status)
	}
}

// listeningOn gives the addresses that a process listens on, as the kernel writes them.
func listeningOn(t *testing.T, pid int) (out []string) {
	t.Helper()
	folder := fmt.Sprintf("/proc/%d", pid)
	fds, err := os.ReadDir(filepath.Join(folder, "fd"))
	fatal.If(t, err)
	var sockets []string
	for _, fd := range fds {
		if to, err := os.Readlink(filepath.Join(folder, "fd", fd.Name())); err == nil && strings.HasPrefix(to, "socket:[") {
			sockets = append(sockets, strings.Trim(strings.TrimPrefix(to, "socket:"), "[]"))
		}
	}
	for _, table := range []string{"tcp", "tcp6"} {
		for row := range strings.Lines(fatal.Read(t, filepath.Join(folder, "net", table))) {
			if f := strings.Fields(row); len(f) > 9 && f[3] == "0A" && slices.Contains(sockets, f[9]) {
				out = append(out, f[1])
			}
		}
	}
	slices.Sort(out)
	return out
}

// inlining is a server whose handler V8 has inlined into a library's function before a
// profiler came, by V8's own order.
const inlining = `const dispatch = require('dispatch');
function count(times) {
  let sum = 0;
  for (let i = 1; i <= times; i++) sum += Math.round(Math.random() * 100); // dear
  return sum;
}
%PrepareFunctionForOptimization(count);
%PrepareFunctionForOptimization(dispatch);
for (let i = 0; i < 20; i++) dispatch(count, 50000);
%OptimizeFunctionOnNextCall(dispatch);
dispatch(count, 50000);
const table = { 'POST /Count': () => dispatch(count, 8e6), 'GET /': () => 'hello' };
require('http').createServer((req, res) => res.end(String(table[req.method + ' ' + req.url]()))).listen(0, '127.0.0.1', function () {
  console.log('listening public=127.0.0.1:' + this.address().port);
});
`

// TestAHandlerThatIsInlinedIsReported profiles a process whose dear function is on no
// stack: without its optimized code thrown away the line is not seen, and with it is.
func TestAHandlerThatIsInlinedIsReported(t *testing.T) {
	dir := t.TempDir()
	server := fatal.Write(t, filepath.Join(dir, "server.js"), inlining)
	fatal.Write(t, filepath.Join(dir, "node_modules/dispatch/index.js"), "module.exports = (f, n) => f(n);\n")
	node := process.Start(t, "node", "--inspect-port=0", "--allow-natives-syntax", server)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	count := user{client: client, method: http.MethodPost, url: "http://" + node.Public + "/Count", times: 8_000_000}
	hello := user{client: client, method: http.MethodGet, url: "http://" + node.Public + "/"}
	both := func() bool {
		for _, u := range []user{count, hello} {
			if err := u.ask(); err != nil {
				t.Error(err)
				return false
			}
		}
		return true
	}
	over := make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() {
		for both() {
			select {
			case <-over:
				return
			default:
			}
		}
	})
	defer asking.Wait()
	defer close(over)
	profiled := func(args ...string) report.Report {
		kept := filepath.Join(t.TempDir(), "report.json")
		must(t, append([]string{"profile", pid(node), "--json", kept}, args...)...)
		r := fatal.JSON[report.Report](t, kept)
		if len(r.Sites) == 0 {
			t.Fatal("no line of its own")
		}
		return r
	}
	dear := func(r report.Report) bool {
		return strings.HasSuffix(r.Sites[0].Where(), "server.js:4") && r.Sites[0].Share >= 0.5
	}
	if r := profiled("--duration", "1s", "--lines", "cheap"); dear(r) {
		t.Fatalf("V8 did not inline what it was asked to: %+v", r.Sites)
	}
	r := profiled("--duration", "2s")
	if len(r.Endpoints) == 0 || r.Endpoints[0].Name != "POST /Count" || r.Endpoints[0].Share < 0.5 {
		t.Errorf("endpoints: %+v", r.Endpoints)
	}
	if !dear(r) {
		t.Errorf("the random sum is not the dearest line: %+v", r.Sites)
	}
}
