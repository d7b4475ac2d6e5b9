package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"whittle/internal/pemfile"
)

// pollInterval is how often the file is looked at. Asking the file system by
// name sees every way to change a file, links of mounted secrets included.
const pollInterval = time.Second

// watcher reads the write keys again. SIGHUP is its from newWatcher to stop: one that comes
// while the server starts waits, and one that comes while it drains ends nothing.
type watcher struct {
	path string
	last pemfile.Stamp // from before the file was read
	// reload reads it. After an error what was read before stays in force.
	reload func() error
	hup    chan os.Signal
}

func newWatcher(path string) *watcher {
	w := &watcher{path: path, last: pemfile.StampOf(path), hup: make(chan os.Signal, 1)}
	signal.Notify(w.hup, syscall.SIGHUP)
	return w
}

func (w *watcher) stop() { signal.Stop(w.hup) }

// watch reads the file again on SIGHUP and when it changes, until ctx ends.
func (w *watcher) watch(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		why := "SIGHUP"
		select {
		case <-ctx.Done():
			return
		case <-w.hup:
		case <-tick.C:
			why = "the file changed"
		}
		now := pemfile.StampOf(w.path)
		if now == w.last && why != "SIGHUP" {
			continue
		}
		w.last = now
		if err := w.reload(); err != nil {
			log.Error("reloading write keys failed; the old ones stay in force", "cause", why, "err", err)
			continue
		}
		log.Info("write keys loaded", "cause", why)
	}
}
