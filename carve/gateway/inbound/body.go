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

	// gate holds back who reads; nil: nothing does. awaiting are those who wait for
	// something to come, which waitFor starts: Detach ends their waiting.
	gate     chan struct{}
	awaiting sync.WaitGroup

	mu       sync.Mutex // guards the following
	open     bool       // the gate is
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

// Gate holds back who reads the body, which has a 100 sent to the client, until Open,
// or Detach, or something of it comes by itself.
func (b *Body) Gate() {
	b.gate = make(chan struct{})
	c, ok := b.conn.(*listener.Conn)
	if !ok {
		return
	}
	if !b.waitFor(func() {
		c.Await(b.gated)
		b.Open()
	}) {
		b.Open()
	}
}

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

// gated reports whether the gate is still closed.
func (b *Body) gated() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.open
}

// Open ends what Gate began.
func (b *Body) Open() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opens()
}

// opens is Open. The caller holds mu.
func (b *Body) opens() {
	if b.gate != nil && !b.open {
		b.open = true
		close(b.gate)
	}
}

// Await waits until the body may be read. False: over was closed before.
func (b *Body) Await(over <-chan struct{}) bool {
	if b.gate == nil || !b.gated() {
		return true
	}
	select {
	case <-b.gate:
		return true
	case <-over:
		return false
	}
}

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	b.Await(nil)
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
	b.opens()
	b.held.Drop()
	if b.done {
		return
	}
	if b.conn != nil {
		b.conn.EndRequests()
	}
	if b.reading || b.gate != nil {
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
