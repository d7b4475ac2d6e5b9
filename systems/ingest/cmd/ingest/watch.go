package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// pollInterval is how often the files are looked at. Asking the file system by
// name sees every way to change a file, links of mounted secrets included.
const pollInterval = time.Second

// watched are files that are read again while the server runs.
type watched struct {
	what  string // in the log
	paths []string
	// reload reads them. After an error what was read before stays in force.
	reload func() error
}

// watch reads the files again on SIGHUP and when one of them changes, until ctx
// ends.
func watch(ctx context.Context, files []watched, log *slog.Logger) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	last := make([][]stamp, len(files))
	for i, f := range files {
		last[i] = stampsOf(f.paths)
	}
	for {
		why := "SIGHUP"
		select {
		case <-ctx.Done():
			return
		case <-hup:
		case <-tick.C:
			why = "the file changed"
		}
		for i, f := range files {
			now := stampsOf(f.paths)
			if changed := !equal(now, last[i]); !changed && why != "SIGHUP" {
				continue
			}
			last[i] = now
			if err := f.reload(); err != nil {
				log.Error("reloading "+f.what+" failed; the old ones stay in force", "cause", why, "err", err)
				continue
			}
			log.Info(f.what+" loaded", "cause", why)
		}
	}
}

// stamp distinguishes one state of a file from another.
type stamp struct {
	at   time.Time
	size int64
}

func stampsOf(paths []string) []stamp {
	all := make([]stamp, len(paths))
	for i, path := range paths {
		if s, err := os.Stat(path); err == nil {
			all[i] = stamp{s.ModTime(), s.Size()}
		}
	}
	return all
}

func equal(a, b []stamp) bool {
	for i := range a {
		if a[i].size != b[i].size || !a[i].at.Equal(b[i].at) {
			return false
		}
	}
	return true
}
