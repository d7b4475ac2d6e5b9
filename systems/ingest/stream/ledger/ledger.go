// Package ledger audits a stream from outside: producers write down what was
// acknowledged while somebody kills, fills or tears what lies beneath, and
// afterwards the stream is read and compared with what they wrote down.
package ledger

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/internal/notify"
	"whittle/systems/ingest/stream"
)

// Ledger is what the producers know. It is safe for many goroutines.
type Ledger struct {
	seed         uint64
	acknowledged atomic.Int64
	unknown      atomic.Int64
	refused      atomic.Int64

	mu   sync.Mutex                         // guards the following
	kept map[string]map[int]stream.Position // where acknowledged records are, by key and number
}

// New makes a ledger. The seed decides what its producers append, not when.
func New(seed uint64) *Ledger {
	return &Ledger{seed: seed, kept: map[string]map[int]stream.Position{}}
}

// Acknowledged is how many records have been so far.
func (l *Ledger) Acknowledged() int { return int(l.acknowledged.Load()) }

// Refused is how many records failed with a code that says that they were
// surely not kept, Unknown with another.
func (l *Ledger) Refused() int { return int(l.refused.Load()) }

// Unknown is how many records failed in a way that they may have been kept.
func (l *Ledger) Unknown() int { return int(l.unknown.Load()) }

// Produce appends to s with some producers until ctx ends, and returns when each
// has its last response. A producer has four keys of its own and numbers each
// key's records. It never appends one a second time, so that a record which is
// kept twice was doubled by the stream. Each waits for patience at most.
func (l *Ledger) Produce(ctx context.Context, s stream.Stream, producers int, timeout time.Duration) {
	var all sync.WaitGroup
	for p := range producers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(l.seed, uint64(p)))
			var numbers [4]int
			for ctx.Err() == nil {
				l.append(s, p, random, &numbers, timeout)
			}
		})
	}
	all.Wait()
}

// append appends one batch. It waits after a failure, as a client would.
func (l *Ledger) append(s stream.Stream, producer int, random *rand.Rand, numbers *[4]int, timeout time.Duration) {
	batch := make([]stream.Record, 1+random.IntN(8))
	for i := range batch {
		k := random.IntN(len(numbers))
		batch[i] = record(fmt.Sprintf("p%d.k%d", producer, k), numbers[k], random.IntN(2000))
		numbers[k]++
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	failed := false
	for i, r := range s.Append(ctx, batch) {
		switch code := whittle.CodeOf(r.Err); {
		case r.Err == nil:
			l.note(batch[i].ID, r.Position)
		case code == whittle.ResourceExhausted || code == whittle.Unavailable:
			l.refused.Add(1)
			failed = true
		default:
			l.unknown.Add(1)
			failed = true
		}
	}
	if failed {
		notify.Sleep(ctx, 20*time.Millisecond)
	}
}

func (l *Ledger) note(id string, at stream.Position) {
	key, number := parse(id)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept[key] == nil {
		l.kept[key] = map[int]stream.Position{}
	}
	l.kept[key][number] = at
	l.acknowledged.Add(1)
}

func record(key string, number, size int) stream.Record {
	id := key + "." + strconv.Itoa(number)
	r := stream.Record{ID: id, Key: key, Time: time.Now(), Value: []byte(value(id, size))}
	r.Seal()
	return r
}

// value begins with the id and repeats it, so that bytes which are mixed up with
// another record's show.
func value(id string, size int) string { return strings.Repeat(id+"|", 1+size/(len(id)+1)) }

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
