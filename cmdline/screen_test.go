package cmdline

import (
	"strings"
	"testing"
	"time"
)

func TestPlainScreenPrintsNowAndThen(t *testing.T) {
	var b strings.Builder
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := &Screen{w: &b, now: func() time.Time { return at }}
	s.Heading("Act %d", 1)
	for i := range 11 {
		s.Progress("%d done", i)
		at = at.Add(time.Second)
	}
	s.Say("over")
	if got, want := b.String(), "\nAct 1\n  … 0 done\n  … 5 done\n  … 10 done\n  over\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTerminalRedrawsOneLine(t *testing.T) {
	var b strings.Builder
	s := &Screen{w: &b, tty: true, now: time.Now}
	s.Heading("Act")
	s.Progress("länger")
	s.Progress("kurz")
	s.Say("over")
	s.Say("and out")
	want := "\n\x1b[1mAct\x1b[0m\n" + "\r  länger" + "\r  kurz  " + "\r      \r" + "  over\n" + "  and out\n"
	if got := b.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRedrawLeavesNothingBehind plays a terminal: whatever lines came before,
// what is left on the screen is the last one.
func TestRedrawLeavesNothingBehind(t *testing.T) {
	var b strings.Builder
	s := &Screen{w: &b, tty: true, now: time.Now}
	for _, line := range []string{"a long line of progress", "short", "a bit longer", "x"} {
		s.Progress("%s", line)
		if got := strings.TrimRight(drawn(b.String()), " "); got != "  "+line {
			t.Errorf("the screen shows %q after %q", got, line)
		}
	}
	s.Clear()
	if got := strings.TrimRight(drawn(b.String()), " "); got != "" {
		t.Errorf("the screen shows %q after it was cleared", got)
	}
}

// drawn is what a terminal shows of one line with carriage returns in it.
func drawn(text string) string {
	var row []rune
	for part := range strings.SplitSeq(text, "\r") {
		for i, r := range []rune(part) {
			if i < len(row) {
				row[i] = r
			} else {
				row = append(row, r)
			}
		}
	}
	return string(row)
}
