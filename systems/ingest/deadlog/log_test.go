package deadlog

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/systems/ingest/deadletter"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/embedded"
)

const testMost = 256 << 10

// small is a log with small segments.
func small(t *testing.T, dir string, dropped func(string)) *Log {
	t.Helper()
	o := Options{Most: testMost, Dropped: dropped, Log: embedded.Options{MaxRecord: 4 << 10, MaxBatch: 8 << 10, SegmentBytes: 32 << 10, Reserve: -1, ScrubRate: -1}}
	l, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func letterOf(source, id string, bytes int) stream.Record {
	l := deadletter.Letter{Path: "/v1/track", Reason: "no JSON", Source: source, ID: id, Whole: true, Body: fmt.Appendf(nil, "%s-%0*d", id, bytes, 0)}
	return l.Record()
}

// readable are the letters of a folder by name.
func readable(t *testing.T, dir string) map[uint64]deadletter.Letter {
	t.Helper()
	log, err := embedded.Open(dir, embedded.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close(t.Context())
	parts, err := log.Partitions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := map[uint64]deadletter.Letter{}
	err = stream.Walk(t.Context(), log, parts[0], func(batch []stream.Entry) error {
		for i := range batch {
			n, err := deadletter.Number(&batch[i])
			if err != nil {
				return err
			}
			l, err := deadletter.Read(&batch[i].Record)
			if err != nil {
				return err
			}
			l.Body = bytes.Clone(l.Body)
			if before, ok := all[n]; ok && !bytes.Equal(before.Body, l.Body) {
				t.Errorf("the letter %d is two: %q and %q", n, before.Body, l.Body)
			}
			all[n] = l
		}
		return nil
	}, func(e *stream.CorruptError) error { return e })
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// settled waits until the log has made room.
func settled(t *testing.T, l *Log) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); l.isFull(); {
		if time.Now().After(deadline) {
			t.Fatalf("the log stays full: %+v", l.Stats())
		}
		l.full.Notify()
		runtime.Gosched()
	}
}

// TestANoisySourcePushesNobodyOut sends many times what the log takes from one
// source, through restarts. The letters of the others are there under their
// names, the newest of the noisy one too, and what went is counted.
func TestANoisySourcePushesNobodyOut(t *testing.T) {
	dir := t.TempDir()
	var mu sync.Mutex
	dropped := map[string]int{}
	count := func(source string) {
		mu.Lock()
		defer mu.Unlock()
		dropped[source]++
	}
	random := rand.New(rand.NewPCG(1, 1))
	names := map[string]uint64{} // by id
	sent, noisy := map[string]int{}, []uint64{}
	l := small(t, dir, count)
	send := func(source string, ids ...string) {
		var batch []stream.Record
		for _, id := range ids {
			batch = append(batch, letterOf(source, id, 100+random.IntN(900)))
		}
		results := l.Append(t.Context(), batch)
		for whittle.CodeOf(results[0].Err) == whittle.ResourceExhausted { // a request would have lost its letters
			settled(t, l)
			results = l.Append(t.Context(), batch)
		}
		for i, r := range results {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			at, err := strconv.ParseUint(r.Position.Offset, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if names[ids[i]] = at; source == "noisy" {
				noisy = append(noisy, at)
			}
			sent[source]++
		}
	}
	for i := range 400 {
		if i%20 == 0 { // each of two has its share by far
			send("shop", fmt.Sprint("shop", i))
			send("app", fmt.Sprint("app", i))
		}
		var many []string
		for k := range 10 {
			many = append(many, fmt.Sprint("noisy", i, "-", k))
		}
		send("noisy", many...)
		if i%100 == 99 {
			settled(t, l)
			if err := l.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			l = small(t, dir, count)
		}
	}
	settled(t, l)
	if s := l.Stats(); s.Bytes > testMost+32<<10 {
		t.Errorf("it takes %d bytes", s.Bytes)
	}
	if err := l.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	all := readable(t, dir)
	for id, at := range names {
		got, ok := all[at]
		if ok && got.ID != id {
			t.Errorf("%d is %s, want %s", at, got.ID, id)
		}
		if !ok && id[0] != 'n' {
			t.Errorf("%s was pushed out", id)
		}
	}
	there := map[string]int{}
	for _, got := range all {
		there[got.Source]++
	}
	newest := noisy[len(noisy)-60:] // a third of its half of the bound
	for _, at := range newest {
		if _, ok := all[at]; !ok {
			t.Errorf("the noisy one's newest letter %d is gone", at)
		}
	}
	// A letter that went can come to light again until its segment is gone, and
	// is then counted again.
	if dropped["shop"]+dropped["app"] > 0 || dropped["noisy"] < sent["noisy"]-there["noisy"] {
		t.Errorf("sent %v, there %v, dropped %v", sent, there, dropped)
	}
}

// TestWhatWasSentAgainIsNotKept: a letter that nobody needs any more goes with its
// segment, whoever sent it.
func TestWhatWasSentAgainIsNotKept(t *testing.T) {
	dir := t.TempDir()
	l := small(t, dir, nil)
	l.Append(t.Context(), []stream.Record{letterOf("shop", "a", 100), letterOf("shop", "b", 100)})
	done, err := deadletter.OpenDone(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := done.Add(deadletter.Note{Outcome: deadletter.Sent, Time: time.Now()}, 0); err != nil {
		t.Fatal(err)
	}
	done.Close()
	for range 50 {
		l.Append(t.Context(), slices.Repeat([]stream.Record{letterOf("noisy", "n", 1000)}, 20))
	}
	settled(t, l)
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := readable(t, dir)
	if _, ok := all[0]; ok {
		t.Error("what was sent again is still there")
	}
	if all[1].ID != "b" {
		t.Errorf("the other one is %+v", all[1])
	}
}

// TestWhatWasSentAgainCannotBeRead: the log opens, keeps letters and makes room.
func TestWhatWasSentAgainCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "RETRIED"), 0o700); err != nil {
		t.Fatal(err)
	}
	l := small(t, dir, nil)
	for range 50 {
		for _, r := range l.Append(t.Context(), slices.Repeat([]stream.Record{letterOf("noisy", "n", 1000)}, 20)) {
			if r.Err != nil && whittle.CodeOf(r.Err) != whittle.ResourceExhausted {
				t.Fatal(r.Err)
			}
		}
	}
	settled(t, l)
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestALogThatCannotShrinkIsBounded: where nothing can be dropped, letters are
// refused.
func TestALogThatCannotShrinkIsBounded(t *testing.T) {
	dir := t.TempDir()
	l := small(t, dir, nil)
	l.Append(t.Context(), []stream.Record{letterOf("noisy", "first", 1000)}) // makes the segment
	first := filepath.Join(dir, "0000000000000000.segment")
	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(first, "nothing that can be read"), 0o700); err != nil {
		t.Fatal(err)
	}
	defer l.Close(context.Background())
	refused := 0
	for range 200 {
		if r := l.Append(t.Context(), slices.Repeat([]stream.Record{letterOf("noisy", "n", 1000)}, 10))[0]; whittle.CodeOf(r.Err) == whittle.ResourceExhausted {
			refused++
		} else if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	if s := l.Stats(); s.Bytes > 2*testMost+(stopSegments+1)*32<<10 || refused == 0 {
		t.Errorf("it takes %d bytes, %d letters were refused", s.Bytes, refused)
	}
}

// TestSharesAreFair holds what is kept against the definition: while all take too
// much, the oldest letter of whoever has most goes.
func TestSharesAreFair(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		most := int64(500 + random.IntN(2000))
		s := newShares(most)
		offered := map[string]int64{}
		for n := range uint64(400) {
			source := string(rune('a' + min(random.IntN(12), random.IntN(12), random.IntN(12))))
			bytes := int64(1 + random.IntN(50))
			s.add(source, n, bytes)
			s.add(source, n, bytes) // again, as at a restart
			offered[source] += bytes
			if random.IntN(20) == 0 {
				s.remove(source, n)
				offered[source] -= bytes
			}
		}
		var sum, largest int64
		for _, p := range s.piles {
			var bytes int64
			for i, l := range p.letters {
				if bytes += l.bytes; i > 0 && p.letters[i-1].number >= l.number {
					t.Fatal("a pile is out of order")
				}
			}
			if bytes != p.bytes || len(p.letters) == 0 {
				t.Fatalf("a pile of %d bytes counts %d", bytes, p.bytes)
			}
			sum, largest = sum+bytes, max(largest, bytes)
		}
		if sum != s.bytes || sum > most {
			t.Fatalf("%d bytes are kept and %d counted, %d may be", sum, s.bytes, most)
		}
		fair := most / int64(len(offered))
		for source, n := range offered {
			if p := s.of[source]; n <= fair && n > 0 && (p == nil || p.bytes != n) {
				t.Fatalf("%s offered %d of a fair share of %d, and has %+v", source, n, fair, p)
			}
		}
		if s.remove("nobody", 1); s.has("nobody", 1) {
			t.Fatal("a source that was never there")
		}
	}
}
