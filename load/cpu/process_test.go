package cpu

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestStatIsReadFromItsEnd(t *testing.T) {
	const line = "42 (a (strange) name) S 1 42 42 0 -1 4194560 90 80 7 6 150 50 30 20 20 0 1 0 100 200 300"
	for children, want := range map[bool]time.Duration{false: 2 * time.Second, true: 2500 * time.Millisecond} {
		got, err := parseStat([]byte(line), children)
		if err != nil || got != want {
			t.Errorf("children %v: %v, %v, want %v", children, got, err, want)
		}
	}
	for _, bad := range []string{"", "42 S 1", "42 (x) S 1 2 3", "42 (x) S 1 42 42 0 -1 4194560 90 80 7 6 many 50 30 20", "42 (x) S 1 42 42 0 -1 4194560 90 80 7 6 -1 50 30 20"} {
		if d, err := parseStat([]byte(bad), true); err == nil {
			t.Errorf("%q gave %v", bad, d)
		}
	}
}

func FuzzStat(f *testing.F) {
	f.Add([]byte("42 (x) S 1 42 42 0 -1 4194560 90 80 7 6 150 50 30 20 20 0"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if d, err := parseStat(b, true); err == nil && !strings.Contains(string(b), ")") {
			t.Errorf("%q gave %v", b, d)
		}
		// Whatever a program calls itself, its time is what stands behind the name.
		if len(b) > 100 {
			return
		}
		line := slices.Concat([]byte("42 ("), b, []byte(") S 1 42 42 0 -1 4194560 90 80 7 6 150 50 30 20 20 0"))
		want, err := parseStat([]byte("42 (x) S 1 42 42 0 -1 4194560 90 80 7 6 150 50 30 20 20 0"), true)
		if got, named := parseStat(line, true); err != nil || named != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", line, got, named, want)
		}
	})
}
