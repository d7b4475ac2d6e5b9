package h2

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"

	"whittle/internal/conns"
	"whittle/internal/lifetime"
)

// stream is one request with its response. It is the request's context.
type stream struct {
	lifetime.Context

	c    *conn
	id   uint32
	r    *http.Request
	w    writer
	body body
	// refused is the status that the request gets here; 0: the handler responds.
	refused int

	// What follows is guarded by the connection's mu. gone is why nobody takes the response
	// any more, and nothing more of the request comes; nil: neither.
	gone    error
	started bool // the handler was
	// in is what has come of the request's body; came is told of more. whole says that all
	// has.
	in    queue
	came  sync.Cond
	whole bool
	// length is the body's as announced, -1: it was not; received is how much has come.
	length, received int64
	trailer          http.Header
	continues        bool // the client waits for a 100
	unwanted         bool // nobody reads the body
	// lingers is running when the response has ended before the request: until then the
	// client may end it.
	lingers *time.Timer
	// left is how much of the body the client may send, credit what it is to be told of, and
	// grown how much more may be held than at first.
	left, credit, grown int
	// window is how much of the response's body the client takes; may is told of more, and
	// when it is the stream's turn.
	window int64
	may    sync.Cond
	waits  bool // it is among the senders
	ofBody bool // what it waits to send is of the body

	readUntil, writeUntil time.Time // zero: for ever
}

// serve has the handler respond.
func (st *stream) serve() {
	whole := st.handle()
	if whole && st.w.status == 0 {
		st.w.WriteHeader(http.StatusOK)
	}
	st.Cancel()
	c := st.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if st.gone == nil {
		st.end(whole)
	}
	c.handled()
	c.push()
	c.ended()
}

// handle calls the handler. False: it panicked, and the response is not whole.
func (st *stream) handle() (whole bool) {
	if st.refused != 0 {
		st.w.Header()["Content-Type"] = []string{"text/plain; charset=utf-8"}
		st.w.WriteHeader(st.refused)
		_, _ = st.w.Write([]byte(http.StatusText(st.refused) + "\n")) // held
		return true
	}
	return conns.Handle(func() { st.c.s.c.Handler.ServeHTTP(&st.w, st.r) }, st.c.remote, st.c.s.c.Logf)
}

// end ends the stream after its handler. The caller holds mu.
func (st *stream) end(whole bool) {
	c := st.c
	c.useful()
	if st.writeUntil.IsZero() {
		st.writeUntil = time.Now().Add(c.s.c.StallTimeout)
	}
	var err error
	if whole {
		err = st.w.finish()
	}
	switch {
	case st.gone != nil: // while the client was waited for
	case !whole && !st.w.ended, err != nil:
		c.reset(st, codeInternal)
	case !st.whole:
		st.linger()
	default:
		c.drop(st, errHandled)
	}
}

// linger leaves it to the client to end a request whose rest nobody wants: clients that
// send lose a response which a reset follows. It has as long as over HTTP/1.1, while it
// goes on sending, and a moment where the connection is to end. The caller holds mu.
func (st *stream) linger() {
	st.unwant()
	c, seen, idle := st.c, st.received, lingerIdle
	last, end := st.received+lingerMost, time.Now().Add(lingerTotal)
	if c.departure != stays {
		idle = lingerTime
	}
	st.lingers = time.AfterFunc(idle, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch {
		case st.gone != nil:
		case st.received > seen && st.received < last && time.Now().Before(end) && c.departure == stays:
			seen = st.received
			st.lingers.Reset(idle)
		default:
			c.reset(st, codeNone)
			c.wake()
		}
	})
}

// unwant drops what has come of the body and what will come. The caller holds mu.
func (st *stream) unwant() {
	if st.unwanted {
		return
	}
	st.unwanted = true
	st.giveBack(st.in.len())
	st.in = queue{}
	st.came.Broadcast()
}

// responded reports whether the response has ended. The caller holds mu.
func (st *stream) responded() bool { return st.lingers != nil || errors.Is(st.gone, errHandled) }

// errHandled is what is seen of a stream whose handler has returned.
var errHandled = errors.New("the handler has returned")

// takeData takes a piece of the request's body, of a frame of so many bytes. The caller
// holds mu.
func (st *stream) takeData(p []byte, n int, last bool) error {
	c := st.c
	st.left -= n
	st.received += int64(len(p))
	padding := n - len(p)
	if st.lingers == nil && st.length >= 0 && (st.received > st.length || last && st.received < st.length) {
		c.replenish(n)
		return streamError{st.id, codeProtocol}
	}
	if st.unwanted {
		padding = n
	} else {
		st.in.put(p)
		c.widen(len(p))
	}
	st.whole = last
	if padding > 0 {
		st.replenish(padding)
		c.replenish(padding)
	}
	st.tookMore()
	return nil
}

// takeTrailer takes the trailer that ends the request's body. The caller holds mu.
func (st *stream) takeTrailer(h *headBlock) error {
	switch {
	case h.fault != nil:
		return h.fault
	case !h.endStream, h.bad, h.tooLarge, h.has != [4]bool{}, st.length >= 0 && st.received != st.length:
		return streamError{st.id, codeProtocol}
	}
	for _, f := range h.fields {
		name := st.c.canonical(f.Name)
		if !httpguts.ValidTrailerHeader(name) {
			return streamError{st.id, codeProtocol}
		}
		if st.trailer == nil {
			st.trailer = http.Header{}
		}
		st.trailer[name] = append(st.trailer[name], f.Value)
	}
	st.whole = true
	st.tookMore()
	return nil
}

// tookMore says that more of the body has come, and with its end ends a stream that has only
// waited for that. The caller holds mu.
func (st *stream) tookMore() {
	st.came.Broadcast()
	if st.whole && st.lingers != nil {
		st.c.drop(st, errHandled)
	}
}

// giveBack lets the client send n more bytes for as many that were held. The caller holds mu.
func (st *stream) giveBack(n int) {
	st.replenish(n)
	st.c.giveBack(n)
}

// replenish lets the client send n more bytes of the stream. The caller holds mu.
func (st *stream) replenish(n int) {
	c := st.c
	if st.credit += n; st.credit >= bodyWindow/2 && !st.whole && st.gone == nil {
		c.numbers(frameWindowUpdate, st.id, uint32(st.credit))
		st.left += st.credit
		st.credit = 0
		c.wake()
	}
}

// grow lets the client have more of a body under way that is read as fast as it comes: as
// much as was read, within bounds. The caller holds mu.
func (st *stream) grow(n int) {
	more := min(n, mostWindow-bodyWindow-st.grown, mostGrown-st.c.grown)
	if more <= 0 || st.whole || st.gone != nil {
		return
	}
	st.grown += more
	st.c.grown += more
	st.credit += more
}

// wait waits for news until a deadline; the caller finds out which. The caller holds mu,
// which is released while it waits.
func (st *stream) wait(news *sync.Cond, until time.Time) {
	if !until.IsZero() {
		t := time.AfterFunc(time.Until(until), func() {
			st.c.mu.Lock()
			defer st.c.mu.Unlock()
			news.Broadcast()
		})
		defer t.Stop()
	}
	news.Wait()
}

func past(t time.Time) bool { return !t.IsZero() && !time.Now().Before(t) }

// body is a request's body.
type body struct{ st *stream }

// Read implements io.Reader. The end comes with the last bytes wherever it is known by
// then.
func (b *body) Read(p []byte) (int, error) {
	st := b.st
	c := st.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if st.continues {
		st.w.goOn()
	}
	for {
		switch n := st.in.len(); {
		case st.gone != nil:
			return 0, st.failure()
		case st.unwanted:
			return 0, http.ErrBodyReadAfterClose
		case n > 0:
			n = st.in.take(p)
			if st.in.len() == 0 {
				st.grow(n)
			}
			st.giveBack(n)
			if st.in.len() == 0 && st.whole {
				return n, b.end()
			}
			return n, nil
		case st.whole:
			return 0, b.end()
		case len(p) == 0:
			return 0, nil
		case past(st.readUntil):
			return 0, os.ErrDeadlineExceeded
		}
		st.wait(&st.came, st.readUntil)
	}
}

// failure is what reads and writes of a stream that has gone meet.
func (st *stream) failure() error {
	if st.responded() {
		return http.ErrBodyReadAfterClose
	}
	return errors.Join(context.Canceled, st.gone)
}

// end is the end of the body. The trailer has the fields that are announced by now, as in
// net/http: until the end is read the map is the handler's, which may have taken fields out. The
// caller holds mu.
func (b *body) end() error {
	for name, values := range b.st.trailer {
		if _, ok := b.st.r.Trailer[name]; ok {
			b.st.r.Trailer[name] = values
		}
	}
	b.st.trailer = nil
	return io.EOF
}

// Close implements io.Closer: what is left is dropped.
func (b *body) Close() error {
	st := b.st
	st.c.mu.Lock()
	defer st.c.mu.Unlock()
	if st.gone == nil {
		st.unwant()
	}
	return nil
}

// queue is bytes in the order in which they came.
type queue struct {
	b  []byte
	at int
}

// keptQueue is how much memory a queue keeps when it is empty.
const keptQueue = 64 << 10

func (q *queue) len() int { return len(q.b) - q.at }

func (q *queue) put(p []byte) {
	if q.at > 0 && len(q.b)+len(p) > cap(q.b) && q.at >= len(q.b)/2 {
		q.b = q.b[:copy(q.b, q.b[q.at:])]
		q.at = 0
	}
	q.b = append(q.b, p...)
}

func (q *queue) take(p []byte) int {
	n := copy(p, q.b[q.at:])
	if q.at += n; q.at == len(q.b) {
		if cap(q.b) > keptQueue {
			q.b = nil
		}
		q.b, q.at = q.b[:0], 0
	}
	return n
}
