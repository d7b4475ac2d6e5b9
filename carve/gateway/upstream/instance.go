package upstream

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"whittle"
)

// instance is one of an upstream's servers, at one address, with the connections
// kept open to it.
type instance struct {
	u *shared
	// network and address are what is dialled: host:port, or the path of a socket;
	// server is whom its certificate is for.
	network, address, server string

	pool *pool // nil: HTTP/2 is spoken without asking
	ways transports
	// running counts the requests under way through net/http.
	running atomic.Int64
	// failed counts the requests in a row that failed.
	failed atomic.Int32
	// end ends the checks.
	end context.CancelFunc

	// The following are guarded by the upstream's mu.

	closed bool
	health health
	// unhealthy and ejected are settled when a group is made.
	unhealthy, ejected bool
	ejection           ejection
}

// newInstance makes the one of an origin that is at an address. The caller holds mu.
func (u *shared) newInstance(s origin, address string) *instance {
	i := &instance{u: u, network: s.network, address: address, server: s.server}
	if !u.http2 {
		i.pool = newPool(func(ctx context.Context) (net.Conn, error) {
			return i.connect(ctx, onlyHTTP1)
		}, &u.slots, u.patience)
		i.pool.address = address
	}
	i.ways = i.newTransports()
	var ctx context.Context
	ctx, i.end = context.WithCancel(context.Background())
	if u.spec.Health.Interval > 0 && !u.closed {
		u.work.Go(func() { i.check(ctx) })
	}
	return i
}

// way is one of those in which net/http sends a request.
type way uint8

const (
	wayKept way = iota
	// wayOnce is for requests that net/http will not send again.
	wayOnce
	// wayUpgrade speaks HTTP/1.1 only, since HTTP/2 has no Upgrade.
	wayUpgrade
	// wayNew opens a connection for each request, where that can be said.
	wayNew
	ways
)

// transports has one for each way.
type transports [ways]*http.Transport

func (i *instance) newTransports() (t transports) {
	http2 := i.u.http2
	t[wayKept] = i.newTransport(http2, wayKept)
	if t[wayOnce] = t[wayKept]; !http2 { // HTTP/2 says which streams it has not begun
		t[wayOnce] = i.newTransport(false, wayOnce)
		t[wayOnce].IdleConnTimeout = trusted
	}
	t[wayUpgrade] = i.newTransport(false, wayUpgrade)
	t[wayNew] = i.newTransport(http2, wayNew)
	t[wayNew].DisableKeepAlives = !http2
	return t
}

// newTransport makes a way through net/http: always HTTP/2 where forced, HTTP/2 by
// ALPN where nothing is upgraded, else HTTP/1.1.
func (i *instance) newTransport(forced bool, by way) *http.Transport {
	var p http.Protocols
	allowed := by != wayUpgrade
	p.SetHTTP1(!forced)
	p.SetHTTP2(forced || allowed)
	p.SetUnencryptedHTTP2(forced)
	spoken := onlyHTTP1
	switch {
	case forced:
		spoken = onlyHTTP2
	case allowed:
		spoken = bothHTTP
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		if forced || !allowed {
			return i.connect(ctx, spoken)
		}
		return i.connectFor(ctx, spoken, by == wayOnce)
	}
	return &http.Transport{
		DialContext:            dial,
		DialTLSContext:         dial,
		DisableCompression:     true, // bodies pass as they are
		MaxConnsPerHost:        i.u.conns(),
		MaxIdleConnsPerHost:    min(i.u.conns(), 64),
		MaxIdleConns:           maxIdle,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxResponseHead,
		Protocols:              &p,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: sendPing,
			PingTimeout:     pingTimeout,
		},
	}
}

// retire lets idle connections go. Those in use are closed when they have been idle for as long
// as they are kept.
func (t transports) retire() {
	for _, one := range t {
		one.CloseIdleConnections()
	}
}

// load is how many requests are under way at the instance.
func (i *instance) load() int64 {
	n := i.running.Load()
	if i.pool != nil {
		n += i.pool.running.Load()
	}
	return n
}

// close lets idle connections go and ends the checks; connections in use are closed
// when they are done. The caller holds the upstream's mu.
func (i *instance) close() {
	i.closed = true
	i.end()
	i.ejection.stop()
	if i.pool != nil {
		i.pool.close()
	}
	i.ways.retire()
}

// group is an upstream's instances as they are at a moment. It is immutable.
type group struct {
	all []*instance
	// sound are those that their checks find healthy, ready those of them that are
	// not ejected. Where they are too few to bear all requests, either is all.
	sound, ready []*instance
	// panics says that instances are among ready that are not fit for requests.
	panics bool
	// why is why all is empty; nil: the first lookup is under way.
	why error
	// replaced is closed when another group is in force.
	replaced chan struct{}
}

// regroup puts the instances in force that the origins have now. Those that are
// still there stay as they are; the others take no further request. The caller
// holds mu.
func (u *shared) regroup() {
	old := u.group.Load()
	next := &group{replaced: make(chan struct{})}
	var failed error
	for at, s := range u.origins {
		addresses := []string{s.address}
		if s.name != nil {
			addresses, failed = u.found[at].addresses, cmp.Or(failed, u.found[at].err)
		}
		for _, address := range addresses {
			next.add(u, old, s, address)
		}
	}
	if len(next.all) == 0 {
		next.why = failed
	}
	for _, i := range old.all {
		if !slices.Contains(next.all, i) {
			i.close()
		}
	}
	next.sort(u.spec.Panic)
	switch {
	case next.panics && !old.panics:
		u.log.Warn("so few instances are fit that all of them get requests", "upstream", u.name())
	case old.panics && !next.panics:
		u.log.Info("enough instances are fit again, and they alone get requests", "upstream", u.name())
	}
	u.group.Store(next)
	close(old.replaced)
}

// add takes old's instance of that address, or makes it.
func (g *group) add(u *shared, old *group, s origin, address string) {
	is := func(i *instance) bool {
		return i.address == address && i.network == s.network && i.server == s.server
	}
	if slices.ContainsFunc(g.all, is) {
		return // two names have it
	}
	if at := slices.IndexFunc(old.all, is); at >= 0 {
		g.all = append(g.all, old.all[at])
	} else {
		g.all = append(g.all, u.newInstance(s, address))
	}
}

// sort finds the instances that are fit.
func (g *group) sort(panicBelow whittle.Share) {
	enough := func(fit func(*instance) bool) []*instance {
		some := slices.DeleteFunc(slices.Clone(g.all), func(i *instance) bool { return !fit(i) })
		if len(some) == 0 || len(some)*int(whittle.All) < int(panicBelow)*len(g.all) {
			return g.all
		}
		return some
	}
	g.sound = enough(func(i *instance) bool { return !i.unhealthy })
	g.ready = enough(func(i *instance) bool { return !i.unhealthy && !i.ejected })
	g.panics = slices.ContainsFunc(g.ready, func(i *instance) bool { return i.unhealthy || i.ejected })
}

// found is what the last lookup of an origin's name came to.
type found struct {
	addresses []string
	err       error // nil again after the next that succeeds
}

// follow takes in what a lookup of an origin's name has found. Addresses that are no
// longer there get no further request; a lookup that fails changes nothing.
func (u *shared) follow(at int, addresses []string, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return
	}
	f, name := &u.found[at], u.origins[at].name.Host
	was := *f
	f.err = err
	switch {
	case err != nil:
		u.lookupsFailed.Add(1)
		if was.err == nil {
			u.log.Warn("a name of an upstream cannot be looked up; what was found before stays in use", "upstream", u.name(), "name", name, "addresses", len(was.addresses), "err", err)
		}
		if was.addresses != nil {
			return
		}
	case slices.Equal(was.addresses, addresses) && was.err == nil:
		return
	default:
		f.addresses = addresses
		if was.addresses != nil || was.err != nil {
			u.log.Info("the addresses of an upstream's name", "upstream", u.name(), "name", name, "addresses", addresses, "before", was.addresses)
		}
	}
	u.regroup()
}

// inherit takes over what another upstream has found for the same names.
func (u *shared) inherit(e *Upstream) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for at, o := range u.origins {
		for i, known := range e.origins {
			if o.name != nil && known.name != nil && *o.name == *known.name && e.found[i].addresses != nil {
				u.found[at].addresses = e.found[i].addresses
			}
		}
	}
}

// ejection is the time for which an instance gets no users' requests, because so
// many in a row failed there.
type ejection struct {
	times int // how often it came to that of late
	ended time.Time
	timer *time.Timer // nil: none is under way
}

func (e *ejection) stop() {
	if e.timer != nil {
		e.timer.Stop()
		e.timer = nil
	}
}

// eject has an instance get no users' requests for a time, unless as many are
// ejected as may be: the configured share, at least one, and never all.
func (u *shared) eject(i *instance, status int, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	i.failed.Store(0)
	e, all := &u.spec.Ejection, u.group.Load().all
	out := 0
	for _, other := range all {
		if other.ejected {
			out++
		}
	}
	if i.ejected || i.closed || u.closed || out >= min(max(len(all)*int(e.Share)/int(whittle.All), 1), len(all)-1) {
		return
	}
	if time.Since(i.ejection.ended) > e.Most {
		i.ejection.times = 0
	}
	i.ejection.times++
	pause := min(time.Duration(i.ejection.times)*e.Base, e.Most)
	i.ejected = true
	i.ejection.timer = time.AfterFunc(pause, func() { u.admit(i) })
	u.ejections.Add(1)
	u.log.Warn("an instance is ejected: too many requests in a row failed there", "upstream", u.name(), "instance", i.address,
		"failed", e.Consecutive, "status", status, "err", err, "for", pause)
	u.regroup()
}

// admit ends an ejection.
func (u *shared) admit(i *instance) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !i.ejected || i.closed || u.closed {
		return
	}
	i.ejected = false
	i.ejection.timer, i.ejection.ended = nil, time.Now()
	u.log.Info("an instance gets requests again", "upstream", u.name(), "instance", i.address)
	u.regroup()
}
