package control

import (
	"context"
	"log/slog"
)

// maxLines bounds the log lines that wait; the oldest go first.
const maxLines = 256

// journal keeps a route's log lines in order until they can be written with no
// lock held: a log that hangs keeps no share from falling. It is guarded by the
// route's mu.
type journal struct {
	lines []line
	// writing says that somebody writes lines already, and will see those to come.
	writing bool
}

type line struct {
	level slog.Level
	text  string
	args  []any
}

// say keeps a log line for release. The caller holds mu.
func (r *route) say(text string, args ...any) { r.sayAt(slog.LevelInfo, text, args...) }

// sayAt is say at a level. The caller holds mu.
func (r *route) sayAt(level slog.Level, text string, args ...any) {
	if len(r.journal.lines) == maxLines {
		r.journal.lines = r.journal.lines[1:]
	}
	r.journal.lines = append(r.journal.lines, line{level, text, append([]any{"route", r.name}, args...)})
}

// log writes the lines that were kept. The caller holds no lock.
func (r *route) log() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.journal.writing {
		return
	}
	r.journal.writing = true
	for len(r.journal.lines) > 0 {
		lines := r.journal.lines
		r.journal.lines = nil
		r.mu.Unlock()
		for _, l := range lines {
			r.c.o.Log.Log(context.Background(), l.level, l.text, l.args...)
		}
		r.mu.Lock()
	}
	r.journal.writing = false
}
