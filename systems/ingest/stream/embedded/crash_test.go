package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"whittle/internal/fatal"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/streamtest"
)

const livesPerSeed = 20

// seeds returns the first seed of TestCrashes and how many there are: twenty-five,
// as many as CRASH_SEEDS says, or ten for each of AUDIT_ROUNDS. CRASH_SEED is one to
// look at by itself.
func seeds(t *testing.T) (first uint64, n int) {
	t.Helper()
	n = 25
	for name, use := range map[string]func(int){
		"AUDIT_ROUNDS": func(rounds int) { n = 10 * rounds },
		"CRASH_SEEDS":  func(seeds int) { n = seeds },
		"CRASH_SEED":   func(seed int) { first, n = uint64(seed), 1 },
	} {
		if text := os.Getenv(name); text != "" {
			v, err := strconv.Atoi(text)
			if err != nil || v < 0 {
				t.Fatalf("%s is %q", name, text)
			}
			use(v)
		}
	}
	return first, n
}

// TestCrashes lets a log die again and again, by a loss of power or by the end
// of its process, at any operation on the disk, recovery included. Nothing that
// was acknowledged may be missing, nothing be there twice, no key out of order,
// and every flipped bit must be seen.
func TestCrashes(t *testing.T) {
	var total tally
	// Counted and printed after a failure too.
	defer func() { t.Logf("AUDIT crashes of the disk: %+v", total) }()
	first, n := seeds(t)
	for i := range n {
		seed := first + uint64(i)
		synctest.Test(t, func(t *testing.T) { liveAndDie(t, seed, &total) })
		if t.Failed() {
			t.Fatalf("run again with CRASH_SEED=%d; what the scheduler does differs", seed)
		}
	}
	if n >= 25 && (total.torn == 0 || total.healed == 0 || total.flipped == 0 || total.unknown == 0) {
		t.Error("the crashes left something out")
	}
}

// tally is what the crashes amounted to.
type tally struct {
	lives, acknowledged, refused, unknown, torn, failed, healed, flipped int
}

// mortal is a log that dies, and what its producers know of it.
type mortal struct {
	*streamtest.Ledger
	trimmed uint64
	flipped string // what was flipped; empty: nothing
	corrupt map[uint64]bool
}

func liveAndDie(t *testing.T, seed uint64, total *tally) {
	random := rand.New(rand.NewPCG(seed, 0))
	disk := newFakeDisk(rand.New(rand.NewPCG(seed, 1)))
	m := &mortal{Ledger: streamtest.NewLedger(seed), corrupt: map[uint64]bool{}}
	m.Longest = 1300
	m.Dropped = func(p stream.Position) bool {
		n := offsetOf(t, p)
		return n < m.trimmed || m.corrupt[n]
	}
	o := Options{MaxRecord: 1500, MaxBatch: 4 << 10, SegmentBytes: 16 << 10, Reserve: -1, disk: disk}
	flipAt := random.IntN(3 * livesPerSeed)
	for life := range livesPerSeed {
		total.lives++
		disk.failing, disk.refusing = 0, 0
		if random.IntN(3) == 0 {
			disk.failing, disk.refusing = 0.05, 0.02
		}
		if disk.capacity = 1 << 40; random.IntN(5) == 0 {
			disk.capacity = disk.capacity - disk.lockedFree() + 48<<10
		}
		if disk.fuse = 0; random.IntN(4) > 0 {
			disk.fuse = 1 + random.IntN(120)
		}
		if l, err := Open("", o); err == nil {
			m.live(t, l, random, total)
		} else if !errors.Is(err, errPower) && !errors.Is(err, errIO) {
			t.Fatalf("life %d: %v", life, err)
		}
		if random.IntN(3) == 0 {
			disk.kill()
		} else {
			disk.lose()
		}
		if life == flipAt {
			m.flip(t, disk, random)
			total.flipped++
		}
	}
	disk.failing, disk.refusing, disk.capacity = 0, 0, 1<<40
	l := openAt(t, "", o)
	m.check(t, l)
	r := m.Counts()
	total.acknowledged += r.Acknowledged
	total.refused += r.Refused
	total.unknown += r.Unknown
}

func (m *mortal) live(t *testing.T, l *Log, random *rand.Rand, total *tally) {
	t.Helper()
	defer closing(t, l)
	m.check(t, l)
	m.produce(t, l, random)
	s := l.Stats()
	if s.Failures > 0 {
		total.failed++
	}
	if s.Failures > 0 && s.Failed == nil {
		total.healed++
	}
	if s.Torn > 0 {
		total.torn++
	}
}

func closing(t testing.TB, l *Log) {
	t.Helper()
	fatal.If(t, l.Close(context.Background()))
}

// produce appends from several goroutines until the power fails or it is enough.
func (m *mortal) produce(t *testing.T, l *Log, random *rand.Rand) {
	var producers sync.WaitGroup
	for p := range 4 {
		own := rand.New(rand.NewPCG(random.Uint64(), 0))
		producers.Go(func() {
			for range 1 + own.IntN(15) {
				err := m.Append(t.Context(), l, m.Batch(p, own))
				if errors.Is(err, errPower) {
					return
				}
				if err != nil {
					time.Sleep(healFirst) // of the bubble's time: the log tries to write again meanwhile
				}
			}
		})
	}
	producers.Wait()
	if random.IntN(6) == 0 {
		first, next := span(t, l)
		offset := first + random.Uint64N(next-first+1)
		m.trimmed = max(m.trimmed, offset)
		if err := l.Trim(offset); err != nil && !errors.Is(err, errPower) {
			t.Error(err)
		}
	}
}

// check reads the whole log and holds it against the ledger.
func (m *mortal) check(t *testing.T, l *Log) {
	t.Helper()
	at, _ := span(t, l)
	if at > m.trimmed {
		t.Errorf("the log begins at %d; it was trimmed before %d", at, m.trimmed)
	}
	var all []stream.Entry
	err := l.Walk(t.Context(), at, func(e *stream.Entry) error {
		if e.Position != position(at) {
			t.Fatalf("read %v where %d is next", e.Position, at)
		}
		at++
		e.Value = bytes.Clone(e.Value)
		all = append(all, *e)
		return nil
	}, func(bad *stream.CorruptError) error {
		if m.flipped == "" || bad.Position != position(at) {
			t.Fatalf("%v at %d, and %q was flipped", bad, at, m.flipped)
		}
		m.corrupt[at] = true
		at++
		return nil
	})
	if errors.Is(err, errPower) {
		return
	}
	fatal.If(t, err)
	m.Audit(t, map[string][]stream.Entry{Partition: all})
}

// flip turns a bit anywhere in the log, and wants it to be seen.
func (m *mortal) flip(t *testing.T, disk *fakeDisk, random *rand.Rand) {
	t.Helper()
	before, err := verify(t.Context(), disk)
	fatal.If(t, err)
	var names []string
	for name, file := range disk.seen {
		if strings.HasSuffix(name, segmentSuffix) && len(file.seen) > 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	name := names[random.IntN(len(names))]
	bit := random.Int64N(int64(len(disk.seen[name].seen)) * 8)
	if name != names[len(names)-1] && bit/8 >= used(t, disk, name) {
		return // where nothing was written, before the next segment began
	}
	disk.flip(name, bit)
	m.flipped = fmt.Sprintf("bit %d of byte %d in %s", bit%8, bit/8, name)
	after, err := verify(t.Context(), disk)
	fatal.If(t, err)
	if seen(after) == seen(before) && before.Segments > 0 && bit/8 >= sector {
		t.Errorf("%s was flipped and not seen: %+v, before %+v", m.flipped, after, before)
	}
}

// used is where a segment's last batch ends.
func used(t testing.TB, disk *fakeDisk, name string) (end int64) {
	t.Helper()
	_, end = lastBatch(t, disk, name)
	return end
}

func lastBatch(t testing.TB, disk *fakeDisk, name string) (from, end int64) {
	t.Helper()
	b := disk.seen[name].seen
	segment, ok := identify(bytes.NewReader(b), int64(len(b)))
	if !ok {
		return 0, 0
	}
	s := scan{window: window{file: bytes.NewReader(b), chunk: probe}, segment: segment, at: sector}
	for {
		f, at, ok, err := s.find(int64(len(b)))
		fatal.If(t, err)
		if !ok {
			return from, s.at
		}
		from = at
		s.pass(&f, at)
	}
}

func seen(r Report) [4]uint64 {
	return [4]uint64{r.Corrupt, r.Damaged, uint64(r.Torn), r.Records}
}

func offsetOf(t *testing.T, p stream.Position) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(p.Offset, 10, 64)
	if err != nil {
		t.Error(err)
	}
	return n
}
