package embedded

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"whittle/bench/cputime"
	"whittle/systems/ingest/stream"
)

// benchDir is on the disk to be measured: BENCH_DIR, or where tests have theirs.
func benchDir(b *testing.B) string {
	if dir := os.Getenv("BENCH_DIR"); dir != "" {
		dir, err := os.MkdirTemp(dir, "bench")
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { os.RemoveAll(dir) })
		return dir
	}
	return b.TempDir()
}

func event(size int) []byte {
	value := make([]byte, size)
	for i := range value {
		value[i] = byte(i*7 + i/256)
	}
	return value
}

// bareSync measures the disk itself: one write of size bytes into a segment that
// is there already, and one sync.
func bareSync(b *testing.B, dir string, size int) (median, p99 time.Duration) {
	b.Helper()
	f, err := folder(dir).Create("bare", 64<<20)
	if err != nil {
		b.Fatal(err)
	}
	defer os.Remove(folder(dir).path("bare"))
	defer f.Close()
	var took []time.Duration
	buf := event(size)
	for at := 0; at+size <= 64<<20 && len(took) < 300; at += size {
		begin := time.Now()
		if _, err := f.WriteAt(buf, int64(at)); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begin))
	}
	return quantile(took, 0.5), quantile(took, 0.99)
}

func quantile(d []time.Duration, q float64) time.Duration {
	slices.Sort(d)
	if len(d) == 0 {
		return 0
	}
	return d[min(len(d)-1, int(q*float64(len(d))))]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// BenchmarkAppend appends events of a kilobyte from many goroutines, each of
// which waits for its response before the next call, as connections do. An
// operation is one event.
func BenchmarkAppend(b *testing.B) {
	for _, c := range []struct {
		callers, batch int
		p99            time.Duration
	}{
		{1, 1, 0},
		{64, 1, 0},
		{1000, 1, 0},
		{1000, 1, 10 * time.Millisecond},
		{8, 50, 0},
		{64, 50, 0},
		{64, 50, 20 * time.Millisecond},
		{1000, 50, 0},
	} {
		b.Run(fmt.Sprintf("callers=%d/batch=%d/p99=%v", c.callers, c.batch, c.p99), func(b *testing.B) {
			benchAppend(b, c.callers, c.batch, Options{P99: c.p99, RetainBytes: 1 << 30, ScrubRate: -1})
		})
	}
}

func benchAppend(b *testing.B, callers, batch int, o Options) {
	dir := benchDir(b)
	median, p99 := bareSync(b, dir, 64<<10)
	l, err := Open(dir, o)
	if err != nil {
		b.Fatal(err)
	}
	value := event(1000)
	var (
		left  atomic.Int64
		wg    sync.WaitGroup
		mu    sync.Mutex // guards the following
		waits []time.Duration
	)
	left.Store(int64(b.N))
	cpu := spent(b)
	b.ReportAllocs()
	b.SetBytes(int64(len(value)))
	b.ResetTimer()
	begin := time.Now()
	for range callers {
		wg.Go(func() {
			records := make([]stream.Record, batch)
			for i := range records {
				records[i] = stream.Record{ID: "0123456789abcdef", Key: "user-1234", Time: begin, Value: value}
				records[i].Seal()
			}
			var own []time.Duration
			for left.Add(-int64(batch)) > -int64(batch) {
				start := time.Now()
				for _, r := range l.Append(context.Background(), records) {
					if r.Err != nil {
						b.Error(r.Err)
						return
					}
				}
				own = append(own, time.Since(start))
			}
			mu.Lock()
			waits = append(waits, own...)
			mu.Unlock()
		})
	}
	wg.Wait()
	took := time.Since(begin)
	b.StopTimer()
	used := spent(b) - cpu
	s := l.Stats()
	closing(b, l)
	b.ReportMetric(float64(used.Microseconds())/float64(max(s.Records, 1)), "cpu-us/event")
	b.ReportMetric(float64(s.Records)/took.Seconds(), "events/s")
	b.ReportMetric(ms(quantile(waits, 0.5)), "p50-ms")
	b.ReportMetric(ms(quantile(waits, 0.99)), "p99-ms")
	b.ReportMetric(ms(median), "bare-sync-ms")
	b.ReportMetric(ms(p99), "bare-sync-p99-ms")
	b.ReportMetric(float64(s.Records)/float64(max(s.Commits, 1)), "events/sync")
	b.ReportMetric(ms(s.SyncTotal)/float64(max(s.Commits, 1)), "sync-ms")
}

// BenchmarkRead reads events of a kilobyte, written in batches of fifty.
func BenchmarkRead(b *testing.B) {
	l, err := Open(benchDir(b), Options{ScrubRate: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer closing(b, l)
	records := make([]stream.Record, 50)
	for i := range records {
		records[i] = record("0123456789abcdef", event(1000))
	}
	const total = 100_000
	for range total / len(records) {
		keep(b, l, records...)
	}
	into := make([]stream.Entry, 256)
	b.ReportAllocs()
	b.SetBytes(1000)
	b.ResetTimer()
	for read := 0; read < b.N; {
		r, err := l.Read(b.Context(), position(0))
		if err != nil {
			b.Fatal(err)
		}
		for here := 0; here < total && read < b.N; {
			n, err := r.Next(b.Context(), into)
			if err != nil {
				b.Fatal(err)
			}
			here += n
			read += n
		}
		r.Close()
	}
}

// forget drops a file from the system's memory, where that can be done.
var forget func(f *os.File) error

// BenchmarkOpen recovers a log of RECOVER_GB (1) gigabytes that was not closed,
// read from the disk where forget can have it so.
func BenchmarkOpen(b *testing.B) {
	gigabytes := 1
	if text := os.Getenv("RECOVER_GB"); text != "" {
		if _, err := fmt.Sscan(text, &gigabytes); err != nil {
			b.Fatal(err)
		}
	}
	dir := benchDir(b)
	l, err := Open(dir, Options{ScrubRate: -1})
	if err != nil {
		b.Fatal(err)
	}
	records := make([]stream.Record, 1000)
	for i := range records {
		records[i] = record("0123456789abcdef", event(1000))
	}
	for l.Stats().Written < int64(gigabytes)<<30 {
		keep(b, l, records...)
	}
	_, next := spanOf(b, l)
	closing(b, l)
	crashed := segmentName(lastSegment(b, dir))
	if err := os.Truncate(folder(dir).path(crashed), 64<<20); err != nil { // as before it was closed
		b.Fatal(err)
	}
	forgetAll(b, dir)
	for b.Loop() {
		l, err := Open(dir, Options{ScrubRate: -1})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if _, n := spanOf(b, l); n != next {
			b.Fatalf("%d records of %d", n, next)
		}
		closing(b, l)
		if err := os.Truncate(folder(dir).path(crashed), 64<<20); err != nil {
			b.Fatal(err)
		}
		forgetAll(b, dir)
		b.StartTimer()
	}
	b.ReportMetric(float64(gigabytes), "GiB")
}

func forgetAll(b *testing.B, dir string) {
	b.Helper()
	if forget == nil {
		return
	}
	names, err := folder(dir).List()
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range names {
		f, err := os.Open(folder(dir).path(name))
		if err != nil {
			b.Fatal(err)
		}
		if err := forget(f); err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}

func spanOf(b *testing.B, l *Log) (first, next uint64) {
	b.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first, l.next
}

func lastSegment(b *testing.B, dir string) uint64 {
	b.Helper()
	names, err := folder(dir).List()
	if err != nil {
		b.Fatal(err)
	}
	numbers := segmentNumbers(names)
	return numbers[len(numbers)-1]
}

// BenchmarkPaced appends at a given rate, whatever the log does: each call has
// its time, and its wait counts from there. The figures to look at are the
// waits; ns/op is the rate that was asked for.
func BenchmarkPaced(b *testing.B) {
	for _, c := range []struct {
		rate, callers, batch int // calls a second
		p99                  time.Duration
	}{
		{20_000, 64, 1, 0},
		{20_000, 1000, 1, 0},
		{20_000, 1000, 1, 5 * time.Millisecond},
		{20_000, 1000, 1, 10 * time.Millisecond},
		{3000, 64, 50, 0},
		{3000, 64, 50, 5 * time.Millisecond},
		{3000, 64, 50, 10 * time.Millisecond},
	} {
		b.Run(fmt.Sprintf("events=%d/callers=%d/batch=%d/p99=%v", c.rate*c.batch, c.callers, c.batch, c.p99), func(b *testing.B) {
			dir := benchDir(b)
			median, p99 := bareSync(b, dir, 64<<10)
			l, err := Open(dir, Options{P99: c.p99, RetainBytes: 1 << 30, ScrubRate: -1})
			if err != nil {
				b.Fatal(err)
			}
			var (
				wg    sync.WaitGroup
				turn  atomic.Int64
				mu    sync.Mutex // guards the following
				waits []time.Duration
			)
			cpu := spent(b)
			begin := time.Now()
			for range c.callers {
				wg.Go(func() {
					records := make([]stream.Record, c.batch)
					for i := range records {
						records[i] = record("0123456789abcdef", event(1000))
					}
					var own []time.Duration
					for {
						n := turn.Add(1) - 1
						if n >= int64(b.N/c.batch) {
							break
						}
						due := begin.Add(time.Duration(n) * time.Second / time.Duration(c.rate))
						time.Sleep(time.Until(due))
						for _, r := range l.Append(context.Background(), records) {
							if r.Err != nil {
								b.Error(r.Err)
								return
							}
						}
						own = append(own, time.Since(due))
					}
					mu.Lock()
					waits = append(waits, own...)
					mu.Unlock()
				})
			}
			wg.Wait()
			b.StopTimer()
			used := spent(b) - cpu
			s := l.Stats()
			closing(b, l)
			b.ReportMetric(ms(quantile(waits, 0.5)), "p50-ms")
			b.ReportMetric(ms(quantile(waits, 0.99)), "p99-ms")
			b.ReportMetric(ms(median), "bare-sync-ms")
			b.ReportMetric(ms(p99), "bare-sync-p99-ms")
			b.ReportMetric(float64(s.Records)/float64(max(s.Commits, 1)), "events/sync")
			b.ReportMetric(float64(used.Microseconds())/float64(max(s.Records, 1)), "cpu-us/event")
		})
	}
}

// spent is the CPU time of this process, those who append included.
func spent(b *testing.B) time.Duration {
	b.Helper()
	d, err := cputime.Of(os.Getpid())
	if err != nil {
		b.Fatal(err)
	}
	return d
}
