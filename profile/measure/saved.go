package measure

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"whittle"
	"whittle/profile"
	"whittle/profile/collect"
)

// sidecar holds the facts that a profile's file has no place for, in a file of its own.
type sidecar struct {
	Format   string           `json:"format"`
	Service  string           `json:"service"`
	Requests map[string]int64 `json:"requests"`
	// Profile is a CPU profile as it was taken, with all that was known of the process: its
	// endpoints, its other threads, its own clock. Nil: the profile's file says what it can.
	Profile *profile.Profile `json:"profile,omitempty"`
}

const sidecarFormat = "whittle.profile-requests/1"

// Save keeps the profiles' files, each with the requests that it knows.
func (m *Measured) Save(folder string) error {
	if folder == "" {
		return nil
	}
	fail := func(err error) error { return whittle.Errorf(whittle.Unavailable, "save profile: %w", err) }
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fail(err)
	}
	for _, t := range m.Taken {
		path := filepath.Join(folder, string(t.Kind)+t.Ext)
		if err := os.WriteFile(path, t.Raw, 0o644); err != nil {
			return fail(err)
		}
		s := sidecar{Format: sidecarFormat, Service: t.Service, Requests: t.Requests}
		if t.Kind == profile.CPU {
			s.Profile = t.Profile
		}
		b, err := json.Marshal(s)
		if err != nil {
			return fail(err)
		}
		if err := os.WriteFile(path+".json", append(b, '\n'), 0o644); err != nil {
			return fail(err)
		}
	}
	return nil
}

// ReadProfile reads a saved profile, with what was kept with it.
func ReadProfile(path string, kinds []profile.Kind) (*profile.Profile, error) {
	s, err := os.Stat(path)
	if err != nil {
		return nil, whittle.Errorf(whittle.NotFound, "read profile: %w", err)
	}
	if s.Size() > profile.MaxBytes {
		return nil, whittle.Errorf(whittle.ResourceExhausted, "read profile: %s has %d MiB, of which at most %d are read", path, s.Size()>>20, profile.MaxBytes>>20).
			WithHint("profile for a shorter time, or sample less often: node --cpu-prof --cpu-prof-interval 10000")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, whittle.Errorf(whittle.NotFound, "read profile: %w", err)
	}
	var kind profile.Kind
	if len(kinds) > 0 {
		kind = kinds[0]
	}
	p, err := profile.Read(b, kind)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	kept, err := readSidecar(path)
	if err != nil {
		return nil, err
	}
	if kept.Profile != nil && kept.Profile.Kind == p.Kind {
		p = kept.Profile
	} else {
		if p.Runtime == profile.Node {
			collect.ReadSources(p)
		}
		labelGo(p)
	}
	if kept.Format != "" {
		p.Service, p.Requests = cmp.Or(kept.Service, p.Service), kept.Requests // which were counted as endpoints when they were saved
	}
	p.Service = cmp.Or(p.Service, filepath.Base(path))
	Relative(p)
	return p, nil
}

// readSidecar reads what was kept with a profile. Nothing may be there.
func readSidecar(path string) (s sidecar, err error) {
	b, err := os.ReadFile(path + ".json")
	if os.IsNotExist(err) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		return s, whittle.Errorf(whittle.Invalid, "read %s.json: %w", path, err)
	}
	if s.Format != sidecarFormat || s.Profile != nil && !s.Profile.IsWhole() {
		return s, whittle.Errorf(whittle.Invalid, "read %s.json: not of the format %s", path, sidecarFormat).
			WithHint("move it away: the profile is then compared per second")
	}
	return s, nil
}

// Relative shows own files from the working folder on.
func Relative(p *profile.Profile) {
	if wd, err := os.Getwd(); err == nil {
		p.RelativeTo(wd)
	}
}
