package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"whittle/systems/ingest/front"
)

// keysPollInterval is how often the keys file is looked at. Asking the file system by
// name sees every way to change a file, links of mounted secrets included.
const keysPollInterval = time.Second

// watchKeys reads the write keys again on SIGHUP and when their file changes,
// until ctx ends.
func watchKeys(ctx context.Context, keys *front.Keys, path string, log *slog.Logger) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	tick := time.NewTicker(keysPollInterval)
	defer tick.Stop()
	last := stampOf(path)
	for {
		why := "SIGHUP"
		select {
		case <-ctx.Done():
			return
		case <-hup:
		case <-tick.C:
			why = "the file changed"
			now := stampOf(path)
			if now == last {
				continue
			}
			last = now
		}
		if err := keys.Reload(); err != nil {
			log.Error("reloading write keys failed; the old ones stay in force", "cause", why, "err", err)
			continue
		}
		log.Info("write keys loaded", "cause", why, "keys", keys.Len())
	}
}

// stamp distinguishes one state of a file from another.
type stamp struct {
	at   time.Time
	size int64
}

func stampOf(path string) stamp {
	s, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{s.ModTime(), s.Size()}
}
