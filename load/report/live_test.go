package report

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"whittle/internal/latency"
)

func TestTheLiveViewShowsTheLastMinutes(t *testing.T) {
	var l Live
	if l.Lines(100, 40) != nil {
		t.Error("it draws nothing before anything is known")
	}
	for i := range 8 {
		l.Add(Progress{
			Elapsed: time.Duration(i+1) * time.Second, Left: time.Duration(19-i) * time.Second, Rate: float64(100 * i), FailedRate: float64(i / 7),
			Completed: int64(1000 * i), Failed: 1, InFlight: 5, Skipped: int64(i),
			Recent: latency.Snapshot{P50: time.Duration(i) * time.Millisecond, P95: 12345 * time.Microsecond, P99: time.Duration(8-i) * time.Second},
		})
	}
	got := strings.Join(l.Lines(64, 24), "\n")
	want := strings.Join([]string{
		"  8s, 12s left (40 %)",
		"  5 users under way, 7000 requests completed, 1 failed, 7 arri…",
		"              the last 7s                         now      most",
		"  rate, /s     ▂▃▄▅▆▇█                            700       700",
		"  median, ms   ▂▃▄▅▆▇█                           7.00      7.00",
		"  p95, ms     ████████                           12.3      12.3",
		"  p99, ms     ██▇▆▅▄▃▂                           1000      8000",
		"  failed, /s         █                           1.00      1.00",
	}, "\n")
	if got != want {
		t.Errorf("it draws\n%s\nwant\n%s", got, want)
	}
}

// However long a run is and however wide the terminal, no line is too long, none is
// missing, and what is kept is bounded.
func TestTheLiveViewFits(t *testing.T) {
	var l Live
	for i := range 3 * liveSeen {
		l.Add(Progress{Elapsed: time.Duration(i) * time.Hour, Rate: 1e6, Completed: 1 << 60, Failed: 1 << 60, InFlight: 1 << 60, Skipped: 1 << 60, Recent: latency.Snapshot{P50: time.Hour, P95: time.Hour, P99: time.Hour}})
		for _, width := range []int{0, 10, liveWidth - 1, liveWidth, 80, 100, 400} {
			lines := l.Lines(width, 24)
			if (lines == nil) != (width < liveWidth) || lines != nil && len(lines) != liveRows {
				t.Fatalf("%d columns: %d lines", width, len(lines))
			}
			for _, line := range lines {
				if utf8.RuneCountInString(line) >= width {
					t.Fatalf("%d columns: %q", width, line)
				}
			}
		}
	}
	if len(l.seen) != liveSeen || cap(l.seen) > 2*liveSeen || l.Lines(100, liveRows) != nil {
		t.Errorf("%d of %d are kept", len(l.seen), cap(l.seen))
	}
}
