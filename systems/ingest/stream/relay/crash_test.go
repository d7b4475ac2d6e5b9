package relay

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"whittle"
	"whittle/internal/fatal"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/streamtest"
	"whittle/whittletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// crash ends a relay as a kill does: nothing is saved, and what was in flight
// has an outcome that nobody learns.
func (r *Relay) crash() {
	r.stop()
	r.tasks.Wait()
	r.at.file.Close()
}

// quick has a relay do often what it else does seldom.
func quick(t *testing.T) Options {
	return Options{
		Dir: folder(t), Refused: newFakeSink(newFakeStore(), 0, faults{}),
		Batch: 20, Inflight: 4, Window: 200, Timeout: 2 * time.Second, Save: 100 * time.Millisecond, BackoffMax: time.Second,
	}
}

// TestNothingIsLostOverCrashes appends to a relay whose sink fails in every way
// and which is killed at random moments. At the end the sink has each record, the first
// copies in order by key, and no more copies than the faults explain.
func TestNothingIsLostOverCrashes(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { overCrashes(t, seed) })
		})
	}
}

func overCrashes(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 2))
	logs, sinks := newFakeStore(), newFakeStore()
	bad := faults{refuse: 0.1, partial: 0.2, vanish: 0.1, hang: 0.05, lag: 5 * time.Millisecond}
	o := quick(t)
	book := streamtest.NewLedger(seed)
	book.AtLeastOnce = true
	const runs = 8
	for run := range uint64(runs + 1) {
		f := bad
		if run == runs {
			f = faults{}
		}
		r, err := Open(newFakeLog(logs), newFakeSink(sinks, seed<<8+run, f), o)
		fatal.If(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(3000))*time.Millisecond)
		book.Produce(ctx, &paced{Relay: r, random: random}, 1, time.Minute)
		cancel()
		if run%4 == 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(2000))*time.Millisecond)
			fatal.If(t, r.Close(ctx))
			cancel()
		} else if run < runs {
			r.crash()
		} else if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		} else if s := r.Status(); s.Corrupt != 0 || s.Lag != 0 || s.Refused != 0 || len(s.Troubles) != 0 {
			t.Errorf("status: %+v", s)
		}
	}
	if r := book.Audit(t, sinks.entries()); r.Refused+r.Unknown > 0 || r.Acknowledged < 500 {
		t.Errorf("%+v", r)
	}
}

// paced appends at a client's pace.
type paced struct {
	*Relay
	random *rand.Rand
}

func (p *paced) Append(ctx context.Context, records []stream.Record) []stream.Result {
	time.Sleep(time.Duration(p.random.IntN(30)) * time.Millisecond)
	return p.Relay.Append(ctx, records)
}

// TestCheckpointSurvivesATornWrite tears and flips the newer slot at every place: the older
// one counts then, and the next save takes the place of the torn one.
func TestCheckpointSurvivesATornWrite(t *testing.T) {
	dir := folder(t)
	path := filepath.Join(dir, "position")
	open := func() *checkpoint {
		t.Helper()
		c, err := openCheckpoint(dir)
		fatal.If(t, err)
		return c
	}
	c := open()
	for n := range uint64(4) {
		fatal.If(t, c.save(10+n))
	}
	c.file.Close()
	whole, err := os.ReadFile(path)
	fatal.If(t, err)
	for i := range sumAt + 4 {
		for _, torn := range []bool{true, false} {
			b := slices.Clone(whole)
			if b[slotLen+i] ^= 0x10; torn {
				clear(b[slotLen+i:])
			}
			fatal.If(t, os.WriteFile(path, b, 0o600))
			c := open()
			if c.next != 12 && (!torn || c.next != 13) {
				t.Fatalf("byte %d, torn: %v: %d", i, torn, c.next)
			}
			fatal.If(t, c.save(20))
			c.file.Close()
			if c = open(); c.next != 20 {
				t.Fatalf("byte %d: saved again, it is %d", i, c.next)
			}
			c.file.Close()
		}
	}
	fatal.If(t, os.WriteFile(path, []byte("rubbish"), 0o600))
	_, err = openCheckpoint(dir)
	whittletest.Refused(t, err, whittle.FailedPrecondition, "both broken")
}
