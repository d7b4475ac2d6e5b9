package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"whittle/internal/pemfile"
)

// pollInterval is how often the files are looked at. Asking the file system by
// name sees every way to change a file, links of mounted secrets included.
const pollInterval = time.Second

// watched are files that are read again while the server runs.
type watched struct {
	what  string // in the log
	paths []string
	last  []pemfile.Stamp // from before they were read
	// reload reads them. After an error what was read before stays in force.
	reload func() error
}

// watcher reads files again. SIGHUP is its from newWatcher to stop: one that comes
// while the server starts waits, and one that comes while it drains ends nothing.
type watcher struct {
	files []watched
	hup   chan os.Signal
}

func newWatcher() *watcher {
	w := &watcher{hup: make(chan os.Signal, 1)}
	signal.Notify(w.hup, syscall.SIGHUP)
	return w
}

func (w *watcher) stop() { signal.Stop(w.hup) }

// watch reads the files again on SIGHUP and when one of them changes, until ctx
// ends.
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
		for i := range w.files {
			f := &w.files[i]
			now := stampsOf(f.paths)
			if slices.Equal(now, f.last) && why != "SIGHUP" {
				continue
			}
			f.last = now
			if err := f.reload(); err != nil {
				log.Error("reloading "+f.what+" failed; the old ones stay in force", "cause", why, "err", err)
				continue
			}
			log.Info(f.what+" loaded", "cause", why)
		}
	}
}

func stampsOf(paths []string) []pemfile.Stamp {
	all := make([]pemfile.Stamp, len(paths))
	for i, path := range paths {
		all[i] = pemfile.StampOf(path)
	}
	return all
}
