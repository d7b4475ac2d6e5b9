package measure

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"whittle"
	"whittle/profile"
	"whittle/profile/collect"
)

// sidecar holds the facts that a profile's file has no place for, in a file of its own.
type sidecar struct {
	Format   string           `json:"format"`
	Service  string           `json:"service"`
	Requests map[string]int64 `json:"requests"`
	// CPU is what the process's own clock counted, at most. 0: the samples do.
	CPU time.Duration `json:"cpu_ns,omitempty"`
}

const sidecarFormat = "whittle.profile-requests/1"

// save keeps the profiles' files, each with the requests that it knows.
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
			s.CPU = time.Duration(t.Total())
		}
		b, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			return fail(err)
		}
		if err := os.WriteFile(path+".json", append(b, '\n'), 0o644); err != nil {
			return fail(err)
		}
	}
	return nil
}

// maxProfileFile bounds a saved profile.
const maxProfileFile = 64 << 20

// readProfile reads a saved profile, with what was kept with it.
func ReadProfile(path string, kinds []profile.Kind) (*profile.Profile, error) {
	s, err := os.Stat(path)
	if err != nil {
		return nil, whittle.Errorf(whittle.NotFound, "read profile: %w", err)
	}
	if s.Size() > maxProfileFile {
		return nil, whittle.Errorf(whittle.ResourceExhausted, "read profile: %s has %d MiB, of which at most %d are read", path, s.Size()>>20, maxProfileFile>>20).
			WithHint("profile for a shorter time, or sample less often: node --cpu-prof --cpu-prof-interval 10000, perf record -F 49")
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
	if p.Runtime == profile.Node {
		collect.ReadSources(p)
	}
	labelGo(p)
	if err := readSidecar(path, p); err != nil {
		return nil, err
	}
	if p.Service == "" {
		p.Service = filepath.Base(path)
	}
	Relative(p)
	return p, nil
}

// readSidecar adds to a profile what was kept with it. Nothing may be there.
func readSidecar(path string, p *profile.Profile) error {
	b, err := os.ReadFile(path + ".json")
	if os.IsNotExist(err) {
		return nil
	}
	var s sidecar
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		return whittle.Errorf(whittle.Invalid, "read %s.json: %w", path, err)
	}
	if s.Format != sidecarFormat {
		return whittle.Errorf(whittle.Invalid, "read %s.json: not of the format %s", path, sidecarFormat).
			WithHint("move it away: the profile is then compared per second")
	}
	if s.Service != "" {
		p.Service = s.Service
	}
	p.CapTotal(s.CPU)
	p.CountRequests(s.Requests)
	return nil
}

// relative shows own files from the working folder on.
func Relative(p *profile.Profile) {
	if wd, err := os.Getwd(); err == nil {
		p.RelativeTo(wd)
	}
}
