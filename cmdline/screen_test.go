package cmdline

import (
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
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

// terminal is what a terminal shows: it knows carriage returns, new lines, up and erase
// below.
type terminal struct {
	rows     [][]rune
	row, col int
}

func (s *terminal) play(text string) string {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch r {
		case '\r':
			s.col = 0
		case '\n': // as a terminal has it for who does not take it over
			s.row, s.col = s.row+1, 0
		case '\x1b':
			end := i + strings.IndexAny(text[i:], "ABCDEFGHJKm")
			n, _ := strconv.Atoi(text[i+1 : end])
			switch text[end] {
			case 'A':
				s.row -= n
			case 'J':
				s.rows = s.rows[:min(s.row+1, len(s.rows))]
				if s.row < len(s.rows) {
					s.rows[s.row] = s.rows[s.row][:min(s.col, len(s.rows[s.row]))]
				}
			}
			i = end + 1
		default:
			for s.row >= len(s.rows) {
				s.rows = append(s.rows, nil)
			}
			for s.col >= len(s.rows[s.row]) {
				s.rows[s.row] = append(s.rows[s.row], ' ')
			}
			s.rows[s.row][s.col] = r
			s.col++
		}
	}
	var out []string
	for _, r := range s.rows {
		out = append(out, strings.TrimRight(string(r), " "))
	}
	return strings.Join(out, "|")
}

// TestLinesAreRedrawnInPlace plays a terminal: of lines that are redrawn the last ones are
// left, and what is said meanwhile stands above them.
func TestLinesAreRedrawnInPlace(t *testing.T) {
	var b strings.Builder
	s := &Screen{w: &b, tty: true, now: time.Now, size: func() (int, int) { return 80, 24 }}
	show := func() string { return new(terminal).play(b.String()) }
	if w, h := s.Size(); w != 80 || h != 24 {
		t.Errorf("%d by %d", w, h)
	}
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() { s.Say("begin") }, "  begin"},
		{func() { s.Redraw([]string{"a long first", "b", "c"}) }, "  begin|a long first|b|c"},
		{func() { s.Redraw([]string{"d", "e"}) }, "  begin|d|e"},
		{func() { s.Say("between") }, "  begin|  between"},
		{func() { s.Redraw([]string{"ü"}) }, "  begin|  between|ü"},
		{func() { s.Progress("one line") }, "  begin|  between|  one line"},
		{func() { s.Redraw([]string{"f", "g"}) }, "  begin|  between|f|g"},
		{func() { s.Clear(); s.Clear() }, "  begin|  between"},
	} {
		if step.do(); strings.TrimRight(show(), "|") != step.want {
			t.Errorf("the screen shows %q, want %q", show(), step.want)
		}
	}
	if w, h := (&Screen{w: &b, now: time.Now}).Size(); w != 0 || h != 0 {
		t.Errorf("without a terminal it is %d by %d", w, h)
	}
}
