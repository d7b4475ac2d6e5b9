package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/internal/httpfield"
	"whittle/internal/notify"
)

// holding is a body that is read whole. Memory is asked for as it grows, since
// to reserve the longest response allowed for each call would leave room for few.
type holding struct {
	body  []byte
	limit int64
	// room takes so many more bytes of a budget. Nil: there is always room.
	room func(more int64) bool
	// aside is as in leanCall.
	aside bool
	// more is how much longer than the timeout the whole may take.
	more time.Duration
	// paced counts the reading of what no user waits for; nil: a user does.
	paced *paced
}

// leastHeld is the first memory that a body gets, in bytes.
const leastHeld = 2 << 10

// read takes all of a source.
func (h *holding) read(s source) error {
	for {
		p, err := s.next()
		if add := h.add(p); add != nil {
			return add
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.paced != nil {
			if err := h.paced.did(len(p), s.joined()); err != nil {
				return err
			}
		}
	}
}

func (h *holding) add(p []byte) error {
	need := int64(len(h.body) + len(p))
	if need > h.limit {
		return errResponseSize
	}
	if had := int64(cap(h.body)); need > had {
		size := min(max(2*had, need, leastHeld), h.limit)
		if h.room != nil && !h.room(size-had) {
			return errNoRoom
		}
		h.body = append(make([]byte, 0, size), h.body...)
	}
	h.body = append(h.body, p...)
	return nil
}

// Call asks u and holds the whole response: within one deadline for all of it,
// and with a bound on its length (0: the upstream's own). It never follows
// redirects. room is asked before the body's memory grows; nil: there is always
// room. What goes wrong is in the response.
func (u *Upstream) Call(ctx context.Context, q *whittle.Request, maxResponse int64, room func(more int64) bool) whittle.Response {
	a, _ := u.call(ctx, q, &holding{limit: maxResponse, room: room})
	return a
}

// Aside is Call where no user waits. It has the time that a user's response to the same
// took in addition, since one that comes in pieces is as long as it is. It waits for no
// connection, and leaves half of them to users; false: there was none to spare, and nothing
// was sent.
func (u *Upstream) Aside(
	ctx context.Context, q *whittle.Request, took time.Duration, maxResponse int64, room func(more int64) bool,
) (_ whittle.Response, spared bool) {
	a, err := u.call(ctx, q, &holding{limit: maxResponse, room: room, aside: true, more: took})
	return a, !errors.Is(err, errNoSpare)
}

func (u *Upstream) call(ctx context.Context, q *whittle.Request, h *holding) (a whittle.Response, err error) {
	if h.limit <= 0 {
		h.limit = u.MaxResponse()
	}
	ctx, cancel := context.WithTimeout(ctx, u.timeout+h.more)
	defer cancel()
	at := time.Now()
	if h.aside {
		h.paced = &paced{ctx: ctx, pace: &asides}
	}
	if u.http1.Load() {
		a, err = u.callLean(ctx, q, h)
	} else {
		a, err = u.callTransport(ctx, q, h)
	}
	a.Latency = time.Since(at)
	if h.paced != nil {
		a.Latency -= h.paced.waits
		if err != nil && ctx.Err() != nil && h.paced.waits > u.timeout/4 {
			err = errNoSpare // its time was ours
		}
	}
	if err != nil {
		a.Status, a.Failure, a.Detail = 0, Classify(err), err.Error()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			a.Failure = whittle.FailedTimeout
		}
	}
	return a, err
}

// MaxResponse bounds the response of a Call, in bytes.
func (u *shared) MaxResponse() int64 {
	return above0(u.spec.MaxResponse, defaultResponse)
}

// hostFor is the Host that goes upstream for a client's.
func (u *shared) hostFor(client string) string {
	switch {
	case u.host != "":
		return u.host
	case client == "":
		return u.base.Host
	}
	return client
}

func (u *Upstream) callLean(ctx context.Context, q *whittle.Request, hold *holding) (whittle.Response, error) {
	c, err := u.lean(ctx, &leanCall{
		method: q.Method, again: again(q), limit: u.timeout + hold.more, total: true, last: authenticates(q.Header), aside: hold.aside,
	}, func(b []byte) ([]byte, error) {
		w := headWriter{b: b}
		w.line(q.Method, u.target(q.Target), u.hostFor(q.Host))
		for name, values := range q.Header {
			if httpfield.HopByHop(name) || name == "Content-Length" || name == "Expect" || name == "Host" {
				continue
			}
			for _, v := range values {
				w.field(name, v)
			}
		}
		if len(q.Body) > 0 || q.Header["Content-Length"] != nil || hasBody(q.Method) {
			w.field("Content-Length", strconv.Itoa(len(q.Body)))
		}
		b, err := w.end()
		return append(b, q.Body...), err
	})
	if err != nil {
		return whittle.Response{}, err
	}
	defer c.finish()
	return c.response(hold)
}

// again reports whether a call may be sent a second time without asking.
func again(q *whittle.Request) bool {
	return replayable(&http.Request{Method: q.Method, Header: http.Header(q.Header)})
}

// hasBody reports whether a method is expected to carry a body, so that its
// absence must be said.
func hasBody(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

func (u *Upstream) callTransport(ctx context.Context, q *whittle.Request, hold *holding) (whittle.Response, error) {
	header := make(http.Header, len(q.Header)+1)
	for name, values := range q.Header {
		if (!httpfield.HopByHop(name) || name == "Te") && name != "Content-Length" && name != "Expect" && name != "Host" {
			header[name] = values
		}
	}
	out, err := u.request(q.Method, q.Target, q.Host, header)
	if err != nil {
		return whittle.Response{}, err
	}
	out.ContentLength, out.Body = int64(len(q.Body)), http.NoBody
	if len(q.Body) > 0 {
		out.Body = io.NopCloser(bytes.NewReader(q.Body))
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(q.Body)), nil }
	}
	way := wayKept
	if !again(q) {
		way = wayOnce
	}
	if err := u.slots.acquire(ctx, hold.aside); err != nil {
		return whittle.Response{}, err
	}
	resp, i, err := u.roundTrip(out.WithContext(ctx), way, hold.aside) //nolint:bodyclose // Response.Close does
	if err != nil {
		u.slots.release()
		return whittle.Response{}, err
	}
	a := newResponse(resp, nil, &u.patience) // the whole call has its deadline
	a.held = &lease{&u.slots, i}
	defer a.Close()
	w := whittle.Response{Status: a.Status, Header: a.Header()}
	if a.Length > hold.limit && q.Method != http.MethodHead {
		return w, errResponseSize
	}
	if err := hold.read(a.body); err != nil {
		return w, err
	}
	w.Body = hold.body
	if fields := a.Trailer(); len(fields) > 0 {
		w.Trailer = whittle.Header(fields)
	}
	return w, nil
}

// pace bounds how fast responses are read that no user waits for, all of them together.
// A candidate that floods every mirrored request would otherwise take the processors
// from users' requests. Work is counted as time: a byte as a nanosecond, and a
// stretch of content, such as a chunk of a few bytes, as pieceWork more. That is several
// times what it takes.
type pace struct {
	from time.Time
	due  atomic.Int64 // when the work so far would have been done, in ns from then on
}

const (
	pieceWork = 256 * time.Nanosecond
	// stretch is the work after which a reader looks whether it has to wait. Responses
	// that take less do not count.
	stretch = 64 << 10 * time.Nanosecond
	// ahead is how much sooner than due work may be done.
	ahead = time.Millisecond
)

var asides = pace{from: time.Now()}

// add counts work, and says how long whoever has done it must wait.
func (p *pace) add(at time.Time, work time.Duration) time.Duration {
	now := at.Sub(p.from)
	for {
		due := p.due.Load()
		next := max(due, int64(now)) + int64(work)
		if p.due.CompareAndSwap(due, next) {
			return time.Duration(next) - now - ahead
		}
	}
}

// paced counts a reader's work.
type paced struct {
	ctx   context.Context //nolint:containedctx // the call's
	pace  *pace
	work  time.Duration // that was not looked at yet
	waits time.Duration // in all
}

// did counts so many bytes in so many stretches, and waits where all are too fast. The
// error is errNoSpare where the call would end meanwhile: that is not the upstream's failure.
func (r *paced) did(bytes, stretches int) error {
	if r.work += time.Duration(bytes) + time.Duration(stretches)*pieceWork; r.work < stretch {
		return nil
	}
	now := time.Now()
	wait := r.pace.add(now, r.work)
	if r.work = 0; wait <= 0 {
		return nil
	}
	if end, ok := r.ctx.Deadline(); ok && end.Sub(now) <= wait {
		return errNoSpare
	}
	notify.Sleep(r.ctx, wait)
	r.waits += time.Since(now)
	return r.ctx.Err()
}
