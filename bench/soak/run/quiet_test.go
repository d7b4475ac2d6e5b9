package run

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestCollected: what a process holds is taken after its garbage was collected four
// times since it is quiet, also where another process has taken over, and from no page that
// lacks what is asked for.
func TestCollected(t *testing.T) {
	for name, tt := range map[string]struct {
		collections []int // of each page in turn
		want        float64
	}{
		"four later":               {[]int{7, 7, 8, 8, 9, 10, 11}, 11},
		"more at once":             {[]int{7, 12}, 12},
		"another process":          {[]int{7, 8, 3, 4, 5, 6, 7}, 7},
		"a page of something else": {[]int{7, 8, -1}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			pages := tt.collections
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if pages[0] >= 0 {
					fmt.Fprintf(w, "go_goroutines 9\nprocess_open_fds 9\nprocess_resident_memory_bytes 9\ngo_memstats_next_gc_bytes 8e6\ngo_gc_duration_seconds_count %d\n", pages[0])
				}
				if len(pages) > 1 {
					pages = pages[1:]
				}
			}))
			defer srv.Close()
			g := &gateway{admin: strings.TrimPrefix(srv.URL, "http://")}
			s, ok := g.collected(t.Context(), time.Now())
			if ok != (tt.want > 0) || ok && (s.Collections != tt.want || s.Heap != 4e6) {
				t.Errorf("%+v, %v", s, ok)
			}
		})
	}
}

// TestTrends: heap, goroutines and files are judged by samples of when it was calm, of the
// second half alone, and by no fewer than there are blocks. What they are while users ask,
// and that they fall in each pause, does not count.
func TestTrends(t *testing.T) {
	const n = 600
	busy := make([]Sample, n)
	for i := range busy {
		busy[i] = Sample{At: float64(i), RSS: 100 << 20, Goroutines: 160, Files: 160, Heap: float64(i) * (1 << 20)}
		if i%7 < 3 {
			busy[i].Goroutines, busy[i].Files = 60, 60
		}
	}
	calm := func(samples int, heap, number float64) []Sample {
		s := make([]Sample, samples)
		for i := range s {
			at := float64(i) / float64(samples)
			number := 60 + number*at + float64(i%3)
			s[i] = Sample{At: at * n, Heap: 40<<20 + heap*at + float64(i%3)*(100<<10), Goroutines: number, Files: number}
			if at < 0.5 {
				s[i].Heap -= 20 << 20 // it has not settled yet
			}
		}
		return s
	}
	for name, tt := range map[string]struct {
		calm         []Sample
		heap, number bool // are flat
	}{
		"steady":                      {calm(leastQuiets, 0, 0), true, true},
		"grows, but by little":        {calm(leastQuiets, mostHeap, leastNumber), true, true}, // half of it in the half
		"grows by more":               {calm(leastQuiets, 2*mostHeap, 2*leastNumber), false, false},
		"twenty kilobytes per reload": {calm(leastQuiets, 2*220*20<<10, 0), false, true},
		"a goroutine per reload":      {calm(leastQuiets, 0, 220), true, false},
		"too few":                     {calm(2*blocks-2, 0, 0), false, false},
		"none":                        {nil, false, false},
	} {
		got := trends(busy, tt.calm)
		if got["heap"].Flat != tt.heap || got["goroutines"].Flat != tt.number || got["files"].Flat != tt.number || !got["rss"].Flat {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
