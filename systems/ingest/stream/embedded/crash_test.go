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

	"whittle/systems/ingest/stream"
)

const livesPerSeed = 20

// seeds returns the first seed of TestCrashes and how many there are: a hundred,
// as many as CRASH_SEEDS says, or ten for each of AUDIT_ROUNDS. CRASH_SEED is one to
// look at by itself.
func seeds(t *testing.T) (first uint64, n int) {
	t.Helper()
	n = 100
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
	defer func() { t.Log(total.String()) }()
	first, n := seeds(t)
	for i := range n {
		seed := first + uint64(i)
		synctest.Test(t, func(t *testing.T) { liveAndDie(t, seed, &total) })
		if t.Failed() {
			t.Fatalf("run again with CRASH_SEED=%d; what the scheduler does differs", seed)
		}
	}
	if n >= 100 && (total.torn == 0 || total.healed == 0 || total.flipped == 0 || total.unknown == 0) {
		t.Error("the crashes left something out")
	}
}

// tally is what the crashes amounted to.
type tally struct {
	lives, acknowledged, refused, unknown, torn, failed, healed, flipped int
	findings
}

// findings are what must not be: acknowledged records that are missing or elsewhere,
// records that are there twice, and records before an earlier one of their key.
type findings struct{ lost, doubled, disordered int }

func (total *tally) String() string {
	return fmt.Sprintf("AUDIT crashes of the disk: %d, %d records acknowledged, %d refused, %d not known; %d torn tails cut off, %d failures of the disk of which %d healed while the log lived; %d bits flipped; %d lost, %d doubled, %d out of order",
		total.lives, total.acknowledged, total.refused, total.unknown, total.torn, total.failed, total.healed, total.flipped,
		total.lost, total.doubled, total.disordered)
}

// ledger is what the producers know.
type ledger struct {
	mu      sync.Mutex // guards the following
	acked   map[string]uint64
	unknown map[string]bool
	refused map[string]bool
	counts  map[string]int
	trimmed uint64
	flipped string // what was flipped; empty: nothing
	corrupt map[uint64]bool
	findings
}

func liveAndDie(t *testing.T, seed uint64, total *tally) {
	random := rand.New(rand.NewPCG(seed, 0))
	disk := newFakeDisk(rand.New(rand.NewPCG(seed, 1)))
	book := &ledger{acked: map[string]uint64{}, unknown: map[string]bool{}, refused: map[string]bool{}, counts: map[string]int{}, corrupt: map[uint64]bool{}}
	o := Options{MaxRecord: 1500, MaxBatch: 4 << 10, SegmentBytes: 16 << 10, Reserve: -1, ScrubRate: -1, disk: disk}
	defer total.add(book)
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
		if o.P99 = 0; random.IntN(2) == 0 {
			o.P99 = 5e6
		}
		if l, err := Open("", o); err == nil {
			book.live(t, l, random, total)
		} else if !errors.Is(err, errPower) && !errors.Is(err, errIO) {
			t.Fatalf("life %d: %v", life, err)
		}
		if random.IntN(3) == 0 {
			disk.kill()
		} else {
			disk.lose()
		}
		if life == flipAt {
			book.flip(t, disk, random)
		}
	}
	disk.failing, disk.refusing, disk.capacity = 0, 0, 1<<40
	l, err := Open("", o)
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, l)
	book.check(t, l)
}

func (b *ledger) live(t *testing.T, l *Log, random *rand.Rand, total *tally) {
	t.Helper()
	defer closing(t, l)
	b.check(t, l)
	b.produce(t, l, random)
	s := l.Stats()
	if s.Missing > 0 && b.flipped == "" {
		t.Errorf("the end mark says that %d records are missing, and none is", s.Missing)
	}
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

func (total *tally) add(book *ledger) {
	total.acknowledged += len(book.acked)
	total.unknown += len(book.unknown)
	total.refused += len(book.refused)
	total.lost += book.lost
	total.doubled += book.doubled
	total.disordered += book.disordered
	if book.flipped != "" {
		total.flipped++
	}
}

func closing(t testing.TB, l *Log) {
	t.Helper()
	if err := l.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// produce appends from several goroutines until the power fails or it is enough.
func (b *ledger) produce(t *testing.T, l *Log, random *rand.Rand) {
	var producers sync.WaitGroup
	for p := range 4 {
		own := rand.New(rand.NewPCG(random.Uint64(), 0))
		producers.Go(func() {
			for range 1 + own.IntN(15) {
				records := b.records(p, own)
				switch b.note(t, records, l.Append(t.Context(), records)) {
				case refused:
					time.Sleep(healFirst) // of the bubble's time: the log tries to write again meanwhile
				case powerOff:
					return
				}
			}
		})
	}
	producers.Wait()
	if random.IntN(6) == 0 {
		l.mu.Lock()
		offset := l.first + random.Uint64N(l.next-l.first+1)
		l.mu.Unlock()
		b.trimmed = max(b.trimmed, offset)
		if err := l.Trim(t.Context(), position(offset)); err != nil && !errors.Is(err, errPower) {
			t.Error(err)
		}
	}
}

// records makes some of a producer's keys. Values may hold sectors of zeros.
func (b *ledger) records(producer int, random *rand.Rand) []stream.Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	records := make([]stream.Record, 1+random.IntN(6))
	for i := range records {
		key := fmt.Sprintf("p%d.k%d", producer, random.IntN(2))
		records[i] = stream.Record{ID: fmt.Sprintf("%s-%d", key, b.counts[key]), Key: key, Value: make([]byte, random.IntN(1300))}
		if random.IntN(4) > 0 {
			for j := range records[i].Value {
				records[i].Value[j] = byte(random.Uint32())
			}
		}
		b.counts[key]++
		records[i].Seal()
	}
	return records
}

type outcome uint8

const (
	accepted outcome = iota
	refused
	powerOff
)

// note enters what became of records.
func (b *ledger) note(t *testing.T, records []stream.Record, results []stream.Result) outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	failed := map[string]bool{}
	all := accepted
	for i, r := range results {
		id := records[i].ID
		switch code := whatCode(r.Err); code {
		case "kept":
			if failed[records[i].Key] {
				t.Errorf("%s was kept behind one of its key that was not", id)
			}
			offset, err := offsetOf(r.Position)
			if err != nil {
				t.Error(err)
			}
			b.acked[id] = offset
			continue
		case "internal":
			b.unknown[id] = true
		case "unavailable", "resource_exhausted":
			b.refused[id] = true
		default:
			t.Errorf("%s: %v", id, r.Err)
		}
		failed[records[i].Key] = true
		if errors.Is(r.Err, errPower) {
			return powerOff
		}
		all = refused
	}
	return all
}

// check reads the whole log and holds it against the ledger.
func (b *ledger) check(t *testing.T, l *Log) {
	t.Helper()
	parts, err := l.Partitions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first, _ := offsetOf(parts[0].First)
	next, _ := offsetOf(parts[0].Next)
	if first > b.trimmed {
		t.Errorf("the log begins at %d; it was trimmed before %d", first, b.trimmed)
	}
	r, err := l.Read(t.Context(), parts[0].First)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	seen := map[string]uint64{}
	last := map[string]int{}
	into := make([]stream.Entry, 5)
	for at := first; at < next; {
		n, err := r.Next(t.Context(), into)
		if broken, ok := errors.AsType[*stream.CorruptError](err); ok {
			if b.flipped == "" || broken.Position != position(at) {
				t.Fatalf("%v at %d, and %q was flipped", err, at, b.flipped)
			}
			b.corrupt[at] = true
			at++
			continue
		}
		if errors.Is(err, errPower) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range into[:n] {
			if e.Position != position(at) {
				t.Fatalf("read %v where %d is next", e.Position, at)
			}
			if before, twice := seen[e.ID]; twice {
				b.doubled++
				t.Fatalf("%s is at %d and at %d", e.ID, before, at)
			}
			if b.refused[e.ID] {
				t.Fatalf("%s was refused for sure, and is at %d", e.ID, at)
			}
			seen[e.ID] = at
			number := numberOf(t, e.ID)
			if before, ok := last[e.Key]; ok && number <= before {
				b.disordered++
				t.Fatalf("%s was read behind %s-%d", e.ID, e.Key, before)
			}
			last[e.Key] = number
			at++
		}
	}
	for id, offset := range b.acked {
		at, there := seen[id]
		switch {
		case there && at != offset:
			b.lost++
			t.Errorf("%s is at %d, and was acknowledged at %d", id, at, offset)
		case !there && offset >= max(first, b.trimmed) && !b.corrupt[offset]:
			b.lost++
			t.Errorf("%s was acknowledged at %d and is not there; the log ends at %d", id, offset, next)
		}
	}
}

func numberOf(t *testing.T, id string) (n int) {
	t.Helper()
	_, text, _ := strings.Cut(id, "-")
	if _, err := fmt.Sscan(text, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// flip turns a bit anywhere in the log, and wants it to be seen.
func (b *ledger) flip(t *testing.T, disk *fakeDisk, random *rand.Rand) {
	t.Helper()
	before, err := verify(t.Context(), disk)
	if err != nil {
		t.Fatal(err)
	}
	sizes := disk.sizes()
	var names []string
	for name, size := range sizes {
		if strings.HasSuffix(name, segmentSuffix) && size > 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	name := names[random.IntN(len(names))]
	bit := random.Int64N(sizes[name] * 8)
	if name != names[len(names)-1] && bit/8 >= used(t, disk, name) {
		return // where nothing was written, before the next segment began
	}
	disk.flip(name, bit)
	b.flipped = fmt.Sprintf("bit %d of byte %d in %s", bit%8, bit/8, name)
	after, err := verify(t.Context(), disk)
	if err != nil {
		t.Fatal(err)
	}
	if seen(after) == seen(before) && before.Segments > 0 && bit/8 >= sector {
		t.Errorf("%s was flipped and not seen: %+v, before %+v", b.flipped, after, before)
	}
}

// used is where a segment's last batch ends.
func used(t testing.TB, disk *fakeDisk, name string) int64 {
	t.Helper()
	b := disk.seen[name].seen
	segment, ok := identify(bytes.NewReader(b), segmentNumbers([]string{name})[0], int64(len(b)))
	if !ok {
		return 0
	}
	s := scan{window: window{file: bytes.NewReader(b), chunk: probe}, segment: segment, at: sector}
	for {
		f, at, ok, err := s.find(int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return s.at
		}
		s.pass(&f, at)
	}
}

func seen(r Report) [5]uint64 {
	return [5]uint64{r.Corrupt, r.Damaged, uint64(r.Torn), uint64(r.Unexplained), r.Records}
}

func whatCode(err error) string {
	if err == nil {
		return "kept"
	}
	return codeName(err)
}
