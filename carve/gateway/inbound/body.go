package inbound

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"whittle/carve/gateway/bodycopy"
	"whittle/carve/gateway/listener"
)

// What goes wrong with a request's body on the client's side.
var (
	ErrTooLarge = errors.New("the request body is larger than allowed")
	errDetached = errors.New("the request has ended")
)

// Tap sees a request's body go by.
type Tap interface {
	// RequestBody gets the body piece by piece, as it is read. It must not block
	// and keeps no piece.
	RequestBody(p []byte)
}

// Body is a client's request body on its way upstream. It has a limit and a stall
// timeout, and passes its bytes to the tap. Detach ends every further read, because
// net/http may still be reading when the request is over.
type Body struct {
	// conn is the client's; nil as in Facts.
	conn  listener.Client
	w     http.ResponseWriter
	rc    io.ReadCloser
	stall time.Duration
	tap   Tap // nil: nobody does
	// trailer is the request's, which the body's end fills in; announced are the names
	// of those that go on.
	trailer   http.Header
	announced []string

	// awaiting are those who wait for something to come, which waitFor starts: Detach ends
	// their waiting.
	awaiting sync.WaitGroup

	mu       sync.Mutex // guards the following
	left     int64      // bytes still allowed; negative from the start: any number
	reading  bool
	since    time.Time     // when the last read began
	waited   time.Duration // in the reads before it
	last     time.Time     // when a read ended, or the body began
	detached bool
	done     bool // the body's end has been read
	err      error
	held     bodycopy.Queue // what Hold has read, and nobody since
}

// NewBody gives the body of q, whose response goes to w. limit bounds its bytes
// (negative: any number), stall each wait for the next of them. A nil tap sees
// nothing.
func NewBody(w http.ResponseWriter, q *Request, limit int64, stall time.Duration, tap Tap) *Body {
	b := &Body{conn: q.Conn, w: w, rc: q.Body, left: limit, stall: stall, tap: tap, last: time.Now()}
	if q.Trailer != nil {
		b.trailer, b.announced = q.Trailer, slices.Collect(maps.Keys(q.Trailer))
	}
	return b
}

// Hold reads the body ahead into q, to its end or as far as there is room, so that
// meanwhile no upstream has to wait for the client. It comes before any Read. Its error
// is the body's.
func (b *Body) Hold(q bodycopy.Queue) error {
	for {
		room := q.Room(nextRead)
		if len(room) == 0 {
			break
		}
		n, err := b.readOn(room)
		q.Filled(n)
		if err != nil {
			break
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = q
	return b.err
}

// nextRead is how much is read ahead at a time.
const nextRead = 32 << 10

// waitFor runs f on a goroutine that Detach waits for. False: the body was detached
// before, and f does not run.
func (b *Body) waitFor(f func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.detached {
		b.awaiting.Go(f)
	}
	return !b.detached
}

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	if n, ok, err := b.readHeld(p); ok {
		return n, err
	}
	return b.readOn(p)
}

// readHeld is Read from what is held; false: nothing is.
func (b *Body) readHeld(p []byte) (n int, ok bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held.Len() == 0 {
		return 0, false, nil
	}
	n = b.held.Read(p)
	b.last = time.Now()
	if b.held.Len() == 0 && b.done {
		err = io.EOF
	}
	return n, true, err
}

// readOn reads from the client. It gives one byte more than allowed a chance to
// come, to distinguish a body of the limit's length from a longer one.
func (b *Body) readOn(p []byte) (int, error) {
	bounded, err := b.enter(len(p))
	if err != nil {
		return 0, err
	}
	if bounded > 0 {
		p = p[:bounded]
	}
	b.deadline(b.since.Add(b.stall))
	n, err := b.rc.Read(p)
	return b.finishRead(p, n, err)
}

func (b *Body) enter(room int) (bounded int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.detached:
		return 0, errDetached
	case b.err != nil:
		return 0, b.err
	case b.done:
		return 0, io.EOF
	}
	b.reading, b.since = true, time.Now()
	if b.left >= 0 && int64(room) > b.left+1 {
		return int(b.left + 1), nil
	}
	return 0, nil
}

func (b *Body) finishRead(p []byte, n int, err error) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reading, b.last = false, time.Now()
	b.waited += b.last.Sub(b.since)
	if b.detached {
		return 0, errDetached
	}
	if b.left >= 0 {
		if int64(n) > b.left {
			b.err = ErrTooLarge
			return 0, b.err
		}
		b.left -= int64(n)
	}
	if b.tap != nil && n > 0 {
		b.tap.RequestBody(p[:n])
	}
	b.deadline(time.Time{}) // left behind, it would cut whatever reads next
	if err != nil {
		if b.done = errors.Is(err, io.EOF); !b.done {
			b.err = err
		}
		maps.DeleteFunc(b.trailer, func(name string, _ []string) bool { return !slices.Contains(b.announced, name) })
	}
	return n, err
}

// Close implements io.Closer. The client's body itself is the server's to
// close.
func (b *Body) Close() error {
	b.Detach()
	return nil
}

// Detach ends every further use of the client's body, and wakes a reader that
// is waiting for more of it. What is left of the body must not be taken for the
// next request, as net/http would after a read that failed, so an HTTP/1.1
// connection takes no further one.
func (b *Body) Detach() {
	b.detach()
	b.awaiting.Wait()
}

func (b *Body) detach() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.detached {
		return
	}
	b.detached = true
	b.held.Drop()
	if b.done {
		return
	}
	if b.conn != nil {
		b.conn.EndRequests()
	}
	if b.reading {
		b.deadline(time.Now())
	}
}

// Waiting is how long the client has been waited for so far.
func (b *Body) Waiting() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reading {
		return b.waited + time.Since(b.since)
	}
	return b.waited
}

// Awaited is how long the client has been waited for so far; 0 while it is not.
func (b *Body) Awaited() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.reading {
		return 0
	}
	return b.waited + time.Since(b.since)
}

// Hurry ends a wait for the client, as if it had stalled.
func (b *Body) Hurry() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reading {
		b.deadline(time.Now())
	}
}

// Untaken is for how long nobody has asked for more of the body; 0 while the client
// is waited for.
func (b *Body) Untaken() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reading {
		return 0
	}
	return time.Since(b.last)
}

// Ended reports whether all of the body has been read.
func (b *Body) Ended() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.done
}

// deadline is for the client's connection, or its stream in HTTP/2. Not every
// ResponseWriter has one; those that have not do not wait for a network.
func (b *Body) deadline(t time.Time) { _ = http.NewResponseController(b.w).SetReadDeadline(t) }

// Err is what went wrong on the client's side of the body; nil: nothing.
func (b *Body) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// Kept keeps the first bytes of a body for whoever reads it from its beginning. It
// reads on a goroutine of the body's, so that nobody has to wait for the client longer
// than he wants to.
type Kept struct {
	body *Body
	most int

	mu       sync.Mutex // guards the following
	data     []byte
	reading  chan struct{} // is closed when there is more; nil: nothing is read
	finished bool          // by err
	err      error
}

// Keep gives a Kept of at most so many bytes. The body is read by nothing else until
// those are full.
func (b *Body) Keep(most int) *Kept { return &Kept{body: b, most: most} }

// Errors of Kept.ReadFrom.
var (
	ErrKeptFull = errors.New("no more of the body is kept")
	ErrStopped  = errors.New("the wait for the body was stopped")
)

// ReadFrom reads what follows the first at bytes, and waits for it until stop. It ends
// with the body's error, ErrKeptFull or ErrStopped.
func (k *Kept) ReadFrom(at int, p []byte, stop <-chan struct{}) (int, error) {
	for {
		n, more, err := k.copy(at, p)
		if more == nil {
			return n, err
		}
		select {
		case <-more:
		case <-stop:
			return 0, ErrStopped
		}
	}
}

// copy copies what there is; more is nil, or is closed when there is more.
func (k *Kept) copy(at int, p []byte) (n int, more <-chan struct{}, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case at < len(k.data):
		return copy(p, k.data[at:]), nil, nil
	case !k.finished && k.reading == nil && len(k.data) >= k.most:
		return 0, nil, ErrKeptFull
	case !k.finished && k.reading == nil:
		k.read()
	}
	if k.finished {
		return 0, nil, k.err
	}
	return 0, k.reading, nil
}

// read reads on, or finishes where the body is detached. The caller holds mu.
func (k *Kept) read() {
	begin := len(k.data)
	k.data = slices.Grow(k.data, min(max(begin, 4<<10), k.most-begin))
	room := k.data[begin:min(cap(k.data), k.most)]
	more := make(chan struct{})
	k.reading = more
	reads := k.body.waitFor(func() {
		n, err := k.body.Read(room)
		k.mu.Lock()
		defer k.mu.Unlock()
		k.data = k.data[:begin+n]
		k.finished, k.err = err != nil, err
		k.reading = nil
		close(more)
	})
	if !reads {
		k.finished, k.err, k.reading = true, errDetached, nil
	}
}

// Fill reads until the body's end, until no more is kept (ErrKeptFull), or until nothing
// has come for pause (ErrStopped). It gives what there is.
func (k *Kept) Fill(pause time.Duration) ([]byte, error) {
	stop := make(chan struct{})
	silent := time.AfterFunc(pause, func() { close(stop) })
	defer silent.Stop()
	piece := make([]byte, 1) // what is there is not to be copied
	for {
		at := k.len()
		if _, err := k.ReadFrom(at, piece, stop); err != nil {
			k.mu.Lock()
			defer k.mu.Unlock()
			return k.data, err
		}
		if silent.Stop() {
			silent.Reset(pause)
		}
	}
}

func (k *Kept) len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.data)
}

// Drop frees what is kept.
func (k *Kept) Drop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.data = nil
}

// Reader reads the body from its beginning: what is kept, and then what is left. It is
// closed by whoever detaches the body.
func (k *Kept) Reader() io.ReadCloser { return &keptReader{k: k} }

type keptReader struct {
	k    *Kept
	at   int
	past bool // what is kept
}

// Read implements io.Reader.
func (r *keptReader) Read(p []byte) (int, error) {
	if !r.past {
		n, err := r.k.ReadFrom(r.at, p, nil)
		if r.at += n; !errors.Is(err, ErrKeptFull) {
			return n, err
		}
		r.past = true
		r.k.Drop()
	}
	return r.k.body.Read(p)
}

// Close implements io.Closer.
func (r *keptReader) Close() error { return nil }
