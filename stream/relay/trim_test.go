package relay

import (
	"testing"
	"time"
)

// TestPastIsBounded notes two days of saves, one a second: the marks stay few,
// and what is old enough leaves soon after its time and never before.
func TestPastIsBounded(t *testing.T) {
	const keep = 24 * time.Hour
	var p past
	begun := time.Unix(0, 0)
	for second := range uint64(48 * 3600) {
		now := begun.Add(time.Duration(second) * time.Second)
		before := p.note(now, second, keep)
		age := now.Sub(begun.Add(time.Duration(before) * time.Second))
		switch {
		case len(p.marks) >= 2*pastMarks:
			t.Fatalf("%d marks after %d seconds", len(p.marks), second)
		case before > 0 && age < keep:
			t.Fatalf("what was drained %v ago leaves", age)
		case second > 25*3600 && age > keep+keep/pastMarks*2:
			t.Fatalf("what was drained %v ago is still there", age)
		}
	}
}

// TestPastInAHurry gives up the oldest first, and has more than a few steps
// however short the time is that was noted.
func TestPastInAHurry(t *testing.T) {
	var p past
	for second := range uint64(300) {
		p.note(time.Unix(int64(second), 0), second, 24*time.Hour)
	}
	last, steps := uint64(0), 0
	for {
		low, ok := p.hurry()
		if !ok {
			break
		}
		if low < last {
			t.Errorf("%d comes after %d", low, last)
		}
		last = low
		steps++
	}
	if steps < pastMarks || last < 290 {
		t.Errorf("%d steps, the last one to %d of 300", steps, last)
	}
}
