package measure

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	// Node is what a .cpuprofile does not say.
	Node *savedNode `json:"node,omitempty"`
}

// savedNode is what was known of a Node process beyond its main thread's stacks.
type savedNode struct {
	// Main is what the main thread used, and Threads what the others did.
	Main    time.Duration `json:"main_cpu_ns"`
	Threads []savedThread `json:"threads,omitempty"`
	// Endpoints are names, and Runs the main thread's samples: the index of a name, from 1,
	// and how many samples one after the other have it.
	Endpoints []string       `json:"endpoints,omitempty"`
	Runs      [][2]int       `json:"runs,omitempty"`
	Handlers  map[int]string `json:"handlers,omitempty"` // names of functions that have none, by index
}

// savedThread is what a thread used for an endpoint.
type savedThread struct {
	Name     string        `json:"name"`
	Endpoint string        `json:"endpoint,omitempty"`
	CPU      time.Duration `json:"cpu_ns"`
	Samples  int64         `json:"samples"`
}

// nodeOf gathers what is to be saved of a Node process.
func nodeOf(p *profile.Profile) *savedNode {
	out := &savedNode{Handlers: map[int]string{}}
	at := map[string]int{"": 0}
	threads := map[savedThread]int{}
	for i := range p.Samples {
		s := &p.Samples[i]
		if s.Thread == 0 {
			n, ok := at[s.Endpoint]
			if !ok {
				out.Endpoints = append(out.Endpoints, s.Endpoint)
				n = len(out.Endpoints)
				at[s.Endpoint] = n
			}
			if last := len(out.Runs) - 1; last >= 0 && out.Runs[last][0] == n {
				out.Runs[last][1]++
			} else {
				out.Runs = append(out.Runs, [2]int{n, 1})
			}
		}
		switch {
		case p.CategoryOf(s) == profile.Idle:
		case s.Thread == 0:
			out.Main += time.Duration(s.Value)
		default:
			k := savedThread{Name: p.Functions[s.Stack[len(s.Stack)-1].Function].Name, Endpoint: s.Endpoint}
			if _, ok := threads[k]; !ok {
				threads[k] = len(out.Threads)
				out.Threads = append(out.Threads, k)
			}
			t := &out.Threads[threads[k]]
			t.CPU, t.Samples = t.CPU+time.Duration(s.Value), t.Samples+max(s.Objects, 1)
		}
	}
	for i := range p.Functions {
		if name := p.Functions[i].Name; strings.HasPrefix(name, "handler of ") {
			out.Handlers[i] = name
		}
	}
	return out
}

// label gives a saved profile's samples the endpoints that were known.
func (n *savedNode) label(p *profile.Profile) {
	i := 0
	for _, run := range n.Runs {
		for range run[1] {
			if i >= len(p.Samples) {
				return
			}
			if run[0] > 0 && run[0] <= len(n.Endpoints) {
				p.Samples[i].Endpoint = n.Endpoints[run[0]-1]
			}
			i++
		}
	}
}

// account makes its total the process's again.
func (n *savedNode) account(p *profile.Profile) {
	for i, name := range n.Handlers {
		if i >= 0 && i < len(p.Functions) {
			p.Functions[i].Name = name
		}
	}
	p.FitTotal(n.Main)
	for _, t := range n.Threads {
		if t.CPU > 0 {
			p.AddOther(t.Name, t.CPU, t.Samples)
			p.Samples[len(p.Samples)-1].Endpoint = t.Endpoint
		}
	}
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
			s.CPU = time.Duration(t.Total())
			if t.Runtime == profile.Node {
				s.Node = nodeOf(t.Profile)
			}
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
	switch {
	case p.Runtime != profile.Node:
	case kept.Node != nil && p.Kind == profile.CPU:
		kept.Node.label(p)
		collect.ReadLines(p)
	default:
		collect.ReadSources(p)
	}
	labelGo(p)
	if err := shareSavedCollector(path, p); err != nil {
		return nil, err
	}
	kept.apply(p)
	if p.Service == "" {
		p.Service = filepath.Base(path)
	}
	Relative(p)
	return p, nil
}

// shareSavedCollector gives a CPU profile's endpoints the collector's work by the
// allocations that were saved with it, as when it was taken. Nothing may be there.
func shareSavedCollector(path string, p *profile.Profile) error {
	if p.Kind != profile.CPU || p.Runtime != profile.Go || filepath.Base(path) != string(profile.CPU)+".pb.gz" {
		return nil
	}
	next := filepath.Join(filepath.Dir(path), string(profile.Allocations)+".pb.gz")
	if _, err := os.Stat(next); os.IsNotExist(err) {
		return nil
	}
	allocated, err := ReadProfile(next, []profile.Kind{profile.Allocations})
	if err != nil {
		return err
	}
	p.ShareCollector(allocated)
	return nil
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
	if s.Format != sidecarFormat {
		return s, whittle.Errorf(whittle.Invalid, "read %s.json: not of the format %s", path, sidecarFormat).
			WithHint("move it away: the profile is then compared per second")
	}
	return s, nil
}

// apply adds to a profile what was kept with it.
func (s *sidecar) apply(p *profile.Profile) {
	if s.Format == "" {
		return
	}
	if s.Service != "" {
		p.Service = s.Service
	}
	if s.Node != nil && p.Kind == profile.CPU {
		s.Node.account(p)
	}
	p.CapTotal(s.CPU)
	p.Requests = s.Requests // they were counted as endpoints when they were saved
}

// Relative shows own files from the working folder on.
func Relative(p *profile.Profile) {
	if wd, err := os.Getwd(); err == nil {
		p.RelativeTo(wd)
	}
}
