package accesslog

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"whittle/carve/logqueue"
)

// Output is a log file that nobody waits for: lines are queued, as in package logqueue.
type Output struct {
	file  *os.File
	queue *logqueue.Queue
}

// ToFile opens a log file for lines of JSON, which are appended. failed gets what goes wrong
// with writing them, at most once in a minute.
func ToFile(path string, failed func(error)) (*Output, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY|syscall.O_NONBLOCK, 0o640) // nobody waits for a pipe's reader
	if err != nil {
		return nil, err
	}
	return &Output{file: f, queue: logqueue.New(&watched{to: f, failed: failed}, func(to io.Writer, dropped int64) {
		_, _ = fmt.Fprintf(to, `{"time":%q,"dropped":%d}`+"\n", time.Now().Format(time.RFC3339Nano), dropped) // the log's own writing fails likewise
	})}, nil
}

// watched says when a write fails. One goroutine writes.
type watched struct {
	to     io.Writer
	failed func(error)
	said   time.Time
}

// Write implements io.Writer.
func (w *watched) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if err != nil && time.Since(w.said) > time.Minute {
		w.said = time.Now()
		w.failed(err)
	}
	return n, err
}

// Logger writes lines without a level and a message.
func (o *Output) Logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(o.queue, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
			return slog.Attr{}
		}
		return a
	}}))
}

// Dropped counts the lines that are not in the file.
func (o *Output) Dropped() prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "whittle_access_lines_dropped_total", Help: "Lines of the access log that were dropped because the file took none, or not soon enough.",
	}, func() float64 { return float64(o.queue.Dropped()) })
}

// Close writes what waits, for as long as within at most.
func (o *Output) Close(within time.Duration) error {
	o.queue.Close(within)
	return o.file.Close()
}
