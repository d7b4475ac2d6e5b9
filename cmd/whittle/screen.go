package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// plainEvery is how often progress is printed where no terminal redraws it.
const plainEvery = 5 * time.Second

// screen shows long work: one redrawn line on a terminal, a plain line now and
// then elsewhere. It belongs to one goroutine.
type screen struct {
	w    io.Writer
	tty  bool
	now  func() time.Time
	last time.Time // of the last plain progress line
	open int       // width of the redrawn line that stands unfinished
}

func newScreen(s streams) *screen {
	return &screen{w: s.out, tty: s.terminal(), now: time.Now}
}

// heading begins a part of the work.
func (s *screen) heading(format string, args ...any) {
	s.clear()
	fmt.Fprintf(s.w, "\n%s\n", s.bold(fmt.Sprintf(format, args...)))
}

// say prints one line that stays.
func (s *screen) say(format string, args ...any) {
	s.clear()
	fmt.Fprintf(s.w, "  "+format+"\n", args...)
}

// progress replaces the line before it on a terminal; elsewhere it is printed
// at most once in plainEvery.
func (s *screen) progress(format string, args ...any) {
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

func (s *screen) clear() {
	if s.open > 0 {
		fmt.Fprintf(s.w, "\r%s\r", strings.Repeat(" ", s.open+2))
		s.open = 0
	}
}

func (s *screen) bold(text string) string {
	if s.tty {
		return "\x1b[1m" + text + "\x1b[0m"
	}
	return text
}
