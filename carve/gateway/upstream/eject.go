package upstream

import (
	"context"
	"errors"
	"net/http"
	"time"

	"whittle"
)

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

// saw takes in how a request ended at i: with a status, or an error before there was
// one. A client that has gone says nothing of the instance.
func (u *Upstream) saw(ctx context.Context, i *instance, status int, err error) {
	limit := u.spec.Ejection.Consecutive
	if limit <= 0 || len(u.group.Load().all) == 1 {
		return
	}
	switch {
	case errors.Is(err, errIdleTooLong): // it was not asked
	case err != nil && errors.Is(ctx.Err(), context.Canceled) && !isTimeout(context.Cause(ctx)):
	case err != nil || status >= http.StatusInternalServerError:
		if int(i.failed.Add(1)) == limit {
			u.eject(i, status, err)
		}
	case i.failed.Load() != 0:
		i.failed.Store(0)
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
