package walk

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"whittle/e2e/process"
)

// TestAccessLogIsRotated renames the log under load, as logrotate does, and has the process
// replaced in between: each request is in one of the files, once and whole, and in the
// recorded log.
func TestAccessLogIsRotated(t *testing.T) {
	m := process.Monolith(t)
	dir := t.TempDir()
	log, recorded := filepath.Join(dir, "access.log"), filepath.Join(dir, "recorded")
	r := openReplaceable(t, setting{Monolith: m.Public, Candidate: newFake(t).address(), Plain: true, Top: "access: {file: " + log + "}\nlimits: {grace: 2s}\nrecord: {dir: " + recorded + ", sample: 100%}\n"})
	c := gather(r.Public, 8, func(u *user, _ int) error { return u.count(1000) })
	for i, signal := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGHUP, 0, syscall.SIGUSR1} {
		c.more(t, 100)
		if signal == 0 {
			r.replace(t)
			continue
		}
		if err := os.Rename(log, log+"."+string(rune('a'+i))); err != nil {
			t.Fatal(err)
		}
		all := r.pids(t)
		if err := syscall.Kill(all[len(all)-1], signal); err != nil {
			t.Fatal(err)
		}
		until(t, "the log to be there again", func() (bool, string) {
			_, err := os.Stat(log)
			return err == nil, r.said(t)
		})
	}
	c.more(t, 100)
	c.home()
	c.content(t)
	ids := map[string]bool{}
	until(t, "each request to have its line", func() (bool, string) {
		clear(ids)
		files, _ := filepath.Glob(log + "*")
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
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
	until(t, "each request to be recorded, whoever served it", func() (bool, string) {
		out, err := exec.CommandContext(t.Context(), gateway, "record", "ls", recorded, "--json=-").Output()
		var ls struct{ Routes []struct{ Count int64 } }
		if err = errors.Join(err, json.Unmarshal(out, &ls)); err != nil || len(ls.Routes) != 1 {
			return false, fmt.Sprintf("%v %s", err, out)
		}
		return ls.Routes[0].Count == c.served.Load(), fmt.Sprintf("%d of %d", ls.Routes[0].Count, c.served.Load())
	})
}
