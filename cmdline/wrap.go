package cmdline

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"
)

// Wrapped is standard output, on which a line that is longer than the terminal is
// wide goes on below the place where its value begins, broken at a space. A file
// or a pipe gets every line as it is. What is written ends with a newline.
func (s Streams) Wrapped() io.Writer {
	width, _ := s.size()
	if !s.Terminal() || width < 40 {
		return s.Out
	}
	return &wrapper{w: s.Out, width: width}
}

type wrapper struct {
	w     io.Writer
	width int
	line  []byte // that has no end yet
}

func (w *wrapper) Write(p []byte) (int, error) {
	w.line = append(w.line, p...)
	end := bytes.LastIndexByte(w.line, '\n') + 1
	var out strings.Builder
	for line := range strings.Lines(string(w.line[:end])) {
		out.WriteString(wrapped(line, w.width))
	}
	w.line = append(w.line[:0], w.line[end:]...)
	_, err := io.WriteString(w.w, out.String())
	return len(p), err
}

// wrapped breaks a line, which ends with a newline, at spaces. A word that is
// longer than the width stays whole.
func wrapped(line string, width int) string {
	indent := valueAt(line)
	if indent > width/2 {
		indent = 4
	}
	var b strings.Builder
	for column := 0; ; column = indent {
		room := width - column
		at := breakAt(line, room)
		if utf8.RuneCountInString(strings.TrimRight(line, "\n")) <= room || at < 0 {
			b.WriteString(line)
			return b.String()
		}
		b.WriteString(strings.TrimRight(line[:at], " ") + "\n" + strings.Repeat(" ", indent))
		line = strings.TrimLeft(line[at:], " ")
	}
}

// valueAt is the column at which a line's value begins: behind its label and two
// spaces, or else behind its indentation.
func valueAt(line string) int {
	lead := len(line) - len(strings.TrimLeft(line, " "))
	if i := strings.Index(line[lead:], "  "); i > 0 {
		value := strings.TrimLeft(line[lead+i:], " ")
		return utf8.RuneCountInString(line[:len(line)-len(value)])
	}
	return lead + 2
}

// breakAt is where a line is broken to fit into so many columns: its last space
// within them that has a word before it, else the first one behind them; -1:
// there is none.
func breakAt(line string, room int) int {
	at, column := -1, 0
	for i, c := range line {
		if c == ' ' && strings.TrimLeft(line[:i], " ") != "" {
			if column > room && at >= 0 {
				return at
			}
			at = i
			if column > room {
				return at
			}
		}
		column++
	}
	return at
}
