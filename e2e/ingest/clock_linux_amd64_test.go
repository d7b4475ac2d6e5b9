package ingest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whittle/e2e/process"
)

// clocked are events that are sent while the clock of the service is set.
type clocked struct {
	service *service
	sent    []string          // ids, in order
	kept    map[string]string // the position of each, as the first response said
	bodies  map[string]string
}

// put sends an event until it is kept or known, and gives which of them it is.
func (c *clocked) put(t *testing.T, id string) (status string) {
	t.Helper()
	within(t, id+" is kept or known", func() bool {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.service.public+"/import", strings.NewReader(c.bodies[id]))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.SetBasicAuth("key", "")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var a response
		if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
			t.Fatal(err)
		}
		status = a.Status
		if had, ok := c.kept[id]; ok && resp.StatusCode == http.StatusOK && (status != "duplicate" || had != a.Position) {
			t.Errorf("%s, kept at %s, is %s at %s when it comes again", id, had, status, a.Position)
		} else if !ok && resp.StatusCode == http.StatusOK {
			c.kept[id] = a.Position
		}
		return resp.StatusCode == http.StatusOK
	})
	return status
}

// phase sends new events, several for each of a few users and enough for a segment,
// and all events of before again.
func (c *clocked) phase(t *testing.T, name string) {
	t.Helper()
	before := len(c.sent)
	for i := range 30 {
		id := fmt.Sprintf("%s, %d", name, i)
		filler := ""
		if i%3 == 0 {
			filler = strings.Repeat("words ", 72<<10)
		}
		c.bodies[id] = fmt.Sprintf(`{"messageId":%q,"userId":"u%d","text":%q}`, id, i%4, filler)
		if status := c.put(t, id); status != "accepted" {
			t.Errorf("%s, which is new, is %s", id, status)
		}
		c.sent = append(c.sent, id)
	}
	for _, id := range c.sent[:before] {
		if len(c.bodies[id]) < 1<<10 {
			c.put(t, id)
		}
	}
}

// lookedAt waits until the log has been looked at by what runs every second: its mark
// was written twice.
func (c *clocked) lookedAt(t *testing.T, data, name string) {
	t.Helper()
	var last time.Time
	for n := range 3 {
		id := fmt.Sprintf("%s, while it is looked at, %d", name, n)
		c.bodies[id] = fmt.Sprintf(`{"messageId":%q,"userId":"u0"}`, id)
		c.put(t, id)
		c.sent = append(c.sent, id)
		within(t, "the mark is written", func() bool {
			info, err := os.Stat(filepath.Join(data, "END"))
			if err != nil {
				t.Fatal(err)
			}
			written := !info.ModTime().Equal(last)
			last = info.ModTime()
			return written
		})
	}
}

// audit reads the log at rest: each event is there once, as it was sent, where its
// response said, and those of each user in the order in which they were sent.
func (c *clocked) audit(t *testing.T, data string) {
	t.Helper()
	n := 0
	for _, e := range entries(t, data) {
		if n == len(c.sent) || e.ID != c.sent[n] || string(e.Value) != c.bodies[e.ID] || c.kept[e.ID] != e.Position.Partition+"/"+e.Position.Offset {
			t.Fatalf("record %d at %s is %q", n, e.Position.Offset, e.ID)
		}
		n++
	}
	if n != len(c.sent) {
		t.Errorf("LOST: %d of %d events are there", n, len(c.sent))
	}
}

// TestClockIsSet sets the clock of a running service to and fro, by an hour and by a
// year, and starts it by wrong clocks after kills. No event goes by the retention of
// an hour, each that comes again is known, and nothing is refused for long.
func TestClockIsSet(t *testing.T) {
	const year = 365 * 24 * time.Hour
	data, keys := t.TempDir(), filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte("key name=shop rate=2000/s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &clocked{kept: map[string]string{}, bodies: map[string]string{}}
	var set *process.Clock
	start := func(ahead time.Duration, flags ...string) {
		c.service = serveBy(t, func(cmd *exec.Cmd) (err error) {
			set, err = process.StartWithClock(cmd, ahead)
			return err
		}, data, append(flags, "--keys", keys)...)
	}
	for _, ahead := range []time.Duration{0, year} {
		start(ahead)
		c.phase(t, fmt.Sprintf("started %v ahead", ahead))
		c.service.kill()
	}
	start(0, "--retain-age", "1h")
	for _, ahead := range []time.Duration{year, 0, -time.Hour, 0, -year, 0} {
		if err := set.Set(ahead); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("%v ahead, %d were sent", ahead, len(c.sent))
		c.phase(t, name)
		c.lookedAt(t, data, name)
	}
	c.service.kill()
	start(-year, "--retain-age", "1h")
	c.phase(t, "started a year behind")
	c.service.kill()
	for n, ahead := range []time.Duration{year, year, 2 * year} {
		start(ahead, "--retain-age", "1h")
		c.lookedAt(t, data, fmt.Sprintf("start %d, %v ahead", n, ahead))
		c.service.kill()
	}
	start(0, "--retain-age", "1h")
	c.lookedAt(t, data, "at the end")
	c.service.kill()
	c.audit(t, data)
}
