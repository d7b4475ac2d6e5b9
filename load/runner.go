// Package load is the load generator: it runs a plan of virtual users against a
// target and measures it. In the open model, users arrive at their intended times
// whether or not the target keeps up, and latency counts from those times, so that
// there is no coordinated omission. In the closed model, a fixed number of users
// each send their next request after the response to the previous one.
//
// A Runner is made of a plan and options and runs them, whole or block by block. The
// path of a request is plan → pacer → virtual user → wire → recorder → report.
package load

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"golang.org/x/net/http/httpproxy"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/report"
	"whittle/load/wire"
)

// Runner runs one plan against one target. It is made by NewRunner and does not
// change, so that it may be run several times.
type Runner struct {
	plan    *plan.Plan
	base    string // the target with its name and password
	target  string // without them
	options Options
}

// NewRunner checks everything that can be known before anything is sent: an error
// means that the plan has no target, or that the options do not fit it.
func NewRunner(p *plan.Plan, o Options) (*Runner, error) {
	r := &Runner{plan: p, base: cmp.Or(o.Target, p.Target), options: o.WithDefaults()}
	r.target, _ = plan.SplitLogin(r.base)
	if r.target == "" && p.Relative() {
		return nil, whittle.Errorf(whittle.Invalid, "run plan %s: no target", p.Name).
			WithHint("give config.target in the plan, or --target URL")
	}
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("run plan %s: %w", p.Name, err)
	}
	if _, err := r.network(); err != nil {
		return nil, err
	}
	if f := o.OnLog; p.Console != nil && f != nil {
		p.Console.To(func(line string) { f(-1, line) })
	}
	return r, nil
}

// Names are those of the plan's requests, as reports have them.
func (r *Runner) Names() []string { return r.plan.Names }

// Plan is the plan's name.
func (r *Runner) Plan() string { return r.plan.Name }

// network prepares the plan's requests to the target.
func (r *Runner) network() (*wire.Network, error) {
	o := &r.options
	c := wire.Config{
		Plan: r.plan, Target: r.base, Protocol: o.Protocol, Pool: r.plan.HTTP.Pool, Now: o.Now,
		Proxy: httpproxy.FromEnvironment().ProxyFunc(),
	}
	if o.Pool > 0 {
		c.Pool = o.Pool
	}
	c.Pool = int(o.Part.Share(int64(c.Pool)))
	if o.OnResult != nil {
		c.KeepBody = expr.MaxBody
	}
	n, err := wire.NewNetwork(c)
	if err != nil {
		return nil, fmt.Errorf("run plan %s: %w", r.plan.Name, err)
	}
	return n, nil
}

// task is the whole plan as one run.
func (r *Runner) task(n *wire.Network) task {
	return task{
		plan: r.plan, options: r.options, seed: r.options.Seed, network: n, shared: new(sharedState),
		onResult: r.options.OnResult, mayLoop: true,
	}
}

// Run runs the plan, and returns when every virtual user has ended. When ctx ends,
// no more users start, those under way get Options.Grace, and the report covers what
// was sent; that is not an error. An error means that nothing was measured: a process
// cannot be watched, or the flow before the run failed.
func (r *Runner) Run(ctx context.Context) (*report.Report, error) {
	n, err := r.network()
	if err != nil {
		return nil, err
	}
	defer n.CloseIdle()
	defer r.rest()
	m, err := openMeter(ctx, &r.options)
	if err != nil {
		return nil, err
	}
	t := r.task(n)
	if t.base, err = t.before(ctx); err != nil {
		return nil, err
	}
	if len(r.plan.Before) > 0 {
		if err := m.restart(ctx); err != nil {
			return nil, err
		}
	}
	_, out, err := r.measure(ctx, t, m)
	if err != nil {
		return nil, err
	}
	if warning := t.after(ctx); warning != "" {
		out.Warnings = append(out.Warnings, warning)
	}
	return out, nil
}

// Run makes a Runner and runs it.
func Run(ctx context.Context, p *plan.Plan, o Options) (*report.Report, error) {
	r, err := NewRunner(p, o)
	if err != nil {
		return nil, err
	}
	return r.Run(ctx)
}

// rest stops the timers of the plan's scripts.
func (r *Runner) rest() {
	if f := r.plan.Rest; f != nil {
		f()
	}
}

// measure runs a task and reports on it.
func (r *Runner) measure(ctx context.Context, t task, m *meter) (*execution, *report.Report, error) {
	s, err := newExecution(t)
	if err != nil {
		return nil, nil, err
	}
	defer s.close()
	w := newMonitor(s, m)
	w.start(ctx)
	early := !s.send(ctx)
	w.finish()
	return s, w.report(r.target, early || s.end.early.Load()), nil
}

// modelOf is the name of the plan's model in reports.
func modelOf(p *plan.Plan) string {
	if p.Closed() {
		return report.ModelClosed
	}
	return report.ModelOpen
}

// finish waits for the users under way; once ctx has ended, at most Options.Grace.
func (s *execution) finish(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.waitForUsers()
	}()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	t := time.NewTimer(max(s.options.Grace, 0))
	defer t.Stop()
	select {
	case <-t.C:
		s.end.abort()
		<-done
	case <-done:
	}
}
