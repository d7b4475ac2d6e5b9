// Package steer puts routes' shares in force at proxies of a team's own, and looks at what is
// in force there. A share is in force when every instance of the proxy has confirmed it.
//
// whittle raises what an instance has only by a rise that was decided. An instance with fewer
// users on the candidate, because somebody or a restart took them off, is left as it is, and
// that is said. One with more gets the share that was decided.
package steer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"whittle"
	"whittle/internal/notify"
)

const (
	// lookEvery is how often it is asked which instances are due.
	lookEvery = 100 * time.Millisecond
	// settleEvery is the wait between two looks at what an instance has taken.
	settleEvery = 50 * time.Millisecond
	// leastRetry is the wait after the first attempt that failed. It doubles with each.
	leastRetry = 100 * time.Millisecond
	// lastWithin bounds the attempts when whittle ends.
	lastWithin = 2 * time.Second
	// maxReply bounds what is read of a proxy's response, in bytes, and maxSaid what is shown.
	maxReply = 1 << 20
	maxSaid  = 200
)

// Steerer is one instance of a proxy.
type Steerer interface {
	// Set has it send a share of the users to the candidate. Nil: it has taken the share,
	// which need not be in force yet.
	Set(ctx context.Context, share whittle.Share) error
	// Read is the share in force; errUnread where it cannot be known.
	Read(ctx context.Context) (whittle.Share, error)
}

// errUnread says that an instance cannot be read: that it was set is its confirmation.
var errUnread = errors.New("it cannot be read")

// Proxies are those of all routes that are steered.
type Proxies struct {
	redact func(string) string
	log    *slog.Logger
	wake   notify.Signal
	calls  sync.WaitGroup

	mu    sync.Mutex // guards the following
	loops map[string]*loop
	// on is Run's context; nil: it does not run.
	on context.Context //nolint:containedctx // of Run, for attempts that Apply begins
}

// loop keeps one route's share in force.
type loop struct {
	route string
	spec  whittle.Steer
	by    string
	// observed says that an observer tells of what users get.
	observed  bool
	instances []*instance
	// want is the share that was decided last, given that there is one.
	want  whittle.Share
	given bool
	// move is how want came about: "rise to 25 %". Empty: every instance has confirmed it once.
	move string
}

// instance is one proxy, and what is known of it.
type instance struct {
	Steerer
	name string
	// share was in force at read. Zero read: it is not known.
	share whittle.Share
	read  time.Time
	// must says that the share is to be set, whatever is there.
	must      bool
	confirmed bool
	trouble   string
	note      string
	failed    int // attempts in a row
	next      time.Time
	running   bool
	cancel    context.CancelFunc // of the attempt under way
}

// New makes the proxies of no route. redact takes secrets out of what they say.
func New(redact func(string) string, log *slog.Logger) *Proxies {
	return &Proxies{redact: redact, log: log, wake: notify.New(), loops: map[string]*loop{}}
}

// Put takes the routes as the config has them. A route whose proxies are the same goes on.
func (p *Proxies) Put(routes []whittle.Route) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := map[string]*loop{}
	for i := range routes {
		t := &routes[i]
		if t.Steer == nil {
			continue
		}
		if old := p.loops[t.Name]; old != nil && reflect.DeepEqual(old.spec, *t.Steer) {
			next[t.Name] = old
		} else {
			next[t.Name] = newLoop(t.Name, t.Steer)
		}
		next[t.Name].observed = t.Rollout.Observed
	}
	for name, old := range p.loops {
		if next[name] != old && old.want > 0 {
			p.log.Warn("proxies that the config does not name any more keep the share", "route", name, "share_bp", old.want)
		}
	}
	p.loops = next
}

func newLoop(route string, spec *whittle.Steer) *loop {
	l := &loop{route: route, spec: *spec}
	add := func(name string, s Steerer) { l.instances = append(l.instances, &instance{name: name, Steerer: s}) }
	if way := spec.HAProxy; way != nil {
		l.by = "haproxy"
		for _, socket := range way.Sockets {
			add(socket, &haproxy{socket, way.Map + " " + way.Key})
		}
	}
	if way := spec.Envoy; way != nil {
		l.by = "envoy"
		for _, admin := range way.Admin {
			add(admin, &envoy{admin, way.Candidate, way.Monolith, newClient()})
		}
	}
	if way := spec.Nginx; way != nil {
		l.by = "nginx"
		add(way.URL, &nginx{*way, newClient()})
	}
	if way := spec.HTTPRoute; way != nil {
		l.by = "httproute"
		add(way.Namespace+"/"+way.Name, &httpRoute{*way})
	}
	if way := spec.Command; way != nil {
		l.by = "command"
		add(way.Set[0], &command{route, way.Set, way.Read})
	}
	return l
}

// Apply has a route's proxies put a share in force. The attempts under way for another share end.
// unseen reports that it has proxies, and that nobody observes what they send to the candidate.
func (p *Proxies) Apply(route string, share whittle.Share) (unseen bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.loops[route]
	if l == nil {
		return false
	}
	if l.given && l.want == share {
		return !l.observed
	}
	rise := l.given && share > l.want
	switch {
	case rise:
		l.move = "rise to " + percent(share)
	case l.given || share == 0:
		l.move = "fall to " + percent(share)
	default:
		l.move = "check of " + percent(share)
	}
	for _, i := range l.instances {
		i.must = (rise || share == 0) && (i.read.IsZero() || i.share != share) // or a look says whether there is more
		i.confirmed, i.failed, i.next, i.note = false, 0, time.Time{}, ""
	}
	l.want, l.given = share, true
	for _, i := range l.instances {
		if i.cancel != nil {
			i.cancel()
		}
	}
	p.begin(l, time.Now())
	return !l.observed
}

// Run sets and reads until ctx ends. Then what is not in force yet is tried once more, for a
// moment: nobody is there to see to it later.
func (p *Proxies) Run(ctx context.Context) {
	p.resume(ctx)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		p.look()
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-p.wake:
		}
	}
	p.halt()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWithin)
	defer cancel()
	p.resume(last)
	p.look()
	p.halt()
}

// resume lets attempts begin, at once where a share is not confirmed.
func (p *Proxies) resume(on context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.on = on
	for _, l := range p.loops {
		for _, i := range l.instances {
			if !i.confirmed {
				i.next = time.Time{}
			}
		}
	}
}

// halt lets none begin any more, and waits for those under way.
func (p *Proxies) halt() {
	p.mu.Lock()
	p.on = nil
	p.mu.Unlock()
	p.calls.Wait()
}

// look begins the attempts that are due.
func (p *Proxies) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.loops {
		p.begin(l, time.Now())
	}
}

// begin begins those of a route. The caller holds mu.
func (p *Proxies) begin(l *loop, now time.Time) {
	if p.on == nil || !l.given {
		return
	}
	for _, i := range l.instances {
		if i.running || now.Before(i.next) {
			continue
		}
		var own context.Context
		own, i.cancel = context.WithTimeout(p.on, l.spec.Timeout)
		i.running = true
		want, must, known := l.want, i.must, i.share
		if i.read.IsZero() {
			known = whittle.All + 1
		}
		p.calls.Go(func() {
			r := i.attempt(own, want, must, known)
			p.done(l, i, want, r)
		})
	}
}

// result is what came of an attempt: the share in force at last, and the one that was found to be
// more than was decided; 0: none was.
type result struct {
	got, over whittle.Share
	err       error
}

// attempt sets a share if it must, or if more is or may be in force, and looks at what is in force then.
func (i *instance) attempt(ctx context.Context, want whittle.Share, must bool, known whittle.Share) (r result) {
	if !must {
		r.got, r.err = i.Read(ctx)
		unread := errors.Is(r.err, errUnread)
		switch {
		case unread && known == want:
			return result{got: known}
		case unread:
		case r.err != nil && want == 0: // it may have restarted and know no share, and 0 raises nobody
		case r.err != nil || r.got <= want:
			return r
		default:
			r.over = r.got
		}
	}
	if r.err = i.Set(ctx, want); r.err != nil {
		return r
	}
	for {
		r.got, r.err = i.Read(ctx)
		if errors.Is(r.err, errUnread) {
			r.got, r.err = want, nil
		}
		if r.err == nil && r.got == want || !notify.Sleep(ctx, settleEvery) {
			return r
		}
	}
}

// done takes what came of an attempt.
func (p *Proxies) done(l *loop, i *instance, want whittle.Share, r result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i.cancel()
	i.cancel, i.running = nil, false
	got, err := r.got, r.err
	if err == nil {
		i.share, i.read = got, time.Now()
	}
	if want != l.want { // overtaken, so it says nothing of what is wanted now
		p.wake.Notify()
		return
	}
	if r.over > 0 && l.move == "" {
		i.note = fmt.Sprintf("it had %s at %s, which whittle had not set", percent(r.over), time.Now().UTC().Format("2006-01-02 15:04:05 MST"))
		p.log.Warn("a proxy had more than the share, which it gets again", "route", l.route, "proxy", i.name, "had_bp", r.over, "share_bp", want)
	}
	before := i.trouble
	i.trouble = ""
	switch {
	case err != nil:
		i.trouble = p.said(err)
	case got < want && !i.must:
		i.trouble = fmt.Sprintf("it has %s, which whittle has not set", percent(got))
	case got != want:
		i.trouble = fmt.Sprintf("it still has %s", percent(got))
	}
	i.confirmed = i.trouble == ""
	i.next = time.Now().Add(l.spec.Every)
	switch {
	case i.confirmed:
		i.must, i.failed = false, 0
		if before != "" {
			p.log.Info("a proxy has confirmed the share", "route", l.route, "proxy", i.name, "share_bp", want)
		}
		if l.missing() == 0 {
			l.move = ""
		}
	case i.must || got > want:
		i.failed++
		i.next = time.Now().Add(min(l.spec.Every, leastRetry<<min(i.failed-1, 16)))
	}
	if i.trouble != before && i.trouble != "" {
		p.log.Warn("a proxy has not confirmed the share", "route", l.route, "proxy", i.name, "share_bp", want, "why", i.trouble)
	}
}

// said is an error as it may be shown.
func (p *Proxies) said(err error) string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(p.redact(err.Error()), "?")), " ")
	if len(text) > maxSaid {
		text = strings.ToValidUTF8(text[:maxSaid], "") + "…"
	}
	return text
}

// missing is how many instances have not confirmed the share.
func (l *loop) missing() (n int) {
	for _, i := range l.instances {
		if !i.confirmed {
			n++
		}
	}
	return n
}

// Status says how far a route's share is in force; nil: it has no proxies. Nobody waits for it.
func (p *Proxies) Status(route string) *whittle.SteerStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.loops[route]
	if l == nil {
		return nil
	}
	s := &whittle.SteerStatus{By: l.by, Share: l.want}
	var why []string
	for _, i := range l.instances {
		s.Proxies = append(s.Proxies, whittle.SteerInstance{Name: i.name, Share: i.share, Read: i.read, Confirmed: i.confirmed, Trouble: i.trouble, Note: i.note})
		if i.trouble != "" {
			why = append(why, i.name+": "+i.trouble)
		}
	}
	missing := l.missing()
	if missing == 0 {
		return s
	}
	done := len(l.instances) - missing
	s.Wait = fmt.Sprintf("%d of %d proxies have %s", done, len(l.instances), percent(l.want))
	if l.move != "" {
		s.UnderWay = l.move
		s.Wait = fmt.Sprintf("the %s is under way, confirmed by %d of %d proxies", s.UnderWay, done, len(l.instances))
	}
	if len(why) > 0 {
		s.Wait += " (" + strings.Join(why, "; ") + ")"
	}
	return s
}

// percent writes a share as status does.
func percent(s whittle.Share) string { return strconv.FormatFloat(s.Percent(), 'f', -1, 64) + " %" }
