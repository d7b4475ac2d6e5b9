package cmdline

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// plainEvery is how often progress is printed where no terminal redraws it.
const plainEvery = 5 * time.Second

// Screen shows long work: what is redrawn on a terminal, a plain line now and
// then elsewhere. It belongs to one goroutine.
type Screen struct {
	w    io.Writer
	tty  bool
	now  func() time.Time
	last time.Time // of the last plain progress line
	open int       // width of the redrawn line that stands unfinished
}

// NewScreen shows work on standard output. If one of the outputs that the user named is "-",
// a program reads standard output, and the work is shown on standard error without redrawing.
func NewScreen(s Streams, outputs ...string) *Screen {
	if slices.Contains(outputs, "-") {
		return &Screen{w: s.Err, now: time.Now}
	}
	return &Screen{w: s.Out, tty: s.Terminal(), now: time.Now}
}

// Heading begins a part of the work.
func (s *Screen) Heading(format string, args ...any) {
	s.Clear()
	fmt.Fprintf(s.w, "\n%s\n", s.Bold(fmt.Sprintf(format, args...)))
}

// Say prints one line that stays.
func (s *Screen) Say(format string, args ...any) {
	s.Clear()
	fmt.Fprintf(s.w, "  "+format+"\n", args...)
}

// Progress replaces the line before it on a terminal; elsewhere it is printed
// at most once in plainEvery.
func (s *Screen) Progress(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if s.tty {
		width := utf8.RuneCountInString(line)
		fmt.Fprintf(s.w, "\r  %s%s", line, strings.Repeat(" ", max(0, s.open-width)))
		s.open = width
		return
	}
	if now := s.now(); now.Sub(s.last) >= plainEvery {
		s.last = now
		fmt.Fprintf(s.w, "  … %s\n", line)
	}
}

// Clear removes what is redrawn.
func (s *Screen) Clear() {
	if s.open > 0 {
		fmt.Fprintf(s.w, "\r%s\r", strings.Repeat(" ", s.open+2))
		s.open = 0
	}
}

// Bold marks a text on a terminal.
func (s *Screen) Bold(text string) string {
	if s.tty {
		return "\x1b[1m" + text + "\x1b[0m"
	}
	return text
}

// Write prints raw text; what is redrawn is removed first.
func (s *Screen) Write(p []byte) (int, error) {
	s.Clear()
	return s.w.Write(p)
}
