package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"whittle/internal/cputime"
	"whittle/internal/fatal"
)

// BenchmarkCacheHit is what a picture from the cache costs the API and the
// cache, each a process, with the forgotten line and without, for four clients a core.
func BenchmarkCacheHit(b *testing.B) {
	for _, size := range []int{50_000, 200_000, 500_000} {
		picture := make([]byte, size)
		r := rand.NewChaCha8([32]byte{5})
		_, _ = r.Read(picture) // as a compressed picture is
		copy(picture, "\x89PNG\r\n\x1a\n")
		for _, c := range []struct {
			name string
			args []string
		}{{"without", nil}, {"debug-print", []string{"--debug-print"}}} {
			b.Run(fmt.Sprintf("%dkB/%s", size/1000, c.name), func(b *testing.B) {
				api, cache := two(b, c.args...)
				url := "http://" + api.Public + "/cache/" + store(b, cache.Public, picture)
				if code, got := get(b, url); code != 200 || !bytes.Equal(got, picture) {
					b.Fatalf("%d, %d bytes", code, len(got))
				}
				apiBefore, cacheBefore := spent(b, api), spent(b, cache)
				b.SetParallelism(4)
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						get(b, url)
					}
				})
				b.ReportMetric((spent(b, api)-apiBefore)/float64(b.N), "api-µs/op")
				b.ReportMetric((spent(b, cache)-cacheBefore)/float64(b.N), "cache-µs/op")
			})
		}
	}
}

// spent is a process's CPU time in microseconds.
func spent(b *testing.B, p *program) float64 {
	b.Helper()
	d, err := cputime.Of(p.Pid())
	fatal.If(b, err)
	return float64(d.Nanoseconds()) / 1e3
}
