//go:build linux

package profile

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"whittle/e2e/process"
	"whittle/profile/report"
)

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
	server := write(t, "server.js", inlining)
	library := filepath.Join(filepath.Dir(server), "node_modules", "dispatch")
	if err := errors.Join(os.MkdirAll(library, 0o755), os.WriteFile(filepath.Join(library, "index.js"), []byte("module.exports = (f, n) => f(n);\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
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
		r := reads[report.Report](t, kept)
		if len(r.Sites) == 0 {
			t.Fatal("no line of its own")
		}
		return r
	}
	dear := func(r report.Report) bool {
		return strings.HasSuffix(r.Sites[0].Where(), "server.js:4") && r.Sites[0].Share >= 0.5
	}
	if r := profiled("--duration", "2s", "--lines", "cheap"); dear(r) {
		t.Fatalf("V8 did not inline what it was asked to: %+v", r.Sites)
	}
	r := profiled("--duration", "3s")
	if len(r.Endpoints) == 0 || r.Endpoints[0].Name != "POST /Count" || r.Endpoints[0].Share < 0.5 {
		t.Errorf("endpoints: %+v", r.Endpoints)
	}
	if !dear(r) {
		t.Errorf("the random sum is not the dearest line: %+v", r.Sites)
	}
}
