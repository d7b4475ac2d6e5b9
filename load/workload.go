package load

import (
	"cmp"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"whittle"
	"whittle/load/artillery"
	"whittle/load/plan"
)

// Workload says what load to send, as a person writes it: a plan's file, or the URL and
// the details of one request. Rate or Users replace a plan's own arrivals and users.
// Errors name the settings as the command line does, and have the code
// whittle.Invalid unless a file is missing or too large.
type Workload struct {
	// Plan is the path of a plan's file, or an http or https URL.
	Plan string

	// Rate is of open arrivals per second, for Duration. 0: not given.
	Rate float64
	// Duration is how long arrivals or users go on. 0: not given.
	Duration time.Duration
	// Users is how many closed users there are, Ramp over what time their starts are
	// spread, and Loops how often each goes through its requests. 0: not given; of a
	// URL without a rate one user sends once.
	Users int
	Ramp  time.Duration
	Loops int64
	// Requests is how many requests a URL gets in all. 0: not given.
	Requests int64

	// Environment is the name of one of an Artillery plan's environments; empty:
	// none. Properties are a JMeter plan's.
	Environment string
	Properties  map[string]string
	// Variables and Overrides are JSON: variables of an Artillery plan, and what is
	// merged into it. Config is the path of a file with its config. Scenario is the
	// name, or a pattern of it, of the one scenario that runs. Empty: none is given.
	Variables, Overrides, Config, Scenario string
	// Target replaces the plan's, where its scripts and templates see it.
	Target string
	// Getenv is the environment that a plan sees. Nil: the process's.
	Getenv func(string) string `json:"-"`
	// Files are where all files come from. Nil: the file system.
	Files plan.Files `json:"-"`

	// Request is what is sent to a URL. The zero value is a GET.
	Request Request
}

// Request is the one request of a Workload whose Plan is a URL.
type Request = artillery.Request

// IsURL distinguishes a URL from the path of a plan's file, or of a report.
func IsURL(text string) bool {
	scheme, _, ok := strings.Cut(text, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// AsURL adds to the error of a file that is not there what to write if a server was meant:
// host:port or localhost, without a scheme.
func AsURL(text string, err error) error {
	e, ok := errors.AsType[*whittle.Error](err)
	if !ok || e.Code != whittle.NotFound || e.Hint != "" || strings.HasPrefix(err.Error(), text+":") { // of what the file names
		return err
	}
	authority, _, _ := strings.Cut(text, "/")
	if _, port, err := net.SplitHostPort(authority); err == nil && port != "" || authority == "localhost" {
		return e.WithHint("if it is a server, write its scheme too: http://" + text)
	}
	return e.WithHint("give a file, or a URL that begins with http:// or https://")
}

// Read reads the plan's file, or makes a plan of the one request.
func (w Workload) Read() (*plan.Plan, error) {
	if err := w.check(); err != nil {
		return nil, err
	}
	if IsURL(w.Plan) {
		return w.quick()
	}
	if w.Plan == "" {
		return nil, whittle.Errorf(whittle.Invalid, "neither a plan's file nor a URL is given")
	}
	if scheme, _, ok := strings.Cut(w.Plan, "://"); ok {
		return nil, whittle.Errorf(whittle.Invalid, "%s:// is not supported: load is sent to http and https URLs", scheme)
	}
	if w.Requests > 0 {
		return nil, whittle.Errorf(whittle.Invalid, "-n goes with a URL; %s says itself how much it sends", w.Plan)
	}
	if name := w.Request.Given(); name != "" {
		return nil, whittle.Errorf(whittle.Invalid, "%s goes with a URL; %s says itself what it sends", name, w.Plan)
	}
	p, err := Read(w.Plan, w.source())
	if err != nil {
		return nil, AsURL(w.Plan, err)
	}
	switch {
	case w.Users > 0:
		return p.WithUsers(plan.Closed{Users: w.Users, Ramp: w.Ramp, Loops: w.Loops, Duration: w.Duration})
	case w.Rate > 0:
		switch {
		case w.Duration <= 0:
			return nil, whittle.Errorf(whittle.Invalid, "--rate needs --duration")
		case w.Ramp != 0 || w.Loops != 0:
			return nil, whittle.Errorf(whittle.Invalid, "--ramp and --loops go with --users, not with --rate")
		}
		return p.WithPhases(plan.Constant(w.Rate, w.Duration)), nil
	case w.Duration != 0 || w.Ramp != 0 || w.Loops != 0:
		return nil, whittle.Errorf(whittle.Invalid, "--duration, --ramp and --loops go with --users or --rate")
	}
	return p, nil
}

func (w *Workload) source() plan.Source {
	return plan.Source{
		Environment: w.Environment, Properties: w.Properties, Getenv: w.Getenv, Files: w.Files, Target: w.Target,
		Variables: w.Variables, Overrides: w.Overrides, Config: w.Config, Scenario: w.Scenario,
	}
}

// check refuses what no plan can have.
func (w *Workload) check() error {
	for _, c := range []struct {
		name  string
		value float64
	}{
		{"--rate", w.Rate},
		{"--users", float64(w.Users)},
		{"--loops", float64(w.Loops)},
		{"-n", float64(w.Requests)},
		{"--duration", w.Duration.Seconds()},
		{"--ramp", w.Ramp.Seconds()},
		{"--think", w.Request.Think.Seconds()},
		{"--timeout", w.Request.Timeout.Seconds()},
	} {
		if !(c.value >= 0) {
			return whittle.Errorf(whittle.Invalid, "%s is below 0", c.name)
		}
	}
	_, nameless := w.Properties[""]
	switch {
	case nameless:
		return whittle.Errorf(whittle.Invalid, "--property =%s has no name before its value", w.Properties[""])
	case w.Rate > plan.MaxRate:
		return whittle.Errorf(whittle.Invalid, "--rate %g is above %g arrivals per second", w.Rate, float64(plan.MaxRate))
	case w.Rate > 0 && w.Users > 0:
		return whittle.Errorf(whittle.Invalid, "either --rate is given, for open arrivals, or --users")
	}
	return nil
}

// quick makes a plan of one request.
func (w *Workload) quick() (*plan.Plan, error) {
	s := w.source()
	if flag := cmp.Or(s.GivenForArtillery(), plan.FlagIf(len(w.Properties) > 0, "--property")); flag != "" {
		bare, _ := plan.SplitLogin(w.Plan)
		return nil, whittle.Errorf(whittle.Invalid, "%s goes with a plan's file, and %s is a URL", flag, bare)
	}
	q := w.Request
	if q.BodyFile != "" {
		if q.Body != "" {
			return nil, whittle.Errorf(whittle.Invalid, "either --body is given or --body-file")
		}
		b, err := s.ReadFile("body", q.BodyFile, MaxBodyFile)
		if err != nil {
			return nil, err
		}
		q.Body = string(b)
	}
	var address string
	address, q.Headers = credentials(w.Plan, q.Headers)
	duration, total := w.Duration, w.Requests
	if total > 0 && w.Rate > 0 {
		if duration != 0 {
			return nil, whittle.Errorf(whittle.Invalid, "with --rate, either -n is given or --duration")
		}
		// The sum of rounding is far below one arrival.
		duration, total = time.Duration((float64(total)+1e-6)/w.Rate*float64(time.Second))+time.Nanosecond, 0
	}
	return artillery.Quick{
		URL: address, Request: q, Rate: w.Rate, Duration: duration,
		Closed: plan.Closed{Users: w.Users, Ramp: w.Ramp, Loops: w.Loops, Total: total},
	}.Plan()
}

// credentials takes the name and the password out of a URL, and makes a header of them
// unless there is one.
func credentials(address string, headers []string) (string, []string) {
	bare, user := plan.SplitLogin(address)
	if user == nil {
		return address, headers
	}
	for _, h := range headers {
		if name, _, _ := strings.Cut(h, ":"); strings.EqualFold(strings.TrimSpace(name), "authorization") {
			return bare, headers
		}
	}
	return bare, append(slices.Clip(headers), "Authorization: "+plan.BasicLogin(user))
}

// MaxBodyFile bounds the file of a body or a descriptor: each virtual user holds
// a body once.
const MaxBodyFile = 16 << 20
