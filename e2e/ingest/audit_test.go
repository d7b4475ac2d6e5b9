package ingest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/internal/notify"
	"whittle/systems/ingest/deadletter"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/streamtest"
)

// overHTTP is the service as a stream of streamtest's producers. An event that was not
// acknowledged is sent again under its id, also after the service was killed: it was kept,
// or it was not, and the service must know which.
type overHTTP struct {
	stream.Stream
	base   func() string
	client *http.Client

	duplicates, refused atomic.Int64
	paced               atomic.Bool // 200 events a second from each producer, in place of all they can

	// spoils has each record that is a producer's first of a call go with an event that no
	// parser takes; letters are those that responses named, by name.
	spoils  bool
	letters sync.Map
}

func newOverHTTP(t *testing.T, base func() string) *overHTTP {
	h := &overHTTP{base: base, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 20 * time.Second}}
	t.Cleanup(h.client.CloseIdleConnections)
	return h
}

// Append implements stream.Stream.
func (h *overHTTP) Append(ctx context.Context, records []stream.Record) []stream.Result {
	results := make([]stream.Result, len(records))
	if h.spoils {
		h.spoil(ctx, records[0].ID)
	}
	for i := range records {
		if h.paced.Load() {
			notify.Sleep(ctx, 5*time.Millisecond)
		}
		for {
			a, err := post(ctx, h.client, h.base(), records[i].ID, string(records[i].Value))
			if err == nil && a.code == http.StatusOK {
				if a.Status == "duplicate" {
					h.duplicates.Add(1)
				}
				results[i].Position.Partition, results[i].Position.Offset, _ = strings.Cut(a.Position, "/")
				break
			}
			if err == nil {
				h.refused.Add(1)
			}
			if !notify.Sleep(ctx, time.Millisecond) {
				results[i].Err = stream.Ended(ctx, "post")
				break
			}
		}
	}
	return results
}

// spoil sends a spoilt event once: a response names its letter, and a kill has none.
func (h *overHTTP) spoil(ctx context.Context, id string) {
	body := fmt.Sprintf(`{"userId":"u","messageId":%q,"x":NaN}`, id)
	a, err := send(ctx, h.client, h.base()+"/v1/track", body, "Content-Type", "application/json")
	if err == nil && a.code == http.StatusBadRequest {
		h.letters.Store(a.DeadLetter, body)
	}
}

// TestEndedAtRandomMoments ends the service while producers send, by -9 and now and then by
// SIGTERM, and starts it again on what is left. Before some starts the log's tail is torn, as
// a power cut leaves it: bytes behind the last commit that no sync covered. No event that was
// acknowledged is lost or doubled, and each rejected one can be read again, byte for byte.
func TestEndedAtRandomMoments(t *testing.T) {
	data := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	l := streamtest.NewLedger(1)
	var at atomic.Pointer[service]
	h := newOverHTTP(t, func() string { return at.Load().public })
	h.spoils = true
	ends, torn := rounds(4), 0
	at.Store(serve(t, data))
	l.During(t, h, 16, time.Minute, func() {
		for n := range ends {
			l.Reach(t, 50+random.IntN(1000))
			if s := at.Load(); n%4 == 1 {
				s.Stop()
				if err := s.Wait(); err != nil {
					t.Errorf("asked to end, it ended with %v:\n%s", err, s.Tail())
				}
			} else {
				s.Kill()
			}
			if random.IntN(2) == 0 {
				tear(t, data, random)
				torn++
			}
			at.Store(serve(t, data)) // the producers go on against it
		}
	})
	at.Load().Kill()
	l.Audit(t, map[string][]stream.Entry{"0": entries(t, data)})
	kept, lost := map[string]string{}, 0
	for _, e := range entries(t, filepath.Join(data, "dead")) {
		letter, err := deadletter.Read(&e.Record)
		fatal.If(t, err)
		kept[e.Position.Offset] = string(letter.Body)
	}
	h.letters.Range(func(name, body any) bool {
		if kept[name.(string)] != body {
			lost++
			t.Errorf("the dead letter %q was %s, and is %q", name, body, kept[name.(string)])
		}
		return lost < 10
	})
	t.Logf("AUDIT ended: %d times, %d torn tails, %d events came again that an ended service had kept, %d dead letters", ends, torn, h.duplicates.Load(), len(kept))
	if len(kept) == 0 || h.duplicates.Load() == 0 && ends > 20 {
		t.Error("no dead letter, or no event that was kept by an ended service and sent again: the audit does not meet that case")
	}
}

// tear writes behind the last commit what a power cut may leave there: the
// beginning of a write, or noise.
func tear(t *testing.T, data string, random *rand.Rand) {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(data, "*.segment"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("no segment in %s: %v", data, err)
	}
	name := segments[len(segments)-1]
	whole, err := os.ReadFile(name)
	fatal.If(t, err)
	// Segments are allocated before they are written, and a record may end in zeros.
	end := len(bytes.TrimRight(whole, "\x00")) + 64
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	fatal.If(t, err)
	defer f.Close()
	noise := make([]byte, 1+random.IntN(3000))
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	_, err = f.WriteAt(noise, int64(end))
	fatal.If(t, err)
}
