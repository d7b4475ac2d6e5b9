package embedded

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

func TestPlace(t *testing.T) {
	for _, from := range []uint64{0, 1, 7, 9, 10, 95, 99_999, math.MaxUint64/10 - 3, 9_999_999_999_999_999_998, 10_000_000_000_000_000_000, math.MaxUint64 - 4} {
		for _, n := range []int{1, 2, 5} {
			results := make([]stream.Result, n)
			place(results, from)
			for i, r := range results {
				if want := position(from + uint64(i)); r.Position != want {
					t.Errorf("%d of %d from %d: %v, want %v", i, n, from, r.Position, want)
				}
			}
		}
	}
}

func TestPace(t *testing.T) {
	const ms = time.Millisecond
	at := func(i int) time.Time { return time.Unix(1_800_000_000, 0).Add(time.Duration(i) * 10 * ms) }
	for name, c := range map[string]struct {
		target  time.Duration
		commits []time.Duration
		waiting int
		want    time.Duration
		appends int
	}{
		"no target":               {0, []time.Duration{ms}, 5, 0, 0},
		"nothing known":           {10 * ms, nil, 0, 5 * ms, 0},
		"fast disk":               {10 * ms, []time.Duration{ms, ms}, 3, 5 * ms, 13},
		"the disk takes its part": {10 * ms, []time.Duration{4 * ms}, 0, 2 * ms, 10},
		"the disk takes it all":   {10 * ms, []time.Duration{5 * ms}, 3, 0, 0},
		"one slow one counts":     {10 * ms, []time.Duration{20 * ms, ms, ms}, 3, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := commitPacer{target: c.target}
			for i, took := range c.commits {
				p.observe(at(i), took, 10, 1000)
			}
			if got, appends := p.delay(c.waiting); got != c.want || appends != c.appends {
				t.Errorf("%v for %d appends, want %v for %d", got, appends, c.want, c.appends)
			}
		})
	}
	p := commitPacer{target: 10 * ms}
	p.observe(at(0), time.Second, 1, 1000)
	for i := range 1000 {
		p.observe(at(i+1), ms, 1, 1000)
	}
	if got, _ := p.delay(0); got != 5*ms {
		t.Errorf("one slow commit of a thousand is remembered: %v", got)
	}
}

// TestPaceWithoutATarget spares commits only while so much comes that they are
// noticed, and no lone sender waits for others who are not there.
func TestPaceWithoutATarget(t *testing.T) {
	const ms = time.Millisecond
	now := time.Unix(1_800_000_000, 0)
	var p commitPacer
	commits := func(n int, every, took time.Duration, appends int, bytes int64) {
		for range n {
			now = now.Add(every)
			p.observe(now, took, appends, bytes)
		}
	}
	want := func(what string, waiting int, budget time.Duration, appends int) {
		t.Helper()
		if got, n := p.delay(waiting); got != budget || n != appends {
			t.Errorf("%s: %v for %d appends, want %v for %d", what, got, n, budget, appends)
		}
	}
	want("nothing known", 0, 0, 0)
	commits(1000, 4*ms, ms/2, 2, 2<<10) // half a MiB a second
	want("not busy", 2, 0, 0)
	commits(1000, ms, ms/2, 4, 4<<10) // 4 MiB a second
	want("brisk", 2, ms/2, 6)
	commits(1000, ms, ms, 4, 4<<10)
	want("brisk, and the disk no faster than that", 2, 0, 0)
	commits(1000, ms, ms/2, 1, 4<<10)
	want("a lone sender", 0, ms/2, 1)
	commits(1000, ms, ms/2, 16, 16<<10)
	want("busy", 5, 3*ms/2, 21)
	commits(1000, 4*ms, 4*ms, 64, 64<<10)
	want("the disk is slower than that", 5, 0, 0)
	commits(1000, ms, ms, 1, 1<<20)
	want("a lone sender of much", 0, ms, 1)
	commits(1, time.Second, ms, 1, 1<<10)
	want("a second later", 0, 0, 0)
}

func TestMeter(t *testing.T) {
	var m meter
	now := time.Unix(0, 0)
	if m.rate(now) != 0 {
		t.Error("a rate of nothing")
	}
	var sum float64
	const rate, every = 1e6, 10 * time.Second
	for range 100 {
		now = now.Add(every)
		m.add(int64(rate*every.Seconds()), now)
	}
	for range 10 {
		now = now.Add(every / 10)
		sum += m.rate(now)
	}
	if got := sum / 10; math.Abs(got-rate) > rate/20 {
		t.Errorf("a steady %v is read as %v", rate, got)
	}
	if got := m.rate(now.Add(10 * time.Minute)); got > rate/1000 {
		t.Errorf("ten minutes later it is %v still", got)
	}
	if got := m.rate(now.Add(-time.Hour)); math.IsInf(got, 0) || got > 2*rate {
		t.Errorf("a clock that goes back makes it %v", got)
	}
}

func TestFrame(t *testing.T) {
	f := frame{segment: 1, base: 2, time: -3, count: 4, length: 5, table: 6, blank: 7}
	b := make([]byte, frameLen)
	f.put(b, headMagic)
	if got, ok := parseFrame(b, headMagic); !ok || got != f {
		t.Errorf("%+v became %+v, %v", f, got, ok)
	}
	if _, ok := parseFrame(b, footMagic); ok {
		t.Error("a head was taken for a foot")
	}
	for n := range b {
		if _, ok := parseFrame(b[:n], headMagic); ok {
			t.Errorf("%d bytes were taken for a frame", n)
		}
	}
	for bit := range len(b) * 8 {
		b[bit/8] ^= 1 << (bit % 8)
		if _, ok := parseFrame(b, headMagic); ok {
			t.Errorf("bit %d was flipped and not seen", bit)
		}
		b[bit/8] ^= 1 << (bit % 8)
	}
	for name, f := range map[string]frame{
		"no record":   {count: 0, length: 10},
		"endless":     {count: 1, length: math.MaxUint32},
		"many":        {count: math.MaxUint32, length: 1},
		"wraps round": {count: 10, length: 1, base: math.MaxUint64 - 5},
	} {
		f.put(b, headMagic)
		if got, ok := parseFrame(b, headMagic); ok {
			t.Errorf("%s: taken as %+v", name, got)
		}
	}
}

// TestFrameIsTheOneWritten holds the bytes: what is on disks must stay readable.
func TestFrameIsTheOneWritten(t *testing.T) {
	b := newBatch()
	r := stream.Record{ID: "id", Time: time.Unix(0, 1), Value: []byte("123456789")}
	r.Seal()
	b.add(&r)
	bytes, _ := b.finish(0x1122334455667788, 7, 9)
	const want = "57485468ae7a8c4f887766554433221107000000000000000900000000000000010000001b0000000fed53b200000000"
	if got := fmt.Sprintf("%x", bytes[:frameLen]); got != want {
		t.Errorf("head %s\nwant %s", got, want)
	}
	if len(bytes) != sector || le.Uint32(bytes[sector-frameLen:]) != footMagic {
		t.Errorf("%d bytes, no foot", len(bytes))
	}
}

// TestBatch fills batches at random: what was put in comes out, and a batch is
// as long as was said.
func TestBatch(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	b := newBatch()
	for round := range 200 {
		b.reset()
		limit := sector * (1 + random.IntN(40))
		var records []stream.Record
		for {
			r := stream.Record{ID: fmt.Sprint(len(records)), Time: time.Unix(0, random.Int64()).UTC(), Value: make([]byte, random.IntN(1500))}
			if random.IntN(3) > 0 {
				for i := range r.Value {
					r.Value[i] = byte(random.Uint32())
				}
			}
			r.Seal()
			if !b.fits(stream.EncodedLen(&r), limit) {
				break
			}
			if slot := b.add(&r); slot != len(records) {
				t.Fatalf("record %d is in slot %d", len(records), slot)
			}
			records = append(records, r)
		}
		size := b.size()
		if len(records) > 1 && size > int64(limit) {
			t.Fatalf("%d bytes, %d are the limit", size, limit)
		}
		bytes, f := b.finish(1, uint64(round), 0)
		if int64(len(bytes)) != size || size%sector != 0 {
			t.Fatalf("%d bytes, size said %d", len(bytes), size)
		}
		if c, corrupt, scarred := examine(&f, bytes); c != whole || corrupt != nil || scarred {
			t.Fatalf("condition %v, %v, %v", c, corrupt, scarred)
		}
		v := viewOf(&f, bytes)
		from := random.IntN(len(records))
		v.skip(f.base + uint64(from))
		for _, want := range records[from:] {
			got, reason := v.take()
			if reason != "" || got.ID != want.ID || !slices.Equal(got.Value, want.Value) || !got.Time.Equal(want.Time) {
				t.Fatalf("%+v, %q, want %+v", got, reason, want)
			}
		}
		if v.more() {
			t.Fatal("there are more records than were put in")
		}
	}
}

func TestSegmentNumbers(t *testing.T) {
	names := []string{
		segmentName(17), segmentName(0), segmentName(math.MaxUint64), lockName, "0000000000000001-512.aside",
		"1.segment", "000000000000000G.segment", "00000000000000ab.segment.bak", "00000000000000AB.segment",
	}
	if got := segmentNumbers(names); !slices.Equal(got, []uint64{0, 17, math.MaxUint64}) {
		t.Errorf("%v", got)
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"negative":       {P99: -1},
		"record":         {MaxRecord: 17 << 20},
		"batch":          {MaxBatch: 65 << 20},
		"short batch":    {MaxBatch: 100},
		"short segments": {SegmentBytes: 1 << 20},
		"long segments":  {SegmentBytes: 1 << 41},
	} {
		if l, err := Open(t.TempDir(), o); whittle.CodeOf(err) != whittle.Invalid || err == nil {
			t.Errorf("%s: %v, %v", name, l, err)
		}
	}
	if _, err := Open("", Options{}); whittle.CodeOf(err) != whittle.Invalid {
		t.Errorf("no folder: %v", err)
	}
	if _, err := Open(t.TempDir()+"/none", Options{ReadOnly: true}); whittle.CodeOf(err) != whittle.NotFound {
		t.Errorf("reading where nothing is: %v", err)
	}
}

// TestSeek finds every record of a segment by bisection.
func TestSeek(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 6))
	segment := append([]byte(nil), make([]byte, sector)...)
	var bases []uint64
	next := uint64(100)
	for len(segment) < 3<<20 {
		b := newBatch()
		for range 1 + random.IntN(20) {
			r := stream.Record{Value: make([]byte, random.IntN(4000))}
			r.Seal()
			b.add(&r)
		}
		bytes, f := b.finish(8, next, 0)
		segment = append(segment, bytes...)
		bases = append(bases, next)
		next = f.next()
	}
	for offset := uint64(100); offset < next; offset += 1 + random.Uint64N(5) {
		s := scan{window: window{file: bytes.NewReader(segment), chunk: probe}, segment: 8, at: sector, next: 100}
		if err := s.seek(offset, int64(len(segment))); err != nil {
			t.Fatal(err)
		}
		steps := 0
		for ; ; steps++ {
			f, at, ok, err := s.find(int64(len(segment)))
			if !ok || err != nil {
				t.Fatalf("%d was not found: %v", offset, err)
			}
			if !slices.Contains(bases, f.base) || f.base > offset {
				t.Fatalf("looking for %d, found a batch from %d", offset, f.base)
			}
			if f.next() > offset {
				break
			}
			s.pass(&f, at)
		}
		if steps > seekNear/sector {
			t.Errorf("%d steps to %d", steps, offset)
		}
	}
}

// TestBatchGivesMemoryBack has a batch grow and be small again for a while.
func TestBatchGivesMemoryBack(t *testing.T) {
	b := newBatch()
	fill := func(bytes, times int) {
		for range times {
			r := stream.Record{Value: make([]byte, bytes)}
			r.Seal()
			b.add(&r)
			b.reset()
		}
	}
	fill(3<<20, 1)
	if cap(b.buf) < 3<<20 {
		t.Fatalf("%d bytes", cap(b.buf))
	}
	fill(1000, memoryWindow-1)
	if cap(b.buf) < 3<<20 {
		t.Errorf("%d bytes: given back too soon", cap(b.buf))
	}
	fill(1000, memoryWindow)
	if cap(b.buf) > 4*minKeptBatch {
		t.Errorf("%d bytes are kept", cap(b.buf))
	}
}
