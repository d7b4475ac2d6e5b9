//go:build linux

package profile

import (
	"net/http"
	"path/filepath"
	"sync"
	"testing"

	"whittle/e2e/process"
	"whittle/profile/report"
)

// TestAHandlerThatIsInlinedIsTold profiles a monolith whose counts were long
// before: V8 has inlined their handler into Express's router by then.
func TestAHandlerThatIsInlinedIsReported(t *testing.T) {
	node := process.Monolith(t, "--inspect-port=0")
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
	for range 40 {
		if !both() {
			t.FailNow()
		}
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
	kept := filepath.Join(t.TempDir(), "report.json")
	_, _, status := command(t, "profile", pid(node), "--duration", "3s", "--json", kept)
	close(over)
	asking.Wait()
	if status != 0 {
		t.Fatalf("exit status %d", status)
	}
	r := reads[report.Report](t, kept)
	if len(r.Endpoints) == 0 || r.Endpoints[0].Name != "POST /Count" || r.Endpoints[0].Share < 0.5 {
		t.Errorf("endpoints: %+v", r.Endpoints)
	}
	random := line(t, "systems/count/monolith/app.js", "Math.random")
	if len(r.Sites) == 0 || r.Sites[0].Where() != random || r.Sites[0].Share < 0.5 {
		t.Errorf("the random sum at %s is not the dearest line: %+v", random, r.Sites)
	}
}
