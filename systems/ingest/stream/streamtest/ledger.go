// Package streamtest holds streams to their promise from outside: what was acknowledged is
// there once, in order by key, as it was. Run is the suite that every adapter passes over the
// real thing. A Ledger is for those who kill, fill or tear what lies beneath: producers write
// down what was acknowledged meanwhile, and afterwards the stream is read and compared.
package streamtest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/internal/notify"
	"whittle/systems/ingest/stream"
)

// Read gives what a stream holds now, by partition, in order. What cannot be read as it was
// appended is an entry that is not intact.
type Read func(t testing.TB, s stream.Stream) map[string][]stream.Entry

// Ledger is what the producers know. It is safe for many goroutines.
type Ledger struct {
	seed uint64
	// AtLeastOnce says that a record may be in the stream more than once, and at another place
	// than its response said. The first copies are in order all the same.
	AtLeastOnce bool
	// Unordered says that the records come to the stream without their keys.
	Unordered bool
	// Dropped says of the place of a record that it may be gone. Nil: of none.
	Dropped func(stream.Position) bool
	// Longest is how long values are, at most and about (2,000 bytes unless it is changed).
	Longest int

	mu      sync.Mutex     // guards the following
	numbers map[string]int // of the next record, by key
	kept    map[string]stream.Position
	gone    map[string]bool // surely not kept, as the stream said
	report  Report
}

// NewLedger makes a ledger. The seed decides what its producers append, not when.
func NewLedger(seed uint64) *Ledger {
	return &Ledger{seed: seed, Longest: 2000, numbers: map[string]int{}, kept: map[string]stream.Position{}, gone: map[string]bool{}}
}

// Report compares what the stream holds with what the producers know.
type Report struct {
	Acknowledged int // by the producers' ledger
	Refused      int // surely not kept, as the stream said
	Unknown      int // may be kept, as the stream said
	Read         int // records that the stream holds
	Missing      int // acknowledged, and not in the stream
	Elsewhere    int // acknowledged, and at another place than the stream said
	Doubled      int // in the stream more than once
	Repeated     int // the same where that may be
	Disordered   int // behind a later record of their key, or kept behind one of it that was not
	Strange      int // not as appended, never appended, or said to be refused
}

// Counts are what the producers know so far.
func (l *Ledger) Counts() Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.report
}

// Reach waits until so many more records are acknowledged.
func (l *Ledger) Reach(t testing.TB, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for want := l.Counts().Acknowledged + n; l.Counts().Acknowledged < want; {
		if !notify.Sleep(ctx, time.Millisecond) {
			t.Fatalf("no progress: %+v", l.Counts())
		}
	}
}

// During appends to s with some producers while do runs, and returns when each has its last
// response.
func (l *Ledger) During(t testing.TB, s stream.Stream, producers int, timeout time.Duration, do func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Produce(ctx, s, producers, timeout)
	}()
	defer func() {
		stop()
		<-done
	}()
	do()
}

// Produce appends to s with some producers until ctx ends, and returns when each
// has its last response. A producer has four keys of its own and numbers each
// key's records. It never appends one a second time, so that a record which is
// kept twice was doubled by the stream. Each waits for timeout at most.
func (l *Ledger) Produce(ctx context.Context, s stream.Stream, producers int, timeout time.Duration) {
	var all sync.WaitGroup
	for p := range producers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(l.seed, uint64(p)))
			for ctx.Err() == nil {
				limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
				err := l.Append(limited, s, l.Batch(p, random))
				cancel()
				if err != nil { // a client would wait
					notify.Sleep(ctx, 20*time.Millisecond)
				}
			}
		})
	}
	all.Wait()
}

// Batch makes the next records of a producer. One in four holds zeros for the most part,
// as what was never written does.
func (l *Ledger) Batch(producer int, random *rand.Rand) []stream.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	batch := make([]stream.Record, 1+random.IntN(8))
	for i := range batch {
		key := fmt.Sprintf("p%d.k%d", producer, random.IntN(4))
		id := key + "." + strconv.Itoa(l.numbers[key])
		l.numbers[key]++
		value := []byte(strings.Repeat(id+"|", 1+random.IntN(l.Longest)/(len(id)+1)))
		if random.IntN(4) == 0 {
			clear(value[len(id)+1:])
		}
		batch[i] = stream.Record{ID: id, Key: key, Time: time.Now(), Value: value}
		batch[i].Seal()
	}
	return batch
}

// isOf reports whether a value is one that Batch made for an id.
func isOf(id string, value []byte) bool {
	unit := []byte(id + "|")
	rest, ok := bytes.CutPrefix(value, unit)
	return ok && (bytes.Count(rest, unit)*len(unit) == len(rest) || bytes.Count(rest, []byte{0}) == len(rest))
}

// Append appends records and writes down what became of them. It gives the first failure.
func (l *Ledger) Append(ctx context.Context, s stream.Stream, records []stream.Record) (failure error) {
	results := s.Append(ctx, records)
	if len(results) != len(records) {
		panic(fmt.Sprintf("%d results of %d records", len(results), len(records)))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	failed := map[string]bool{}
	for i, r := range results {
		key := records[i].Key
		switch code := whittle.CodeOf(r.Err); {
		case r.Err == nil:
			l.kept[records[i].ID] = r.Position
			l.report.Acknowledged++
			if failed[key] {
				l.report.Disordered++
			}
			continue
		case code == whittle.ResourceExhausted || code == whittle.Unavailable:
			l.report.Refused++
			l.gone[records[i].ID] = true
		default:
			l.report.Unknown++
		}
		failed[key], failure = true, cmp.Or(failure, r.Err)
	}
	return failure
}

// Audit compares with all that the stream holds now. No producer may be at work.
func (l *Ledger) Audit(t testing.TB, parts map[string][]stream.Entry) Report {
	t.Helper()
	r := l.Counts()
	last, seen, home := map[string]int{}, map[string]bool{}, map[string]string{}
	for part, entries := range parts {
		for i := range entries {
			e := &entries[i]
			r.Read++
			key, number := parse(e.ID)
			switch {
			case l.gone[e.ID] || number < 0 || e.Key != "" && e.Key != key || !e.Intact() || !isOf(e.ID, e.Value):
				r.Strange++
				continue
			case seen[e.ID] && l.AtLeastOnce:
				r.Repeated++
				continue
			case seen[e.ID]:
				r.Doubled++
				continue
			}
			seen[e.ID] = true
			if before, ok := last[key]; ok && number < before && !l.Unordered {
				r.Disordered++
			}
			last[key] = max(number, last[key])
			if where, known := home[key]; known && where != part && !l.Unordered {
				r.Disordered++ // a key is of one partition
			}
			home[key] = part
			if at, ok := l.kept[e.ID]; ok && at != e.Position && !l.AtLeastOnce {
				r.Elsewhere++
			}
		}
	}
	for id, at := range l.kept {
		if !seen[id] && (l.Dropped == nil || !l.Dropped(at)) {
			r.Missing++
		}
	}
	fatal.Same(t, r.Missing+r.Elsewhere+r.Doubled+r.Disordered+r.Strange, 0, "the stream broke its promise: %+v", r)
	return r
}

func parse(id string) (key string, number int) {
	dot := strings.LastIndexByte(id, '.')
	if dot < 0 {
		return id, -1
	}
	number, err := strconv.Atoi(id[dot+1:])
	if err != nil {
		number = -1
	}
	return id[:dot], number
}
