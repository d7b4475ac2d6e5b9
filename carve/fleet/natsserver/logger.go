package natsserver

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

const own = "the fleet's NATS server in this process: "

// logger passes on what the server says, at most a line in a few seconds in the long run:
// a peer that is away is said at each attempt.
type logger struct {
	to    *slog.Logger
	limit *rate.Limiter
	// trouble is what has last kept the server from running; nil: nothing does.
	trouble atomic.Pointer[error]
}

func newLogger(to *slog.Logger) *logger {
	return &logger{to: to, limit: rate.NewLimiter(rate.Every(5*time.Second), 10)}
}

// Noticef implements server.Logger.
func (l *logger) Noticef(format string, v ...any) {
	l.to.Debug(own + fmt.Sprintf(format, v...))
}

// Warnf implements server.Logger.
func (l *logger) Warnf(format string, v ...any) { l.Noticef(format, v...) }

// Errorf implements server.Logger.
func (l *logger) Errorf(format string, v ...any) {
	if l.limit.Allow() {
		l.to.Warn(own + fmt.Sprintf(format, v...))
	}
}

// Fatalf implements server.Logger. The process goes on: its users have the monolith.
func (l *logger) Fatalf(format string, v ...any) {
	err := fmt.Errorf(format, v...)
	l.trouble.Store(&err)
	l.to.Error(own + err.Error())
}

// Debugf implements server.Logger.
func (l *logger) Debugf(string, ...any) {}

// Tracef implements server.Logger.
func (l *logger) Tracef(string, ...any) {}
