package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/systems/ingest/dedup"
	"whittle/systems/ingest/front"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/embedded"
)

// receiver is another ingest, in front of which requests fail as a test says.
type receiver struct {
	*httptest.Server
	log   *embedded.Log
	front http.Handler

	mu       sync.Mutex // guards the following
	fail     func(w http.ResponseWriter, serve func()) bool
	instead  http.HandlerFunc // nil: the front has all requests
	requests int
}

// handle has requests go to a test, which may pass them on to the front.
func (r *receiver) handle(h http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.instead = h
}

func newReceiver(t *testing.T, seen *dedup.Window) *receiver {
	t.Helper()
	log, err := embedded.Open(t.TempDir(), embedded.Options{ScrubRate: -1})
	if err != nil {
		t.Fatal(err)
	}
	f, err := front.New(front.Options{Stream: log, Seen: seen})
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{log: log, front: f}
	r.Server = httptest.NewServer(r)
	t.Cleanup(func() {
		r.Close()
		_ = log.Close(context.Background())
	})
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	r.requests++
	fail, instead := r.fail, r.instead
	r.mu.Unlock()
	if instead != nil {
		instead(w, q)
		return
	}
	if q.Method == http.MethodPost && fail != nil && fail(w, func() { r.front.ServeHTTP(httptest.NewRecorder(), q) }) {
		return
	}
	r.front.ServeHTTP(w, q)
}

// source is a log of records of all kinds, and what is in it.
func source(t *testing.T, n int, random *rand.Rand) (dir string, all []stream.Record) {
	t.Helper()
	dir = t.TempDir()
	log, err := embedded.Open(dir, embedded.Options{ScrubRate: -1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		value := make([]byte, random.IntN(600))
		for k := range value {
			value[k] = byte(random.Uint32())
		}
		r := stream.Record{
			ID: fmt.Sprintf("id-%d", i), Key: []string{"", "a", "b", "käse", fmt.Sprint(i % 50)}[random.IntN(5)], Time: time.Unix(1_700_000_000, int64(i)).UTC(),
			Header: []stream.Header{{Name: "kind", Value: []string{"track", "page", "import"}[random.IntN(3)]}, {Name: "source", Value: "shop"}}, Value: value,
		}
		r.Seal()
		all = append(all, r)
	}
	for i, r := range log.Append(t.Context(), all) {
		if r.Err != nil {
			t.Fatalf("record %d: %v", i, r.Err)
		}
	}
	if err := log.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dir, all
}

// wantReplayed holds a receiver's log against the source: each record once, with
// all that it was, and those of a key in their order.
func wantReplayed(t *testing.T, r *receiver, all []stream.Record) {
	t.Helper()
	want := map[string]*stream.Record{}
	for i := range all {
		want[all[i].ID] = &all[i]
	}
	lastOf, number := map[string]int{}, map[string]int{}
	for i := range all {
		number[all[i].ID] = i
	}
	parts, err := r.log.Partitions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = stream.Walk(t.Context(), r.log, parts[0], func(b []stream.Entry) error {
		for _, e := range b {
			w := want[e.ID]
			delete(want, e.ID)
			if w == nil || !bytes.Equal(w.Value, e.Value) || w.Key != e.Key || !w.Time.Equal(e.Time) || !reflect.DeepEqual(w.Header, e.Header) {
				t.Errorf("%s at %s is there again, or is not what it was", e.ID, e.Position.Offset)
				continue
			}
			if n := number[e.ID] + 1; e.Key != "" {
				if lastOf[e.Key] > n {
					t.Errorf("%s came behind a later one of the key %q", e.ID, e.Key)
				}
				lastOf[e.Key] = n
			}
		}
		return nil
	}, func(e *stream.CorruptError) error { return e })
	if err != nil {
		t.Fatal(err)
	}
	if len(want) > 0 {
		t.Errorf("%d of %d are missing", len(want), len(all))
	}
}

// TestReplayToAServerThatFails: whatever a server does at random, each event
// arrives once, in order by key, with all that it was.
func TestReplayToAServerThatFails(t *testing.T) {
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 1))
		dir, all := source(t, 3000, random)
		r := newReceiver(t, dedup.New(dedup.Options{}))
		var mu sync.Mutex
		r.fail = func(w http.ResponseWriter, serve func()) bool {
			mu.Lock()
			n := random.IntN(16)
			mu.Unlock()
			switch n {
			case 0:
				w.WriteHeader(http.StatusServiceUnavailable)
			case 1:
				w.WriteHeader(http.StatusTooManyRequests)
			case 2: // it is kept, and the response is lost
				serve()
				panic(http.ErrAbortHandler)
			case 3:
				panic(http.ErrAbortHandler)
			case 4:
				serve()
				w.WriteHeader(http.StatusBadGateway)
			case 5: // half a response
				serve()
				w.Header().Set("Content-Length", "100")
				_, _ = io.WriteString(w, `{"v":1`)
			case 6:
				w.WriteHeader(http.StatusOK)
				_, _ = io.WriteString(w, "<html>")
			case 7:
				w.WriteHeader(http.StatusRequestEntityTooLarge)
				_, _ = io.WriteString(w, "too large, says somebody on the way")
			default:
				return false
			}
			return true
		}
		to, err := newHTTPTarget(r.URL+"/import", "", 4)
		if err != nil {
			t.Fatal(err)
		}
		to.wait = time.Microsecond
		if err := to.ask(t.Context()); err != nil || !to.records {
			t.Fatalf("%v, %v", to.records, err)
		}
		src, err := (&streamFlags{Sink: "embedded", Data: dir}).openForReading(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		state, err := readReplayState("", "")
		if err != nil {
			t.Fatal(err)
		}
		p := &replay{to: to, within: timeout, s: streams{out: &out, err: &errs}, state: state}
		parts, err := src.Partitions(t.Context())
		if err == nil {
			err = p.partition(t.Context(), src, parts[0])
		}
		closeQuietly(src)
		// 413 of a single event is about that event: it is rejected, and named.
		if err != nil || p.sent+p.rejected != len(all) {
			t.Fatalf("seed %d: %d sent, %d rejected, %v", seed, p.sent, p.rejected, err)
		}
		to.close()
		var kept []stream.Record
		for i := range all {
			if !strings.Contains(errs.String(), fmt.Sprintf("0/%d was rejected: 413", i)) {
				kept = append(kept, all[i])
			}
		}
		wantReplayed(t, r, kept)
	}
}

// TestReplayStops where the other side takes no events at all, and goes on
// exactly there: nothing is sent twice.
func TestReplayStops(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	dir, all := source(t, 2000, random)
	r := newReceiver(t, nil) // which would keep what is sent twice
	statePath := filepath.Join(t.TempDir(), "state.json")
	codes := []int{401, 403, 404, 405, 415, 301, 302, 307, 410, 501, 505}
	taken, stops := 0, 0
	for {
		var mu sync.Mutex
		left := 1 + random.IntN(3) // requests until it stops
		code := codes[stops%len(codes)]
		after := 0
		r.mu.Lock()
		r.fail = func(w http.ResponseWriter, _ func()) bool {
			mu.Lock()
			defer mu.Unlock()
			if left--; left >= 0 {
				return false
			}
			after++
			w.Header().Set("Location", r.URL+"/elsewhere")
			w.WriteHeader(code)
			return true
		}
		r.mu.Unlock()
		var out, errs bytes.Buffer
		status := Run(t.Context(), []string{"replay", "--env-file", "", "--data", dir, "--url", r.URL + "/import", "--state", statePath, "--posts", "3", "--limit", fmt.Sprint(100 + random.IntN(300))},
			streams{in: strings.NewReader(""), out: &out, err: &errs})
		if stops > 200 {
			t.Fatalf("it does not come to an end: %s%s", &out, &errs)
		}
		mu.Lock()
		if after > 3 {
			t.Errorf("%d requests after the first %d, of 3 at once", after, code)
		}
		if after > 0 {
			stops++
			if status != 2 || !strings.Contains(errs.String(), fmt.Sprint(code)) {
				t.Errorf("status %d after %d: %s", status, code, &errs)
			}
		}
		mu.Unlock()
		if status == 0 && strings.Contains(out.String(), "\n0 events sent") || status == 0 && strings.HasPrefix(out.String(), "0 events sent") {
			break
		}
		taken++
	}
	if stops < len(codes) {
		t.Errorf("it was stopped %d times in %d runs", stops, taken)
	}
	wantReplayed(t, r, all)
	if parts, err := r.log.Partitions(t.Context()); err != nil || parts[0].Next.Offset != fmt.Sprint(len(all)) {
		t.Errorf("%+v, %v", parts, err)
	}
}

// TestReplayToAnyServer posts each event by itself where nobody takes records:
// as many at once as are asked for, and those of a key one after the other.
func TestReplayToAnyServer(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	dir, all := source(t, 300, random)
	var mu sync.Mutex
	got := map[string]int{}
	var order []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		b, _ := io.ReadAll(q.Body)
		id := q.Header.Get("Idempotency-Key")
		mu.Lock()
		defer mu.Unlock()
		got[id+string(b)]++
		order = append(order, id)
		if strings.HasSuffix(id, "7") {
			w.WriteHeader(http.StatusUnprocessableEntity)
		}
	}))
	defer s.Close()
	var out, errs bytes.Buffer
	status := Run(t.Context(), []string{"replay", "--env-file", "", "--data", dir, "--url", s.URL + "/events"}, streams{in: strings.NewReader(""), out: &out, err: &errs})
	if status != whittle.FallsShort.ExitStatus() || !strings.Contains(out.String(), "270 events sent, 30 rejected, 0 corrupt") || !strings.Contains(errs.String(), "0/7 was rejected: 422") {
		t.Errorf("status %d: %s%s", status, &out, &errs)
	}
	at := map[string]int{}
	for i, id := range order {
		at[id] = i
	}
	last := map[string]int{}
	for _, r := range all {
		if got[r.ID+string(r.Value)] != 1 {
			t.Errorf("%s came %d times", r.ID, got[r.ID+string(r.Value)])
		}
		if r.Key != "" && at[r.ID] < last[r.Key] {
			t.Errorf("%s came before an earlier one of its key", r.ID)
		}
		last[r.Key] = at[r.ID]
	}
}

// TestOneReplayGoesOnByAState: two by one file would each write down where they are, and
// the events of a key could pass each other.
func TestOneReplayGoesOnByAState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	s, err := readReplayState(path, "here → there")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readReplayState(path, "here → there"); whittle.CodeOf(err) != whittle.FailedPrecondition {
		t.Errorf("held twice: %v", err)
	}
	if err := s.save(); err != nil {
		t.Fatal(err)
	}
	s.close()
	if _, err := readReplayState(path, "elsewhere"); whittle.CodeOf(err) != whittle.Invalid {
		t.Errorf("the state of another: %v", err)
	}
	if s, err = readReplayState(path, "here → there"); err != nil {
		t.Fatal(err)
	}
	s.close()
}
