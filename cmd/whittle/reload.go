package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"whittle"
	"whittle/carve/config"
	"whittle/carve/recording"
)

// settle is how long a file must be unchanged before it is read: editors write in
// several steps.
const settle = 100 * time.Millisecond

// watchConfig reads the config again on SIGHUP and when its file changes. It
// watches the folder, because editors and deploys replace the file.
func (d *deployment) watchConfig(ctx context.Context, hup <-chan os.Signal) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		d.log.Warn("the config file is not watched; send SIGHUP after a change", "error", err)
		return d.reloadOn(ctx, hup, nil)
	}
	defer func() { _ = watcher.Close() }()
	if err := watcher.Add(filepath.Dir(d.config().Path)); err != nil {
		d.log.Warn("the config file is not watched; send SIGHUP after a change", "error", err)
	}
	return d.reloadOn(ctx, hup, watcher)
}

func (d *deployment) reloadOn(ctx context.Context, hup <-chan os.Signal, watcher *fsnotify.Watcher) error {
	var events chan fsnotify.Event
	var failures chan error
	if watcher != nil {
		events, failures = watcher.Events, watcher.Errors
	}
	settled := time.NewTimer(0)
	<-settled.C
	defer settled.Stop()
	seen := statOf(d.config().Path)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-hup:
			seen = statOf(d.config().Path)
			d.reload("SIGHUP")
		case <-settled.C:
			if now := statOf(d.config().Path); now != nil && !sameFile(seen, now) {
				seen = now
				d.reload("the file changed")
			}
		case e, ok := <-events:
			if ok && concerns(e, d.config().Path) {
				settled.Reset(settle)
			}
		case err, ok := <-failures:
			if ok {
				d.log.Warn("watch config", "error", err)
			}
		}
	}
}

// concerns reports whether what happened in the folder may be another config
// under the same name: it was written, or something was put into its place,
// which a deploy also does by turning a link that the name goes through.
func concerns(e fsnotify.Event, path string) bool {
	return e.Has(fsnotify.Create) || e.Has(fsnotify.Rename) ||
		e.Has(fsnotify.Write) && filepath.Clean(e.Name) == filepath.Clean(path)
}

// statOf follows links; nil where there is no file at the moment.
func statOf(path string) os.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}

func sameFile(a, b os.FileInfo) bool {
	return a != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// reload puts a new config in force, or says why the old one stays.
func (d *deployment) reload(why string) {
	next, err := readConfig(d.config().Path)
	if err == nil {
		err = next.Locate(d.put(next))
	}
	if err != nil {
		d.log.Error("config refused, the old one stays in force", "cause", why, "error", err, "hint", hintOf(err))
		return
	}
	for _, w := range next.Warnings {
		d.log.Warn(w)
	}
	for _, what := range needRestart(d.config(), next) {
		d.log.Warn("changed, and in force only after a restart", "setting", what)
	}
	keepStarted(next, d.config())
	d.file.Store(next)
	d.log.Info("config in force", "cause", why, "routes", len(next.Routes))
}

func (d *deployment) put(next *config.File) error {
	if err := next.LeadsBack(d.public.Addr().String()); err != nil {
		return err // another listen: in the file is in force only after a restart
	}
	return d.control.Reload(next.Monolith, next.Routes, func() error { return d.swap(next) })
}

// swap brings another table in force, and what is recorded of it.
func (d *deployment) swap(next *config.File) error {
	if err := d.records.Put(next); err != nil {
		return err
	}
	if err := d.gateway.Reload(next.Monolith, next.Routes); err != nil {
		return errors.Join(err, d.records.Put(d.config()))
	}
	recording.SetOn(d.gateway, next)
	return nil
}

func hintOf(err error) string {
	if e, ok := errors.AsType[*whittle.Error](err); ok {
		return e.Hint
	}
	return ""
}

// needRestart lists settings that a reload cannot change.
func needRestart(old, next *config.File) []string {
	var changed []string
	for _, s := range []struct {
		name    string
		differs bool
	}{
		{"listen", old.Listen != next.Listen},
		{"admin", old.Admin != next.Admin || old.AdminToken != next.AdminToken || old.ViewerToken != next.ViewerToken},
		{"state", old.State != next.State},
		{"limits", old.Limits != next.Limits},
		{"log", old.Log != next.Log},
		{"trace", old.Trace != next.Trace},
		{"tls", (old.TLS == nil) != (next.TLS == nil) || old.TLS != nil && *old.TLS != *next.TLS},
		{"forwarded", !slices.Equal(old.Forwarded.Trust, next.Forwarded.Trust)},
	} {
		if s.differs {
			changed = append(changed, s.name)
		}
	}
	return changed
}

// keepStarted carries over what only a restart changes, so that the config that
// is shown is the one in force and the next reload warns again.
func keepStarted(next, old *config.File) {
	next.Listen, next.Admin, next.AdminToken, next.ViewerToken = old.Listen, old.Admin, old.AdminToken, old.ViewerToken
	next.State, next.Limits, next.Log, next.Trace = old.State, old.Limits, old.Log, old.Trace
	next.TLS, next.Forwarded = old.TLS, old.Forwarded
}
