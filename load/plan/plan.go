// Package plan is the data model of a load plan, whatever format it was read from:
// phases and user groups, scenarios of steps, requests with their captures and
// expectations. It has data and arithmetic, and sends nothing.
package plan

import (
	"time"

	"whittle/load/report"
)

// Plan is what to send, and when. load.ReadPlan reads one from a file.
type Plan struct {
	// Name is the file's name, for reports.
	Name string
	// Target is the base URL (http or https) of relative URLs.
	Target string
	// Phases follow each other.
	Phases []Phase
	// HTTP holds the settings of all requests.
	HTTP      HTTPSettings
	Variables []Variable
	Payloads  []Payload
	Ensure    []Threshold
	Scenarios []Scenario
	Weight    float64  // the sum of the scenarios' weights
	Names     []string // of requests, by index
	Shared    int      // names that share the last of Names
	Slots     int      // how many variables a virtual user holds
	// Groups are the users of a closed model; the plan then has no Phases. They
	// run concurrently or, where Serial is set, one after the other.
	Groups []Group
	Serial bool
	// OpenGroup is what open arrivals have in common with a group's users, in a
	// JMeter plan. Nil: nothing.
	OpenGroup *Group
	// Before runs once before the run, After once after it. Every virtual user starts
	// with the variables that Before leaves.
	Before, After []Step
	// Scripted says that users call JavaScript. Console is where it prints; nil: the
	// plan has none. Rest ends what scripts go on with by themselves, and is called when
	// a run is over; nil: there are no scripts.
	Scripted bool
	Console  *Console
	// Failures are the failures of scripts that end no request. Nil: there are no scripts.
	Failures *report.ScriptFailures
	Rest     func()
	// DealtOnce names what deals its rows only once, such as a data set that is not
	// recycled. Empty: nothing does.
	DealtOnce string
	// Undivided names what needs all users in one process, such as a lock that they
	// share. Empty: nothing does.
	Undivided []string
	// Notes become warnings in the report.
	Notes []string
	// FailOnExpectation says that a response other than expected fails the run.
	FailOnExpectation bool
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

	Headers []HeaderField
	// LateCookies says that a user keeps no cookies until a response has set one, and
	// sends none before, but for those of the request itself.
	LateCookies bool
}

// The defaults and bounds of a plan.
const (
	DefaultTimeout = 10 * time.Second
	MaxTimeout     = time.Hour
	MaxRate        = 1e6
	MaxPool        = 65_536
	MaxUsers       = 1_000_000
	MaxDuration    = 366 * 24 * time.Hour
	MaxLoops       = 1_000_000_000
	MaxNames       = 100
	MaxBytes       = 1 << 20 // of a plan's file
)

// WithPhases returns a plan that sends the same requests at other times.
func (p *Plan) WithPhases(phases ...Phase) *Plan {
	q := *p.StagesAside()
	if q.Closed() && q.Groups[0].Scenario != AnyScenario {
		g := &q.Groups[0]
		q.OpenGroup = &Group{Name: g.Name, Setup: g.Setup, OnError: g.OnError}
	}
	q.Phases, q.Groups = phases, nil
	return &q
}

// Requests lists every request of the plan.
func (p *Plan) Requests() []*Request {
	var out []*Request
	p.Walk(func(s *Step) {
		if s.Request != nil {
			out = append(out, s.Request)
		}
	})
	return out
}

// Walk visits every step of the plan.
func (p *Plan) Walk(visit func(*Step)) {
	var walk func([]Step)
	walk = func(steps []Step) {
		for i := range steps {
			visit(&steps[i])
			if l := steps[i].Loop; l != nil {
				walk(l.Steps)
			}
			if a := steps[i].Action; a != nil {
				walk(a.Inner())
			}
		}
	}
	for i := range p.Scenarios {
		walk(p.Scenarios[i].Steps)
	}
	walk(p.Before)
	walk(p.After)
}
