package main

import (
	"fmt"
	"strings"
	"sync/atomic"
	"unicode"

	"whittle/cmdline"
	"whittle/load/report"
)

// logQueue bounds the lines that wait to be printed.
const logQueue = 1024

// planLog prints a load run's progress and the lines of the plan's log steps. Virtual
// users write those on the threads that send load, so a line never waits: it is
// queued, or dropped and counted if the queue is full.
type planLog struct {
	screen *cmdline.Screen // belongs to the goroutine of newPlanLog until close
	queue  chan func()
	left   atomic.Int64
	done   chan struct{}
}

func newPlanLog(s *cmdline.Screen) *planLog {
	l := &planLog{screen: s, queue: make(chan func(), logQueue), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for show := range l.queue {
			show()
		}
	}()
	return l
}

func (l *planLog) put(show func()) {
	select {
	case l.queue <- show:
	default:
		l.left.Add(1)
	}
}

// progress shows how the run stands.
func (l *planLog) progress(p report.Progress) {
	l.put(func() { l.screen.Progress("%s", p) })
}

// line prints one line of virtual user i's. What a target's response may have
// brought into it cannot move the cursor.
func (l *planLog) line(_ int64, text string) {
	l.put(func() {
		l.screen.Say("%s", strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return unicode.ReplacementChar
			}
			return r
		}, text))
	})
}

// close waits for what is queued. Nobody may use the log after it.
func (l *planLog) close() {
	close(l.queue)
	<-l.done
	l.screen.Clear()
	if n := l.left.Load(); n > 0 {
		l.screen.Say("%s", fmt.Sprintf("(%d further lines were not printed: they came faster than they could be)", n))
	}
}
