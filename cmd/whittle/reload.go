package main

import (
	"context"
	"errors"
	"os"
	"reflect"
	"slices"
	"time"

	"whittle/carve/config"
	"whittle/carve/recording"
	"whittle/cmdline"
)

// lookEvery is how often the files of the config are looked at. They are read once they are the
// same at two looks, since editors write in several steps.
const lookEvery = 200 * time.Millisecond

// watchConfig reads the config again on SIGHUP and when one of its files changes. Asking the file
// system by name sees every way to change a file, links of mounted volumes included.
func (d *deployment) watchConfig(ctx context.Context, hup <-chan os.Signal) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	last := d.seen
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-hup:
			d.seen = statesOf(d.sources.Now())
			d.reload("SIGHUP")
		case <-tick.C:
			now := statesOf(d.sources.Now())
			if now.same(last) {
				d.reread(now)
			}
			last = now
		}
	}
}

// reread reads the config again if its files have changed since they were seen last. While one
// of them is missing the config in force stays, and the log says so once.
func (d *deployment) reread(now fileStates) {
	if d.seen.same(now) {
		return
	}
	if gone := now.missing(); gone != "" {
		if d.seen.missing() == "" {
			d.log.Warn("a file of the config is gone, the config in force stays; put it back", "file", gone)
		}
		d.seen = now
		return
	}
	d.seen = now
	d.reload("the file changed")
}

// fileState is a file as it was found. Its info is that of what links lead to; nil where
// there is nothing at the moment.
type fileState struct {
	name string
	info os.FileInfo
}

// fileStates are the files of a config, itself first.
type fileStates []fileState

func statesOf(files []string) fileStates {
	out := make(fileStates, len(files))
	for i, name := range files {
		out[i].name = name
		if info, err := os.Stat(name); err == nil {
			out[i].info = info
		}
	}
	return out
}

// missing is the first file that is not there, or "".
func (f fileStates) missing() string {
	for _, s := range f {
		if s.info == nil {
			return s.name
		}
	}
	return ""
}

func (f fileStates) same(now fileStates) bool {
	return slices.EqualFunc(f, now, func(a, b fileState) bool {
		if a.info == nil || b.info == nil {
			return a.name == b.name && a.info == b.info
		}
		return a.name == b.name && os.SameFile(a.info, b.info) && a.info.Size() == b.info.Size() && a.info.ModTime().Equal(b.info.ModTime())
	})
}

// reload puts a new config in force, or says why the old one stays.
func (d *deployment) reload(why string) {
	d.missed.Store(true) // before the lock is tried: who holds it looks when it is free
	if !d.reloading.TryLock() {
		d.log.Info("config not read: a process that is about to take over reads it", "cause", why)
		return
	}
	defer d.reloading.Unlock()
	d.missed.Store(false)
	d.readAnew(why)
}

// readAnew is reload for who holds the lock.
func (d *deployment) readAnew(why string) {
	next, err := readConfig(d.config().Path)
	if err == nil {
		err = next.Locate(d.put(next))
	}
	if err != nil {
		d.log.Error("config refused, the old one stays in force", "cause", why, "err", err, "hint", cmdline.HintOf(err))
		return
	}
	for _, w := range next.Warnings {
		d.log.Warn(w)
	}
	for _, what := range keepStarted(next, d.config()) {
		d.log.Warn("changed, but in force only after a restart", "setting", what)
	}
	d.file.Store(next)
	d.log.Info("config in force", "cause", why, "routes", len(next.Routes))
}

func (d *deployment) put(next *config.File) error {
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
	d.proxies.Put(next.Routes)
	d.notices.Put(next.Notices)
	return nil
}

// restartOnly has the settings that only a restart changes, each with its fields in a config.
var restartOnly = []struct {
	setting string
	fields  []string
}{
	{"listen", []string{"Listen"}},
	{"admin", []string{"Admin", "AdminToken", "ViewerToken", "HookKey"}},
	{"state", []string{"State"}},
	{"limits", []string{"Limits"}},
	{"log", []string{"Log"}},
	{"drain", []string{"Drain"}},
	{"fleet", []string{"Fleet"}},
	{"access", []string{"Access"}},
	{"forwarded", []string{"Forwarded"}},
	{"underscores_in_headers", []string{"Underscores"}},
}

// keepStarted carries over what only a restart changes, so that the config that is shown is
// the one in force and the next reload warns again. It lists the settings that differ.
func keepStarted(next, old *config.File) (changed []string) {
	to, from := reflect.ValueOf(next).Elem(), reflect.ValueOf(old).Elem()
	for _, s := range restartOnly {
		differs := false
		for _, name := range s.fields {
			is, was := to.FieldByName(name), from.FieldByName(name)
			differs = differs || !reflect.DeepEqual(is.Interface(), was.Interface())
			is.Set(was)
		}
		if differs {
			changed = append(changed, s.setting)
		}
	}
	return changed
}
