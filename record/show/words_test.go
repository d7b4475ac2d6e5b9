package show

import (
	"testing"
	"time"
)

func TestMomentsAreRead(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 31, 23, 59, 59, 9e8, time.Local)
	for text, want := range map[string]time.Time{
		"2026-03-01T12:00:00Z":      time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		"2026-03-01T12:00:00.5Z":    time.Date(2026, 3, 1, 12, 0, 0, 5e8, time.UTC),
		"2026-03-01T14:00:00+02:00": time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		"2026-03-01 12:00":          time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local),
		"2026-03-01":                time.Date(2026, 3, 1, 0, 0, 0, 0, time.Local),
		"12:30":                     time.Date(2026, 12, 31, 12, 30, 0, 0, time.Local),
		"12:30:05":                  time.Date(2026, 12, 31, 12, 30, 5, 0, time.Local),
		"10m":                       now.Add(-10 * time.Minute),
	} {
		if got, err := moment(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s is %s, want %s: %v", text, got, want, err)
		}
	}
	for _, text := range []string{"", "12", "yesterday", "2026-13-01"} {
		if got, err := moment(text, now); err == nil {
			t.Errorf("%q is %s", text, got)
		}
	}
}
