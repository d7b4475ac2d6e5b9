package run

import (
	"bufio"
	"context"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Sample is what a gateway's process holds at a moment.
type Sample struct {
	At         float64 `json:"at"` // seconds since the beginning
	RSS        float64 `json:"rss"`
	Goroutines float64 `json:"goroutines"`
	// Files are open, and Kept those of them that are connections kept to upstreams, where
	// that is known.
	Files float64 `json:"files"`
	Kept  float64 `json:"kept"`
	// Heap is what the last collection of garbage has left, and Collections how many
	// there were.
	Heap        float64 `json:"heap"`
	Collections float64 `json:"collections"`
}

// sample asks a process what it holds; false: it is not there.
func (g *gateway) sample(ctx context.Context, since time.Time) (Sample, bool) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	s := Sample{At: time.Since(since).Seconds()}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+g.admin+"/metrics", http.NoBody)
	if err != nil {
		return s, false
	}
	q.Close = true
	resp, err := http.DefaultTransport.RoundTrip(q)
	if err != nil {
		return s, false
	}
	defer resp.Body.Close()
	into := map[string]*float64{"go_goroutines": &s.Goroutines, "process_open_fds": &s.Files, "process_resident_memory_bytes": &s.RSS, "go_memstats_next_gc_bytes": &s.Heap, "go_gc_duration_seconds_count": &s.Collections}
	for lines := bufio.NewScanner(io.LimitReader(resp.Body, 1<<22)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if v := into[name]; v != nil {
			*v, _ = strconv.ParseFloat(value, 64) // 0 is seen below
		}
	}
	s.Heap /= 2 // the next collection begins at twice of it
	return s, s.Goroutines > 0 && s.Files > 0 && s.RSS > 0
}

// Trend says whether something grew.
type Trend struct {
	Samples int     `json:"samples"`
	Level   float64 `json:"level"` // the mean of the blocks
	// Growth is that over the time looked at, Most its upper bound at 99 %.
	Growth float64 `json:"growth"`
	Most   float64 `json:"growth_at_most"`
	Margin float64 `json:"margin"`
	// Flat says that the bound is below the margin.
	Flat bool `json:"flat"`
}

const (
	// blocks are what a series is cut into. The median of each leaves the garbage
	// collector's sawtooth out, and neighbours depend on each other less than samples.
	blocks = 12
	// blockSamples are needed of each where users ask meanwhile.
	blockSamples = 5
	// quantile is Student's at 99 %, of blocks less two degrees of freedom.
	quantile = 2.764
)

// trend holds a series to a margin. It has to be shown that the growth is below it: a
// series that has fewer samples of a block than least, or is too restless to say so, is
// not flat.
func trend(series []float64, least int, margin float64) Trend {
	t := Trend{Samples: len(series), Margin: margin}
	if len(series) < blocks*least {
		return t
	}
	var y [blocks]float64
	for i := range y {
		block := slices.Clone(series[i*len(series)/blocks : (i+1)*len(series)/blocks])
		slices.Sort(block)
		y[i] = block[len(block)/2]
		t.Level += y[i] / blocks
	}
	var xy, xx float64
	for i, v := range y {
		x := float64(i) - (blocks-1)/2.0
		xy, xx = xy+x*(v-t.Level), xx+x*x
	}
	slope, left := xy/xx, 0.0
	for i, v := range y {
		d := v - t.Level - slope*(float64(i)-(blocks-1)/2.0)
		left += d * d
	}
	t.Growth = slope * blocks
	t.Most = (slope + quantile*math.Sqrt(left/(blocks-2)/xx)) * blocks
	t.Flat = t.Most < margin
	return t
}

// Margins of the growth over half of a run: a tenth of the level, and at least so much.
const (
	leastMemory = 8 << 20
	leastNumber = 20
	// mostHeap is that of the heap while nobody asks, whatever its level.
	mostHeap = 2 << 20
	tenth    = 0.1
)

// trends judges the second half of a run: memory by samples of it all, and the rest by
// those of when it was calm. While users ask, their requests hold goroutines, files and
// heap, and the pauses between, in which nothing does, would make any series restless. Kept
// connections are as many as the last burst needed; that none of them is left is seen at
// the end.
func trends(all, calm []Sample) map[string]Trend {
	half := all[len(all)/2:]
	for len(half) > 0 && len(calm) > 0 && calm[0].At < half[0].At {
		calm = calm[1:]
	}
	judge := func(samples []Sample, value func(Sample) float64, least int, margin, share float64) Trend {
		series, level := make([]float64, len(samples)), 0.0
		for i, s := range samples {
			series[i] = value(s)
			level += series[i] / float64(len(samples))
		}
		return trend(series, least, max(margin, share*level))
	}
	return map[string]Trend{
		"rss":        judge(half, func(s Sample) float64 { return s.RSS }, blockSamples, leastMemory, tenth),
		"goroutines": judge(calm, func(s Sample) float64 { return s.Goroutines }, 1, leastNumber, tenth),
		"files":      judge(calm, func(s Sample) float64 { return s.Files - s.Kept }, 1, leastNumber, tenth),
		"heap":       judge(calm, func(s Sample) float64 { return s.Heap }, 1, mostHeap, 0),
	}
}
