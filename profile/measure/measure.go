// Package measure profiles running processes, as they are or under a load, and saves
// and loads the profiles.
package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"whittle"
	"whittle/load"
	"whittle/load/cpu"
	"whittle/load/plan"
	loaded "whittle/load/report"
	"whittle/profile"
	"whittle/profile/collect"
	"whittle/profile/gosource"
	"whittle/profile/guard"
	"whittle/profile/report"
)

// windowOf is how long one of the profiles is of which a Go service's is made
// while a plan runs: a profile that breaks off is lost.
const windowOf = 5 * time.Second

// Progress prints how far a measurement has come, in the manner of fmt.Printf.
type Progress func(format string, args ...any)

// Settings are how running processes are measured; the tags are those of a command line.
type Settings struct {
	Duration time.Duration `bound:">0" group:"What is measured" default:"10s" short:"d" help:"How long (${default}). With --during, as long as the plan's phases; of a plan of users, this at most."`
	During   string        `group:"What is measured" placeholder:"PLAN" help:"Run this load meanwhile, an Artillery or JMeter plan."`
	Target   string        `group:"What is measured" needs:"during,endpoint" placeholder:"URL" help:"Send the plan's requests to this base URL."`
	MaxLate  time.Duration `bound:">=0" needs:"during,endpoint" group:"What is measured" default:"10ms" help:"How late requests may be sent, at their 99th percentile (${default})."`
	Lines    string        `group:"What is measured" default:"auto" enum:"auto,cheap,exact" placeholder:"HOW" help:"Lines of Node. exact: V8 optimizes again (${default})."`
	Metrics  string        `group:"What is measured" placeholder:"URL" help:"Count requests by this metrics page, those of all processes together. Default: the one at each pprof port."`
}

// lines are those that were asked for. "": it depends.
func (m *Settings) lines() profile.Lines {
	if m.Lines == "auto" {
		return ""
	}
	return profile.Lines(m.Lines)
}

// Measured is what a measurement gave of one process.
type Measured struct {
	Taken []*collect.Collected
	Load  *loaded.Report // nil: what was live was profiled
	// classes counts the answers of what was live by the first digit of their
	// status, as far as a metrics page says.
	Classes map[string]int64
	// together says that the requests are of all that was measured with it, not
	// of this process alone: a load's, or those of a page that all share.
	Together bool
	Exposed  bool // its profiling port, to other machines
	// Workers are those of the cluster whose first process it is, where they were
	// not measured with it.
	Workers []int
	// Unclosed says that the inspector that was opened is still open. "": it is not.
	Unclosed string
}

// subject is a process while it is measured.
type subject struct {
	target string
	source collect.Source
	kinds  []profile.Kind
	got    *Measured
}

// pid is the id of a process that was named by it. 0: it was named by a URL.
func (s *subject) pid() int {
	pid, _ := strconv.Atoi(s.target)
	return pid
}

// openWorkers opens the workers of a Node cluster that are not measured with its first
// process: its signal opens their inspectors too, and nobody else would close them.
func openWorkers(ctx context.Context, target string, targets []string) (held []collect.Source, err error) {
	pid, _ := strconv.Atoi(target)
	for _, worker := range collect.Workers(pid) {
		name := strconv.Itoa(worker)
		if slices.Contains(targets, name) {
			continue
		}
		source, err := collect.OpenAmong(ctx, name)
		if err != nil {
			return held, err
		}
		held = append(held, source)
	}
	return held, nil
}

// closed takes in how a source closed. What was measured is kept: an event loop that is
// blocked for seconds is what somebody looks for.
func (s *subject) closed(failed error, err *error) {
	if failed == nil || *err != nil {
		*err = errors.Join(*err, failed)
		return
	}
	s.got.Unclosed = failed.Error()
}

// requestPage is a metrics page, and counts the requests of some of the processes.
type requestPage struct {
	url    string
	of     []*subject
	before collect.Count // when the measurement began
	// What it has more a while later, and how much later that is.
	between collect.Count
	whole   time.Duration
}

// Measure profiles a running process: while a plan loads it, or as it is.
func (m *Settings) Measure(ctx context.Context, target string, kinds []profile.Kind, progress Progress) (*Measured, error) {
	var under *plan.Plan
	if m.During != "" {
		var err error
		if under, err = load.ReadPlan(m.During); err != nil {
			return nil, err
		}
	}
	all, err := m.MeasureAll(ctx, []string{target}, kinds, under, progress)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// MeasureAll profiles several processes over the same time. The plan is nil if live
// traffic is measured. An inspector that it opens in a process is closed in any case; where
// the process does not come to it yet, a warning says so.
func (m *Settings) MeasureAll(ctx context.Context, targets []string, kinds []profile.Kind, under *plan.Plan, progress Progress) (all []*Measured, err error) {
	var subjects []*subject
	var held []collect.Source // workers that are not measured
	defer func() {
		for _, source := range held {
			err = errors.Join(err, source.Close(ctx))
		}
		for _, s := range subjects {
			s.closed(s.source.Close(ctx), &err)
		}
	}()
	chosen := m.lines() == ""
	for _, target := range collect.WorkersFirst(targets) {
		workers, err := openWorkers(ctx, target, targets)
		if held = append(held, workers...); err != nil {
			return nil, err
		}
		open := collect.Open
		if len(targets)+len(held) > 1 {
			open = collect.OpenAmong
		}
		source, err := open(ctx, target)
		if err != nil {
			return nil, err
		}
		s := &subject{target: target, source: source, kinds: kinds, got: &Measured{Exposed: collect.Exposed(source.Address())}}
		subjects, all = append(subjects, s), append(all, s.got)
		chosen = collect.SetLines(source, m.lines()) || chosen
		if pid := s.pid(); pid != 0 && len(targets) == 1 {
			s.got.Workers = collect.Workers(pid)
		}
		if len(kinds) == 0 {
			s.kinds = collect.Defaults(source)
		}
		for _, k := range s.kinds {
			if !slices.Contains(source.Kinds(), k) {
				return nil, whittle.Errorf(whittle.Invalid, "profile %s: it has no kind %q", target, k).
					WithHint("a Go service has cpu, allocations and mutex, Node has cpu")
			}
		}
	}
	if !chosen {
		return nil, whittle.Errorf(whittle.Invalid, "profile %s: --lines chooses how the lines of Node come about, and that is not Node's", targets[0]).
			WithHint("leave --lines out: Go has the line of each sample")
	}
	pages, err := m.pages(ctx, subjects)
	if err != nil {
		return nil, err
	}
	for _, s := range subjects {
		s.got.Together = under != nil || m.Metrics != ""
	}
	if under != nil {
		return all, m.underLoad(ctx, subjects, pages, under, progress)
	}
	return all, m.live(ctx, subjects, pages, progress)
}

// profiles are those that were taken.
func (m *Measured) profiles() (all []*profile.Profile) {
	for _, t := range m.Taken {
		if t != nil {
			all = append(all, t.Profile)
		}
	}
	return all
}

// label finds the endpoints of a Go service's profiles that have no label for them,
// and of its collector.
func (m *Measured) label() {
	all := m.profiles()
	labelGo(all...)
	for _, p := range all {
		for _, of := range all {
			p.ShareCollector(of)
		}
	}
}

// labelGo looks for sources where the profile names them, else from the working
// folder on.
func labelGo(all ...*profile.Profile) {
	if wd, err := os.Getwd(); err == nil {
		gosource.Label(wd, all...)
	}
}

// pages are the metrics pages that requests are counted by: the one that was
// given counts those of all processes, one at a process's pprof port counts its own.
func (m *Settings) pages(ctx context.Context, subjects []*subject) (pages []*requestPage, err error) {
	if m.Metrics != "" {
		p := &requestPage{url: m.Metrics, of: subjects}
		p.before, err = collect.Requests(ctx, p.url)
		return []*requestPage{p}, err
	}
	for _, s := range subjects {
		p := &requestPage{url: collect.MetricsOf(s.target), of: []*subject{s}}
		if p.url == "" {
			continue
		}
		if p.before, err = collect.Requests(ctx, p.url); err == nil { // it was only a guess
			pages = append(pages, p)
		}
	}
	return pages, nil
}

// live profiles what is.
func (m *Settings) live(ctx context.Context, subjects []*subject, pages []*requestPage, progress Progress) error {
	for _, s := range subjects {
		progress("profiling %s for %s", s.target, m.Duration)
	}
	began := time.Now()
	profiled, profiling := errgroup.WithContext(ctx)
	for _, s := range subjects {
		profiled.Go(func() (err error) {
			s.got.Taken, err = collect.All(profiling, s.source, s.kinds, m.Duration)
			return err
		})
	}
	if err := profiled.Wait(); err != nil {
		return err
	}
	counted, counting := errgroup.WithContext(ctx)
	for _, p := range pages {
		counted.Go(func() error { return p.read(counting, began) })
	}
	if err := counted.Wait(); err != nil {
		return err
	}
	for _, s := range subjects { // which reads sources, and takes its time
		s.got.label()
	}
	for _, p := range pages {
		p.count()
	}
	return nil
}

// read reads the page again, a while after a measurement began.
func (p *requestPage) read(ctx context.Context, began time.Time) error {
	after, err := collect.Requests(ctx, p.url)
	p.whole, p.between = time.Since(began), after.Since(p.before)
	return err
}

// count gives the processes the requests since the measurement began.
func (p *requestPage) count() {
	for _, s := range p.of {
		for _, t := range s.got.Taken {
			t.CountRequests(portion(p.between.Endpoints, t.Duration, p.whole))
		}
		s.got.Classes = p.between.Classes
	}
}

// portion gives a part's requests of those of the whole time.
func portion(counts map[string]int64, part, whole time.Duration) map[string]int64 {
	if part <= 0 || part >= whole {
		return counts
	}
	out := make(map[string]int64, len(counts))
	for name, n := range counts {
		out[name] = int64(float64(n)*part.Seconds()/whole.Seconds() + 0.5)
	}
	return out
}

// underLoad runs the plan and profiles meanwhile.
func (m *Settings) underLoad(ctx context.Context, subjects []*subject, pages []*requestPage, under *plan.Plan, progress Progress) error {
	o := load.Options{Target: m.Target, MaxLate: m.MaxLate, OnProgress: func(p loaded.Progress) { progress("%s", p) }}
	for _, s := range subjects {
		if pid := s.pid(); pid != 0 {
			o.Watch = append(o.Watch, cpu.Process{Name: "process " + s.target, PID: pid})
		}
	}
	for _, p := range pages {
		if !slices.ContainsFunc(p.of, func(s *subject) bool { return s.pid() != 0 }) { // else it would count twice
			o.WatchURLs = append(o.WatchURLs, p.url)
		}
	}
	var ran *loaded.Report
	g, ctx := errgroup.WithContext(ctx)
	ended, end := context.WithCancel(ctx)
	g.Go(func() (err error) {
		defer end()
		ran, err = load.Run(ctx, under, o)
		return err
	})
	for _, s := range subjects {
		g.Go(func() (err error) {
			s.got.Taken, err = m.during(ended, s.source, under, s.kinds)
			if ended.Err() == nil || len(s.got.Taken) == 0 {
				return err
			}
			return nil // the load ended in the middle of a window
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, s := range subjects {
		if err := s.loaded(ran); err != nil {
			return err
		}
	}
	return nil
}

// loaded gives the process's profiles their requests of the load that ran
// meanwhile.
func (s *subject) loaded(ran *loaded.Report) error {
	if len(s.got.Taken) == 0 {
		return guard.MarkUnusable(whittle.Errorf(whittle.FailedPrecondition, "profile %s: the load was over before a profile began", s.target).
			WithHint("a load that lasts for a second or more"))
	}
	s.got.Load = ran
	s.got.label()
	for _, t := range s.got.Taken {
		from := t.Began.Sub(ran.Started)
		t.CountRequests(requestsBetween(ran, from, from+t.Duration))
	}
	return nil
}

// during profiles until the load ends.
func (m *Settings) during(ended context.Context, source collect.Source, under *plan.Plan, kinds []profile.Kind) ([]*collect.Collected, error) {
	var whole time.Duration
	for _, p := range under.Phases {
		whole += p.Duration
	}
	if whole == 0 {
		whole = m.Duration // a closed plan's length is not known beforehand
	}
	if !slices.Contains(source.Kinds(), profile.Mutex) { // Node: ends with the load
		collect.SetLines(source, cmp.Or(m.lines(), profile.Exact))
		return collect.All(ended, source, kinds, whole)
	}
	g, ctx := errgroup.WithContext(context.WithoutCancel(ended))
	rest := slices.DeleteFunc(slices.Clone(kinds), func(k profile.Kind) bool { return k == profile.CPU })
	var others []*collect.Collected
	if len(rest) > 0 {
		g.Go(func() (err error) {
			others, err = collect.All(ctx, source, rest, max(whole-time.Second, time.Second))
			return err
		})
	}
	var windows []*collect.Collected
	if slices.Contains(kinds, profile.CPU) {
		g.Go(func() error {
			for _, d := range windowsOf(whole) {
				if ended.Err() != nil {
					return nil //nolint:nilerr // ending early is not an error
				}
				t, err := source.Take(ctx, profile.CPU, d)
				if err != nil {
					return err
				}
				windows = append(windows, t)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if len(windows) == 0 {
		return others, nil
	}
	joined, err := collect.Join(windows)
	if err != nil {
		return nil, err
	}
	return append([]*collect.Collected{joined}, others...), nil
}

// windowsOf cuts a time into windows of whole seconds.
func windowsOf(whole time.Duration) (out []time.Duration) {
	for left := max(whole.Truncate(time.Second), time.Second); left > 0; left -= windowOf {
		out = append(out, min(left, windowOf))
	}
	return out
}

// requestsBetween gives the answered requests in a part of a run, by name: each
// point of the series counts by how much of it lies within, and the names share
// them as they share the whole run's.
func requestsBetween(r *loaded.Report, from, to time.Duration) map[string]int64 {
	var within float64
	for _, p := range r.Series {
		low, high := max(p.At, from.Seconds()), min(p.At+p.Width, to.Seconds())
		if high > low && p.Width > 0 {
			within += float64(p.Completed) * (high - low) / p.Width
		}
	}
	if r.Completed == 0 || within == 0 {
		return nil
	}
	out := map[string]int64{}
	for _, n := range r.Names {
		out[n.Name] = int64(within*float64(n.Completed)/float64(r.Completed) + 0.5)
	}
	return out
}

// exposedWarning is what the seed's author reminds of, too.
const exposedWarning = "the profiling port can be reached from other machines: bind it to loopback, or put it behind what guards the rest, and remove it where nobody needs it"

// pids lists process ids, as many as somebody reads.
func pids(all []int) string {
	const most = 4
	var text []string
	for _, pid := range all[:min(len(all), most)] {
		text = append(text, strconv.Itoa(pid))
	}
	if len(all) > most {
		text = append(text, "…")
	}
	return strings.Join(text, ", ")
}

// Report looks at what was taken.
func (m *Measured) Report() *report.Report {
	all := m.profiles()
	for _, p := range all {
		Relative(p)
	}
	r := report.New(all)
	if m.Exposed {
		r.Warnings = append(r.Warnings, exposedWarning)
	}
	if m.Unclosed != "" {
		r.Warnings = append(r.Warnings, m.Unclosed+": its event loop was blocked all the time, and closes it when it goes on")
	}
	if len(m.Workers) > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("it is the first process of a cluster, whose workers serve the requests: profile one of them (%s), or have whittle find measure all", pids(m.Workers)))
	}
	if m.Load != nil && m.Load.Void != "" {
		r.Warnings = append(r.Warnings, "the load is void: "+m.Load.Void)
	}
	return r
}
