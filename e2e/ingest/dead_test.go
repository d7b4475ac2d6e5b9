package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle/systems/ingest/deadletter"
)

// deadLedger counts what became of the events that were sent.
type deadLedger struct {
	mu                                sync.Mutex // guards the following
	sent, kept, duplicate, rejected   int
	accepted                          map[string]bool   // ids
	letters                           map[string]string // by the name that the response gave, the event
	withoutLetter, unanswered, misses int
}

// spoilt are events that no parser can take, each in its own way.
var spoilt = []string{
	`{"type":"track","userId":"u","n":%q,"x":NaN}`, `{"type":"track","n":%q}`, `{"type":"track","userId":"u","n":%q,"x":}`, `["n",%q]`, `{"n":%q,"y":-Infinity}`, `{"type":"nonsense","userId":"u","n":%q}`,
}

// send posts a batch of good and spoilt events until there is a response, and
// counts what it says.
func (l *deadLedger) send(ctx context.Context, c *http.Client, base func() string, name string, random *rand.Rand) {
	var events []string
	bad := map[int]bool{}
	for i := range 1 + random.IntN(12) {
		id := fmt.Sprintf("%s-%d", name, i)
		if random.IntN(3) == 0 {
			bad[i] = true
			events = append(events, fmt.Sprintf(spoilt[random.IntN(len(spoilt))], id))
			continue
		}
		events = append(events, fmt.Sprintf(`{"type":"track","userId":"u","event":"e","messageId":%q}`, id))
	}
	body := `{"batch":[` + strings.Join(events, ",") + `]}`
	for ctx.Err() == nil {
		var a struct {
			Events, Accepted, Duplicate, Rejected int
			Results                               []struct {
				Status, DeadLetter string
				Index              int
			}
		}
		code, err := postBatch(ctx, c, base(), body, &a)
		if err != nil || code != http.StatusOK && code != http.StatusBadRequest {
			l.mu.Lock()
			l.unanswered++
			l.mu.Unlock()
			continue
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.sent, l.kept, l.duplicate, l.rejected = l.sent+len(events), l.kept+a.Accepted, l.duplicate+a.Duplicate, l.rejected+a.Rejected
		for i, r := range a.Results {
			switch {
			case (r.Status == "rejected") != bad[i]:
				l.misses++
			case !bad[i]:
				l.accepted[fmt.Sprintf("%s-%d", name, i)] = true
			case r.DeadLetter == "" || r.Index != i:
				l.withoutLetter++
			default:
				l.letters[r.DeadLetter] = events[i]
			}
		}
		return
	}
}

func postBatch(ctx context.Context, c *http.Client, base, body string, into any) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/batch", strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, json.Unmarshal(b, into)
}

// TestWhatIsRejectedIsNotGone kills the service with -9 while clients send batches
// of good and of spoilt events: what was sent is kept, duplicate or rejected,
// and each rejected event can be read again byte for byte.
func TestWhatIsRejectedIsNotGone(t *testing.T) {
	data := t.TempDir()
	l := &deadLedger{accepted: map[string]bool{}, letters: map[string]string{}}
	kills := rounds(3)
	for round := range kills {
		s := serve(t, data)
		ctx, cancel := context.WithCancel(t.Context())
		var clients sync.WaitGroup
		before := l.total()
		for p := range 8 {
			clients.Go(func() {
				c := &http.Client{Transport: &http.Transport{}, Timeout: 20 * time.Second}
				defer c.CloseIdleConnections()
				random := rand.New(rand.NewPCG(uint64(round), uint64(p)))
				for n := 0; ctx.Err() == nil; n++ {
					l.send(ctx, c, func() string { return s.public }, fmt.Sprintf("r%d-p%d-n%d", round, p, n), random)
				}
			})
		}
		within(t, "events sent", func() bool { return l.total() >= before+500 })
		s.kill()
		cancel()
		clients.Wait()
	}
	lost, altered := 0, 0
	there := map[string]string{}
	for _, e := range entries(t, filepath.Join(data, "dead")) {
		letter, err := deadletter.Read(&e.Record)
		if err != nil {
			t.Fatal(err)
		}
		there[e.Position.Offset] = strings.TrimSuffix(strings.TrimPrefix(string(letter.Body), `{"batch":[`), "]}")
	}
	for name, event := range l.letters {
		switch got, ok := there[name]; {
		case !ok:
			lost++
		case got != event:
			altered++
		}
	}
	for _, e := range entries(t, data) {
		delete(l.accepted, e.ID)
	}
	t.Logf("AUDIT dead letters: %d kills, %d events sent = %d kept + %d duplicates + %d rejected, %d responses lost by kills; %d dead letters read back, %d lost, %d altered; %d acknowledged events lost",
		kills, l.sent, l.kept, l.duplicate, l.rejected, l.unanswered, len(there), lost, altered, len(l.accepted))
	if l.sent != l.kept+l.duplicate+l.rejected || lost+altered+l.misses+l.withoutLetter+len(l.accepted) > 0 || len(l.letters) != l.rejected {
		t.Errorf("it does not add up: %d without a letter, %d with another outcome, %d letters of %d rejected", l.withoutLetter, l.misses, len(l.letters), l.rejected)
	}
	// And by the verb, as an operator reads them.
	out, err := exec.CommandContext(t.Context(), binary, "dead", "ls", "--env-file", "", "--data", data, "-n", "0", "--json").Output()
	if bad, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("%v: %s", err, bad.Stderr)
	}
	if n := bytes.Count(out, []byte("\n")); n != len(there) {
		t.Errorf("dead ls shows %d of %d", n, len(there))
	}
	l.resolve(t, data, slices.Sorted(maps.Keys(there)))
}

// resolve mends some of the letters, sends some as they are, and removes all others.
// Then none is listed, each has one outcome, and what was mended is kept once.
func (l *deadLedger) resolve(t *testing.T, data string, names []string) {
	t.Helper()
	dead := func(in string, fails bool, args ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), binary, append([]string{"dead", args[0], "--env-file", "", "--data", data}, args[1:]...)...)
		cmd.Stdin = strings.NewReader(in)
		out, err := cmd.Output()
		if _, failed := errors.AsType[*exec.ExitError](err); failed != fails {
			t.Fatalf("%q: %v", args, err)
		}
		return out
	}
	s := serve(t, data)
	const mended, again = 3, 5
	for i, name := range names[:mended] {
		event := fmt.Sprintf(`{"batch":[{"type":"track","userId":"u","event":"e","messageId":"mended-%d"}]}`, i)
		dead(event, false, "retry", "--url", s.public, "--mended", "-", name)
	}
	dead("", true, append([]string{"retry", "--url", s.public}, names[mended:mended+again]...)...)
	dead("", false, "rm", "--source", "any", "--reason", "the test's")
	if out := dead("", false, "ls"); !bytes.HasPrefix(out, fmt.Appendf(nil, "0 dead letters, 0 shown; --all has %d more", len(names)+again)) {
		t.Errorf("dead ls says %s", out)
	}
	all := dead("", false, "ls", "--all", "-n", "0", "--json")
	for outcome, want := range map[string]int{"mended": mended, "replaced": again, "removed": len(names) - mended, "sent": 0} {
		if n := bytes.Count(all, fmt.Appendf(nil, `"outcome":%q`, outcome)); n != want {
			t.Errorf("%d of %d letters are %s, not %d", n, len(names)+again, outcome, want)
		}
	}
	s.kill()
	kept := 0
	for _, e := range entries(t, data) {
		if strings.HasPrefix(e.ID, "mended-") {
			kept++
		}
	}
	if kept != mended {
		t.Errorf("%d of %d mended events are kept", kept, mended)
	}
}

func (l *deadLedger) total() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent
}
