// Package load runs a load plan against a target: plan → pacer → senders →
// histograms → report. Arrivals are open: they come at their intended times
// whether or not the target keeps up, and latency counts from those times.
package load

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"whittle"
)

// Plan is what to send, and when. ReadPlan makes one of an Artillery YAML file.
type Plan struct {
	// Name is the file's name, for reports.
	Name string
	// Target is the base URL (http or https) that relative URLs are put behind.
	Target string
	// Phases follow each other.
	Phases []Phase
	// HTTP holds the settings of all requests.
	HTTP      HTTPSettings
	variables []variable
	payloads  []payload
	ensure    []threshold
	scenarios []scenario
	weight    float64  // the sum of the scenarios' weights
	names     []string // of requests, by index
	slots     int      // how many variables a virtual user holds
	// groups are the users of a closed model; the plan then has no Phases. They
	// run side by side or, where serial is set, one after the other.
	groups []group
	serial bool
	// arriving is what open arrivals have in common with a group's users, in a
	// JMeter plan. Nil: nothing.
	arriving *group
	// before runs once ahead of the arrivals, after once behind them; what
	// before captures is carried, by slot, to every virtual user.
	before, after []step
	carried       []int
	// notes are about the plan, for the report's warnings.
	notes []string
	// apdex is the threshold of the index of that name; 0: it is not wanted.
	apdex time.Duration
	// expects says that an answer other than expected fails the run.
	expects bool
}

// HTTPSettings are config.http and config.tls of an Artillery plan.
type HTTPSettings struct {
	// Timeout bounds one request from the moment it is sent. 10 s if not given.
	Timeout time.Duration
	// Pool is how many kept-alive connections all virtual users share per
	// target. 0: each virtual user opens one for itself and keeps it to its end.
	Pool int
	// Insecure accepts any TLS certificate.
	Insecure bool

	headers []headerField
	// sockets is how many connections a virtual user without a pool may have
	// open at once, for what it does in parallel. 0: one.
	sockets int
}

// The defaults and bounds of a plan.
const (
	defaultTimeout = 10 * time.Second
	maxTimeout     = time.Hour
	maxRate        = 1e6
	maxPool        = 65_536
	maxUsers       = 1_000_000
	maxDuration    = 366 * 24 * time.Hour
	maxLoops       = 1_000_000_000
	maxNames       = 100
)

// Source says where a plan's surroundings come from. The zero value is the
// file system and the process's environment.
type Source struct {
	// Environment chooses one of config.environments. Empty: none.
	Environment string
	// Open reads a file that a plan names. Nil: the file system, beside the plan.
	Open func(name string) ([]byte, error)
	// Getenv gives {{ $env.NAME }}. Nil: os.Getenv.
	Getenv func(string) string
	// Properties are those of a JMeter plan's __P and __property.
	Properties map[string]string
}

func (s Source) getenv(name string) string {
	if s.Getenv != nil {
		return s.Getenv(name)
	}
	return os.Getenv(name)
}

// ReadPlan reads an Artillery YAML (or JSON) file. Errors carry file, line and
// column: whittle.Invalid for a mistake, whittle.Unsupported for an element
// that whittle does not run (docs/load.md lists them), whittle.NotFound where
// there is no such file.
func ReadPlan(path string) (*Plan, error) { return Source{}.ReadPlan(path) }

// ReadPlan is as the function of the same name.
func (s Source) ReadPlan(path string) (*Plan, error) {
	src, err := readBounded(path, maxPlanBytes)
	if err != nil {
		return nil, err
	}
	if s.Open == nil {
		dir := filepath.Dir(path)
		s.Open = func(name string) ([]byte, error) {
			if !filepath.IsAbs(name) {
				name = filepath.Join(dir, name)
			}
			return readBounded(name, maxPayloadBytes)
		}
	}
	return s.ParsePlan(path, src)
}

// readBounded reads a file of at most limit bytes.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		code := whittle.Invalid
		if errors.Is(err, os.ErrNotExist) {
			code = whittle.NotFound
		}
		return nil, whittle.Errorf(code, "read plan: %w", err)
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "read plan: %w", err)
	}
	if int64(len(src)) > limit {
		return nil, whittle.Errorf(whittle.ResourceExhausted, "read plan: %s is larger than %d bytes", path, limit)
	}
	return src, nil
}

// WithPhases returns a plan that sends the same requests at other times.
func (p *Plan) WithPhases(phases ...Phase) *Plan {
	q := *p
	q.Phases, q.groups, q.arriving = phases, nil, p.arrivals()
	return &q
}

// requests lists every request of the plan.
func (p *Plan) requests() []*request {
	var out []*request
	p.walk(func(s *step) {
		if s.request != nil {
			out = append(out, s.request)
		}
	})
	return out
}

// parallel says whether a user may have several requests under way.
func (p *Plan) parallel() bool {
	found := false
	p.walk(func(s *step) { found = found || s.parallel != nil })
	return found
}

// walk visits every step of the plan.
func (p *Plan) walk(visit func(*step)) {
	var walk func([]step)
	walk = func(steps []step) {
		for i := range steps {
			visit(&steps[i])
			if l := steps[i].loop; l != nil {
				walk(l.steps)
			}
			if a := steps[i].action; a != nil {
				walk(a.inner())
			}
			if p := steps[i].parallel; p != nil {
				walk(p.branches)
			}
		}
	}
	for i := range p.scenarios {
		walk(p.scenarios[i].steps)
	}
	walk(p.before)
	walk(p.after)
}
