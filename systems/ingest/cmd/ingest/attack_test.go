package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// attack damages what a relay, a move and a replay remember, and leaves the log as it is:
// none of them loses a record over it, and none sends one again without a word. At most
// so many attacks are made for each of them (0: all).
func (c *campaign) attack(t *testing.T, random *rand.Rand, most int) {
	for _, h := range []struct {
		name string
		read damagedReader
		dir  string // in home, of what is remembered
		file []string
	}{
		{"relay's position", drained, "drain", []string{"position.0", "position.1"}},
		{"move's position", moved, "move", []string{"position.0", "position.1"}},
		{"replay's state", replayed, "", []string{"state.json"}},
	} {
		attacks := c.attacks(t, h.dir, h.file, random)
		if most > 0 {
			random.Shuffle(len(attacks), func(i, j int) { attacks[i], attacks[j] = attacks[j], attacks[i] })
			attacks = attacks[:min(len(attacks), max(1, most/4))]
		}
		work := filepath.Join(c.top, "work-closed")
		for i := range attacks {
			must(t, os.RemoveAll(work))
			must(t, os.CopyFS(filepath.Join(work, "log"), os.DirFS(filepath.Join(c.top, "closed"))))
			must(t, os.CopyFS(filepath.Join(work, "home"), os.DirFS(c.bases["closed"].home)))
			must(t, attacks[i].do(filepath.Join(work, "home", h.dir)))
			got, reported := h.read(t, filepath.Join(work, "log"), filepath.Join(work, "home"))
			harm, lost := harmed(c.bases["closed"].want, got)
			c.judge(t, &attacks[i], h.name, true, harm, lost, reported)
		}
	}
}

// attacks are what can become of the files that remember a position.
func (c *campaign) attacks(t *testing.T, dir string, files []string, random *rand.Rand) (all []damage) {
	t.Helper()
	forgotten := []string{"all removed", "all emptied", "one emptied, one damaged"}
	if len(files) == 1 { // a relay and a move ask the other side what it has, a replay goes by its file
		forgotten = append(forgotten, "state.json removed", "state.json older", "all older")
	}
	add := func(name string, do func(dir string) error) {
		all = append(all, damage{name: name, base: "closed", do: do, forgotten: slices.Contains(forgotten, name)})
	}
	each := func(what string, do func(path string) error) {
		for _, f := range files {
			add(f+" "+what, func(dir string) error { return do(filepath.Join(dir, f)) })
		}
		add("all "+what, func(dir string) (err error) {
			for _, f := range files {
				err = errors.Join(err, do(filepath.Join(dir, f)))
			}
			return err
		})
	}
	add("healthy", func(string) error { return nil })
	each("removed", os.Remove)
	each("emptied", func(p string) error { return os.Truncate(p, 0) })
	each("zeros", func(p string) error { return overwrite(p, 0, make([]byte, fileSize(p))) })
	each("huge", func(p string) error { return os.Truncate(p, 1<<30) })
	each("a folder", func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) })
	each("a link that leads nowhere", func(p string) error {
		return errors.Join(os.Remove(p), os.Symlink(filepath.Join("nowhere", "at all"), p))
	})
	each("a pipe", func(p string) error { return errors.Join(os.Remove(p), makePipe(p)) })
	each("older", func(p string) error {
		home := filepath.Join(c.bases["closed"].home, "old", dir)
		return copyFile(filepath.Join(home, filepath.Base(p)), p)
	})
	each("another log's", func(p string) error {
		return copyFile(filepath.Join(c.bases["killed"].home, dir, filepath.Base(p)), p)
	})
	if len(files) == 2 {
		add("one emptied, one damaged", func(dir string) error {
			return errors.Join(os.Truncate(filepath.Join(dir, files[0]), 0), flip(filepath.Join(dir, files[1]), 30, 1))
		})
		add("swapped", func(dir string) error {
			a, b, x := filepath.Join(dir, files[0]), filepath.Join(dir, files[1]), filepath.Join(dir, "x")
			return errors.Join(os.Rename(a, x), os.Rename(b, a), os.Rename(x, b))
		})
	}
	for _, f := range files {
		size := min(fileSize(filepath.Join(c.bases["closed"].home, dir, f)), 1200)
		for range 60 / len(files) {
			at, bit := random.IntN(size), random.IntN(8)
			add(fmt.Sprintf("%s bit %d of %d flipped", f, bit, at), func(dir string) error { return flip(filepath.Join(dir, f), at, bit) })
		}
		for range 12 / len(files) {
			at := random.IntN(size)
			add(fmt.Sprintf("%s cut at %d", f, at), func(dir string) error { return os.Truncate(filepath.Join(dir, f), int64(at)) })
		}
	}
	return all
}

func fileSize(path string) int {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return int(info.Size())
}
