package measure

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"whittle"
	"whittle/profile"
)

// Ring keeps the profiles of one process on disk, the latest of them: a folder for
// each, named by when it was taken. What has another name in its folder it leaves alone.
type Ring struct {
	Folder string
	Keep   time.Duration // what is older goes
}

// Bounds of a ring, beyond its time.
const (
	maxRingBytes = 1 << 30
	maxRingParts = 10_000
)

// ringName is a part's name, by its time in UTC.
const ringName = "20060102T150405.000Z"

// taking is a part that is being written; a killed process leaves one behind.
const taking = ".taking"

// Add saves what was measured just now, whole or not at all, and drops what is too old
// or too much.
func (r *Ring) Add(m *Measured, now time.Time) error {
	fail := func(err error) error { return whittle.Errorf(whittle.Unavailable, "keep profile: %w", err) }
	half := filepath.Join(r.Folder, taking)
	if err := os.RemoveAll(half); err != nil {
		return fail(err)
	}
	if err := m.Save(half); err != nil {
		return err
	}
	if err := os.Rename(half, filepath.Join(r.Folder, now.UTC().Format(ringName))); err != nil {
		return fail(err)
	}
	return r.prune(now)
}

// part is one of a ring's folders.
type part struct {
	path string
	at   time.Time
}

// parts are the ring's, the oldest first.
func (r *Ring) parts() ([]part, error) {
	entries, err := os.ReadDir(r.Folder)
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "read kept profiles: %w", err)
	}
	var out []part
	for _, e := range entries {
		if at, err := time.Parse(ringName, e.Name()); err == nil && e.IsDir() {
			out = append(out, part{filepath.Join(r.Folder, e.Name()), at})
		}
	}
	slices.SortFunc(out, func(a, b part) int { return a.at.Compare(b.at) })
	return out, nil
}

func (r *Ring) prune(now time.Time) error {
	parts, err := r.parts()
	if err != nil {
		return err
	}
	total := int64(0)
	for i, p := range slices.Backward(parts) {
		total += sizeOf(p.path)
		tooMuch := i < len(parts)-1 && (total > maxRingBytes || len(parts)-i > maxRingParts)
		if now.Sub(p.at) <= r.Keep && !tooMuch {
			continue
		}
		if err := os.RemoveAll(p.path); err != nil {
			return whittle.Errorf(whittle.Unavailable, "drop kept profile: %w", err)
		}
	}
	return nil
}

func sizeOf(folder string) (sum int64) {
	_ = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err == nil {
			if info, err := d.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}

// Spans gives the CPU profiles of the last span of time, and of the one before it, each
// as one. Either is nil where none was kept.
func (r *Ring) Spans(now time.Time, span time.Duration) (before, last *profile.Profile, err error) {
	parts, err := r.parts()
	if err != nil {
		return nil, nil, err
	}
	var of [2][]*profile.Profile
	for _, p := range parts {
		age := now.Sub(p.at)
		if age < 0 || age >= 2*span {
			continue
		}
		files, err := fs.Glob(os.DirFS(p.path), string(profile.CPU)+".*") // the folder's own name is no pattern
		if err != nil || len(files) == 0 {
			continue
		}
		one, err := ReadProfile(filepath.Join(p.path, slices.Min(files)), []profile.Kind{profile.CPU}) // without .json, which is longer
		if err != nil {
			return nil, nil, err
		}
		one.Began = p.at
		of[age/span] = append(of[age/span], one)
	}
	return merged(of[1]), merged(of[0]), nil
}

// merged is the profiles as one, which lasts as long as they do together.
func merged(parts []*profile.Profile) *profile.Profile {
	if len(parts) == 0 {
		return nil
	}
	out := profile.Merge(parts)
	out.Duration = 0
	for _, p := range parts {
		out.Duration += p.Duration
	}
	return out
}
