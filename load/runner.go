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
	"net/url"
	"strings"
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
// means that the plan has no target, that the options do not fit it, or that it does
// not fit gRPC's contract.
func NewRunner(p *plan.Plan, o Options) (*Runner, error) {
	r := &Runner{plan: p, base: cmp.Or(o.Target, p.Target), options: o.WithDefaults()}
	r.target, _ = plan.SplitLogin(r.base)
	if r.target == "" && p.Relative() {
		return nil, whittle.Errorf(whittle.Invalid, "run plan %s: no target", p.Name).
			WithHint("give config.target in the plan, or a target on the command line")
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
		Plan: r.plan, Target: r.base, Protocol: o.Protocol, Descriptor: o.Descriptor, Streams: o.Streams, Pool: r.plan.HTTP.Pool, Now: o.Now,
		Proxy: environmentProxy(),
	}
	if via := r.plan.HTTP.Proxy; via != nil {
		c.Proxy = func(*url.URL) (*url.URL, error) { return via, nil }
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
	out.Warnings = append(out.Warnings, proxyNotes(r.plan, n)...)
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

// environmentProxy says which proxy the environment has for a URL. What is no proxy's URL is
// an error where it would be used, not left out.
func environmentProxy() func(*url.URL) (*url.URL, error) {
	c := httpproxy.FromEnvironment()
	wrong := map[string]string{} // names of variables by the host that stands in for them
	for name, text := range map[string]*string{"HTTP_PROXY": &c.HTTPProxy, "HTTPS_PROXY": &c.HTTPSProxy} {
		own, err := url.Parse(*text)
		if _, bare := url.Parse("http://" + *text); (err != nil || own.Host == "") && (bare != nil || strings.Contains(*text, "://")) {
			*text = "http://" + strings.ToLower(name)
			wrong[strings.ToLower(name)] = name
		}
	}
	find := c.ProxyFunc()
	return func(u *url.URL) (*url.URL, error) {
		via, err := find(u)
		if err == nil && via != nil && wrong[via.Host] != "" {
			// Its text may have a password.
			return nil, whittle.Errorf(whittle.Invalid, "%s is no proxy's URL", wrong[via.Host]).WithHint("it is of the form http://HOST:PORT; NO_PROXY names what goes straight")
		}
		return via, err
	}
}

// proxyNotes say through which proxies requests have gone: figures are theirs, too.
func proxyNotes(p *plan.Plan, n *wire.Network) (notes []string) {
	who := "the environment says (HTTP_PROXY, HTTPS_PROXY, NO_PROXY)"
	if p.HTTP.Proxy != nil {
		who = "the plan says"
	}
	for _, via := range n.Proxies() {
		notes = append(notes, "requests went through the proxy "+via+", as "+who+": times are the proxy's and the target's together")
	}
	return notes
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
	if len(r.options.Exports) > 0 {
		s.recorder.exported()
	}
	w, finishExport := newMonitor(s, m), r.export(s.snapshots())
	w.start(ctx)
	early := !s.send(ctx)
	w.finish()
	out := w.report(r.target, early || s.end.early.Load())
	out.Warnings = append(out.Warnings, finishExport()...)
	return s, out, nil
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
