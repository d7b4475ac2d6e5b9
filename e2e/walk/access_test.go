package walk

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"whittle/e2e/process"
	"whittle/internal/fatal"
)

// TestAccessLogOverAReplacement has the process replaced under load: each request is in the
// access log, once and whole, and the process that has taken over goes on with the recorded log.
func TestAccessLogOverAReplacement(t *testing.T) {
	m := process.Monolith(t)
	dir := t.TempDir()
	log, recorded := filepath.Join(dir, "access.log"), filepath.Join(dir, "recorded")
	r := openReplaceable(t, setting{Monolith: m.Public, Candidate: newFake(t).address(), Plain: true, Top: "access: {file: " + log + "}\nlimits: {grace: 2s}\nrecord: {dir: " + recorded + ", sample: 100%}\n"})
	count := func() (n int64, say string) {
		out, err := exec.CommandContext(t.Context(), gateway, "record", "ls", recorded, "--json=-").Output()
		var ls struct{ Routes []struct{ Count int64 } }
		if err = errors.Join(err, json.Unmarshal(out, &ls)); err != nil || len(ls.Routes) != 1 {
			return 0, fmt.Sprintf("%v %s", err, out)
		}
		return ls.Routes[0].Count, ""
	}
	c := gather(r.Public, 8, func(u *user, _ int) error { return u.count(1000) })
	c.more(t, 100)
	r.Replace()
	before, _ := count()
	c.more(t, 100)
	c.home()
	c.content(t)
	ids := map[string]bool{}
	process.Await(t, "each request to have its line", func() (bool, string) {
		clear(ids)
		files, _ := filepath.Glob(log + "*")
		for _, name := range files {
			b, err := os.ReadFile(name)
			fatal.If(t, err)
			for line := range strings.Lines(string(b)) {
				var e struct {
					ID     string `json:"request_id"`
					Status int    `json:"status"`
				}
				if err := json.Unmarshal([]byte(line), &e); err != nil || e.Status != 200 || ids[e.ID] {
					t.Fatalf("%s has %q: %v", name, line, err)
				}
				ids[e.ID] = true
			}
		}
		return int64(len(ids)) >= c.served.Load(), fmt.Sprint(len(ids))
	})
	if int64(len(ids)) != c.served.Load() {
		t.Errorf("%d requests, %d lines", c.served.Load(), len(ids))
	}
	process.Await(t, "the other process to record", func() (bool, string) {
		n, say := count()
		return before > 0 && n > before && n <= c.served.Load(), fmt.Sprint(n, " of ", before, say)
	})
}
