package h2

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/http2/hpack"

	"whittle/internal/conns"
	"whittle/internal/lifetime"
)

// conn is a client's connection. What stands above mu belongs to the goroutine that reads.
type conn struct {
	s      *Server
	net    net.Conn
	tls    *tls.ConnectionState
	values lifetime.Values
	remote string

	input    input
	dec      *hpack.Decoder
	head     headBlock
	names    map[string]string // of fields, as net/http has them
	greeted  bool              // the client's settings have come
	begun    time.Time         // when the header block that has not come whole began; zero: there is none
	lastRead time.Time
	pinged   time.Time // when the client was asked whether it is there; zero: not since it sent something

	mu      sync.Mutex // guards the following
	streams map[uint32]*stream
	last    uint32 // the highest stream that was begun
	// handlers run; waiting are streams whose handler has to wait for one of them to end.
	handlers int
	waiting  []*stream
	// jobs counts what runs for the connection on other goroutines; changed is told when
	// it falls, and when a write has ended.
	jobs    int
	changed sync.Cond
	output
	// window is how much of bodies the client takes, startsWith what it takes of a new
	// stream's.
	window, startsWith int64
	// left is how much of bodies the client may send, credit what it is to be told of, extra
	// what of both is beyond connWindow less what is held, and grown what its streams have.
	left, credit, extra, grown int
	// sent is how much of bodies was put there for the client, and sentBefore how much of it
	// when it was asked whether it is there.
	sent, sentBefore int64
	budget           int // of frames that ask for nothing
	refilled         time.Time
	idleSince        time.Time
	inForce          time.Time // the read deadline
	departure        departure
	leftAt           time.Time            // when the last step of that was
	begins           time.Time            // when a client that is to go began its last stream; zero: it began none
	resets           [recentResets]uint32 // streams that were reset here
	resetAt          int
	err              error // why the connection has ended
}

const (
	// bodyWindow is how much of a stream's body is held at first, mostWindow how much at
	// most, where it is read as it comes. The streams of a connection have mostGrown more
	// than at first, in all.
	bodyWindow = 256 << 10
	mostWindow = 1 << 20
	mostGrown  = 1 << 20
	// connWindow is how much of bodies is held of a connection, mostExtra how much more as
	// long as the server's budget has room: uploads that nobody reads leave others room.
	connWindow = 1 << 20
	mostExtra  = 3 << 20
	// fullBudget is how many frames that ask for nothing a client may send, beyond
	// perUseful for each that carries something and perSecond.
	fullBudget = 10_000
	perUseful  = 4
	perSecond  = 10
	// queued is how many more requests wait for a handler than may run, for as long as
	// clients take theirs back faster than handlers notice.
	queued = 4
	// recentResets is how many streams are remembered for what was on its way to them.
	recentResets = 256
	// lingerIdle, lingerTotal and lingerMost bound what a client goes on sending of a request
	// that has its response: without a byte, in all, and how much.
	lingerIdle  = 5 * time.Second
	lingerTotal = 30 * time.Second
	lingerMost  = 1 << 30
)

// errDone ends a connection whose client was told to go.
var errDone = errors.New("the connection is done")

// errGone is what handlers see of a connection that has ended.
var errGone = errors.New("the client has gone")

func newConn(s *Server, c net.Conn, state *tls.ConnectionState, values lifetime.Values) *conn {
	now := time.Now()
	n := &conn{
		s: s, net: c, tls: state, values: values, remote: c.RemoteAddr().String(), begun: now, lastRead: now, idleSince: now,
		streams: map[uint32]*stream{}, window: startWindow, startsWith: startWindow, left: connWindow, budget: fullBudget, refilled: now,
	}
	n.changed.L = &n.mu
	n.dec = hpack.NewDecoder(tableSize, n.takeField)
	n.enc = hpack.NewEncoder(&n.output)
	n.permit()
	return n
}

// permit says what the client may do. It comes before all else, also where the connection
// is to leave at once.
func (c *conn) permit() {
	settings := []struct {
		id    uint16
		value int
	}{{settingStreams, c.s.c.Streams}, {settingInitialWindow, bodyWindow}, {settingHeaderList, c.s.c.headerList()}}
	var b []byte
	for _, s := range settings {
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, s.id), uint32(s.value))
	}
	c.frame(frameSettings, 0, 0, b...)
	c.numbers(frameWindowUpdate, 0, connWindow-startWindow)
}

// serve reads frames until the connection ends.
func (c *conn) serve() {
	err := c.greet()
	for err == nil {
		var f frame
		if f, err = c.next(); err == nil {
			err = c.take(&f)
		}
	}
	c.finish(err)
}

// greet reads how the client begins.
func (c *conn) greet() error {
	for {
		got := c.input.unread()
		n := min(len(got), len(preface))
		if string(got[:n]) != preface[:n] {
			return connError{codeProtocol, "what came first is no HTTP/2"}
		}
		if n == len(preface) {
			c.input.use(n)
			return nil
		}
		if err := c.fill(); err != nil {
			return err
		}
	}
}

// next reads a frame.
func (c *conn) next() (f frame, err error) {
	for {
		got := c.input.unread()
		if len(got) >= frameHead {
			n := int(got[0])<<16 | int(got[1])<<8 | int(got[2])
			if n > maxFrame {
				return f, connError{codeFrameSize, "a frame is longer than the settings allow"}
			}
			f = frame{kind: got[3], flags: got[4], stream: binary.BigEndian.Uint32(got[5:]) & (1<<31 - 1)}
			if len(got) >= frameHead+n {
				f.payload = got[frameHead:][:n]
				c.input.use(frameHead + n)
				return f, nil
			}
			if f.kind == frameHeaders && c.begun.IsZero() {
				c.begun = time.Now()
			}
		}
		if err := c.fill(); err != nil {
			return f, err
		}
	}
}

// fill reads more from the client, after what there is to say has been said.
func (c *conn) fill() error {
	for {
		if err := c.beforeRead(); err != nil {
			return err
		}
		n, err := c.input.read(c.net)
		if n > 0 {
			c.lastRead, c.pinged = time.Now(), time.Time{}
			return nil
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			if err := c.silent(time.Now()); err != nil {
				return err
			}
		case err != nil:
			return err
		}
	}
}

// beforeRead writes what there is to say, and sets the deadline for what the client says
// next. While a client takes nothing, nothing more is read of it.
func (c *conn) beforeRead() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.push()
	for len(c.pending()) >= 2*highWater && c.broken == nil { // responses alone do not come as far
		c.changed.Wait()
	}
	switch {
	case c.broken != nil:
		return c.broken
	case c.departure == goes && len(c.streams) == 0:
		return errDone
	}
	c.input.idle = len(c.streams) == 0 && !c.head.open
	until, slack := c.until()
	if early := until.Sub(c.inForce); early >= 0 && early <= slack {
		return nil
	}
	c.inForce = until
	return c.net.SetReadDeadline(until)
}

// until gives the deadline for reading, and by how much an earlier one does. The caller
// holds mu.
func (c *conn) until() (until time.Time, slack time.Duration) {
	s := &c.s.c
	switch {
	case !c.begun.IsZero():
		until = c.begun.Add(s.HeaderTimeout)
	case c.departure == leaves:
		until = c.leftAt.Add(departTime)
	case c.departure == isToGo && !c.begins.IsZero():
		until = c.begins.Add(lullTime)
	case len(c.streams) == 0:
		until, slack = c.idleSince.Add(s.IdleTimeout), s.IdleTimeout/8
	case !c.pinged.IsZero():
		until = c.pinged.Add(s.StallTimeout / 2)
	default:
		until, slack = c.lastRead.Add(s.StallTimeout/2), s.StallTimeout/8
	}
	return until, slack
}

// silent decides what becomes of a client that has sent nothing until the deadline.
func (c *conn) silent(now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inForce = time.Time{}
	switch until, _ := c.until(); {
	case now.Before(until):
		return nil // it was another's deadline, or an earlier one's
	case !c.begun.IsZero() && len(c.streams) == 0 && !c.greeted:
		return os.ErrDeadlineExceeded // nobody is there who would understand more
	case !c.begun.IsZero():
		return connError{codeCalm, "a header takes too long"}
	case c.departure == leaves:
		c.depart()
		return nil
	case c.departure == isToGo && !c.begins.IsZero(), len(c.streams) == 0:
		c.tellToLeave() // a request may be on its way
		return nil
	case !c.pinged.IsZero() && c.sent == c.sentBefore:
		return os.ErrDeadlineExceeded
	case !c.pinged.IsZero(): // what it takes may stand before the ping
		c.pinged, c.sentBefore = now, c.sent
		return nil
	}
	c.pinged, c.sentBefore = now, c.sent
	c.frame(framePing, 0, 0, []byte("are you?")...)
	return nil
}

// rouse has the reading goroutine look at a time, if nothing comes until then. The caller
// holds mu.
func (c *conn) rouse(at time.Time) {
	if c.inForce.IsZero() || at.Before(c.inForce) {
		c.inForce = at
		_ = c.net.SetReadDeadline(at) // it fails where the read does
	}
}

// cut closes the connection under whoever uses it; any goroutine may call it.
func (c *conn) cut() { conns.Cut(c.net) }

// finish ends the connection, and waits for what runs for it.
func (c *conn) finish(err error) {
	c.mu.Lock()
	fault, bad := errors.AsType[connError](err)
	if bad {
		c.s.c.Logf("%s: %v", c.remote, err)
		c.numbers(frameGoAway, 0, c.last, uint32(fault.code))
	}
	c.err = err
	for _, st := range c.streams {
		c.drop(st, errGone)
	}
	c.waiting = nil
	c.releaseExtra(c.extra)
	polite := (bad || errors.Is(err, errDone)) && c.broken == nil
	if polite {
		c.push()
		for c.writing {
			c.changed.Wait()
		}
	}
	c.mu.Unlock()
	if polite {
		c.linger()
		_ = c.net.Close() // nothing is outstanding on it
	} else {
		c.cut()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.jobs > 0 {
		c.changed.Wait()
	}
	c.input.release()
	c.free()
}

// begin begins a stream: its handler runs as soon as fewer than Streams do. The caller
// holds mu.
func (c *conn) begin(st *stream) error {
	c.streams[st.id] = st
	if c.departure == isToGo {
		if c.begins = time.Now(); c.begins.Sub(c.leftAt) >= pauseTime {
			c.tellToLeave()
		} else {
			c.rouse(c.begins.Add(lullTime))
		}
	}
	if c.handlers < c.s.c.Streams {
		c.start(st)
		return nil
	}
	if len(c.waiting) >= queued*c.s.c.Streams {
		return connError{codeCalm, "requests are taken back faster than they end"}
	}
	c.waiting = append(c.waiting, st)
	return nil
}

func (c *conn) start(st *stream) {
	st.started = true
	c.handlers++
	c.jobs++
	c.s.run(job{stream: st})
}

// handled counts a handler that has returned, and starts the next. The caller holds mu.
func (c *conn) handled() {
	c.handlers--
	for len(c.waiting) > 0 {
		st := c.waiting[0]
		c.waiting[0] = nil
		c.waiting = c.waiting[1:]
		if st.gone == nil {
			c.start(st)
			return
		}
	}
	c.waiting = nil
}

// ended counts a job that has ended. The caller holds mu.
func (c *conn) ended() {
	c.jobs--
	c.changed.Broadcast()
}

// drop forgets a stream, whose handler may still run and sees err. The caller holds mu.
func (c *conn) drop(st *stream, err error) {
	if st.gone != nil {
		return
	}
	st.gone = err
	if st.lingers != nil {
		st.lingers.Stop()
	}
	c.giveBack(st.in.len())
	c.grown -= st.grown
	st.in, st.grown = queue{}, 0
	if !st.started {
		st.r = nil // it may wait for long to be passed over
	}
	delete(c.streams, st.id)
	st.Cancel()
	st.came.Broadcast()
	st.may.Broadcast()
	if len(c.streams) > 0 {
		return
	}
	c.idleSince = time.Now()
	switch c.departure {
	case goes:
		c.rouse(c.idleSince)
	case isToGo:
		if c.err == nil {
			c.dismiss()
		}
	case stays, leaves:
		c.rouse(c.idleSince.Add(c.s.c.IdleTimeout))
	}
}

// reset ends a stream here. The caller holds mu.
func (c *conn) reset(st *stream, code errCode) {
	c.sendReset(st.id, code)
	c.drop(st, streamError{st.id, code})
}

// sendReset tells the client that a stream has ended, which may not be one. The caller
// holds mu.
func (c *conn) sendReset(id uint32, code errCode) {
	c.numbers(frameReset, id, uint32(code))
	c.resets[c.resetAt] = id
	c.resetAt = (c.resetAt + 1) % recentResets
}

// wasReset reports whether frames of a stream may be on their way because the client
// does not know yet that it has ended. The caller holds mu.
func (c *conn) wasReset(id uint32) bool {
	return slices.Contains(c.resets[:], id)
}

// giveBack lets the client send n more bytes of bodies for as many that were held, or releases
// as much of the extra window. The caller holds mu.
func (c *conn) giveBack(n int) {
	back := min(n, c.extra)
	c.releaseExtra(back)
	c.replenish(n - back)
}

// replenish lets the client send n more bytes of bodies. The caller holds mu.
func (c *conn) replenish(n int) {
	if c.credit += n; c.credit >= connWindow/2 || c.left < connWindow/4 && c.credit >= maxFrame {
		c.numbers(frameWindowUpdate, 0, uint32(c.credit))
		c.left += c.credit
		c.credit = 0
		c.wake()
	}
}

// widen lets the client send n bytes more for as many that are held, where the window is
// running out and the server's budget has room. The caller holds mu.
func (c *conn) widen(n int) {
	if c.left+c.credit < connWindow*3/4 && c.extra+n <= mostExtra && c.s.acquireExtra(n) {
		c.extra += n
		c.replenish(n)
	}
}

// releaseExtra releases as much of the server's budget. The caller holds mu.
func (c *conn) releaseExtra(n int) {
	c.extra -= n
	c.s.extra.Add(-int64(n))
}

// input is what was read of a connection and not used.
type input struct {
	buf      *[inputSize]byte // nil: nothing is held
	from, to int
	// idle says that nothing is under way: no buffer is held until something comes.
	idle  bool
	first [64]byte
}

// inputSize is room for the longest frame, and for some behind it.
const inputSize = maxFrame + 4<<10

var inputs = sync.Pool{New: func() any { return new([inputSize]byte) }}

func (i *input) unread() []byte {
	if i.buf == nil {
		return nil
	}
	return i.buf[i.from:i.to]
}

func (i *input) use(n int) { i.from += n }

func (i *input) release() {
	if i.buf != nil {
		inputs.Put(i.buf)
		i.buf, i.from, i.to = nil, 0, 0
	}
}

// read reads more behind what is there.
func (i *input) read(from io.Reader) (n int, err error) {
	if i.from == i.to {
		i.from, i.to = 0, 0
		if i.idle {
			i.release()
			if n, err = from.Read(i.first[:]); n > 0 {
				i.take()
				i.to = copy(i.buf[:], i.first[:n])
			}
			return n, err
		}
	}
	i.take()
	if i.from > 0 {
		i.to = copy(i.buf[:], i.buf[i.from:i.to])
		i.from = 0
	}
	n, err = from.Read(i.buf[i.to:])
	i.to += n
	return n, err
}

func (i *input) take() {
	if i.buf == nil {
		i.buf = inputs.Get().(*[inputSize]byte)
	}
}

// output is what is to be written to a connection.
type output struct {
	out     *buffer // nil: nothing
	writing bool    // somebody writes, and will write what is put there meanwhile
	broken  error   // writing has failed
	enc     *hpack.Encoder
	// senders wait for room or for the connection's window, the first one first.
	// Those with a header come before those with more of a body.
	senders []*stream
}

// buffer is memory for frames.
type buffer struct{ b []byte }

const (
	// highWater is how much may wait to be written before those who send more wait; at
	// twice as much nothing more is read.
	highWater = 64 << 10
	// keptBuffer is the largest buffer that is kept.
	keptBuffer = 2 * highWater
	// rounds is how often a request's goroutine writes before another takes over.
	rounds = 4
)

var buffers = sync.Pool{New: func() any { return &buffer{make([]byte, 0, 4<<10)} }}

// buffer is the buffer for the next bytes to write. The caller holds mu.
func (o *output) buffer() *buffer {
	if o.out == nil {
		o.out = buffers.Get().(*buffer)
	}
	return o.out
}

func (o *output) pending() []byte {
	if o.out == nil {
		return nil
	}
	return o.out.b
}

func (o *output) free() {
	if o.out != nil {
		o.out.release()
		o.out = nil
	}
}

func (b *buffer) release() {
	if cap(b.b) <= keptBuffer {
		b.b = b.b[:0]
		buffers.Put(b)
	}
}

// Write takes what the encoder of headers puts out.
func (o *output) Write(p []byte) (int, error) {
	o.out.b = append(o.out.b, p...)
	return len(p), nil
}

// appendHead puts a header there, and reports whether it could. The caller holds mu.
func (o *output) appendHead(stream uint32, endStream bool, fields []hpack.HeaderField) {
	b := o.buffer()
	at := len(b.b)
	b.b = append(b.b, make([]byte, frameHead)...)
	for _, f := range fields {
		_ = o.enc.WriteField(f) // Write does not fail
	}
	flags := flagEndHeaders
	if endStream {
		flags |= flagEndStream
	}
	block := b.b[at+frameHead:]
	if len(block) <= maxFrame {
		appendFrameHead(b.b[:at], len(block), frameHeaders, flags, stream)
		return
	}
	block = bytes.Clone(block)
	b.b = b.b[:at]
	kind := frameHeaders
	for flags &^= flagEndHeaders; len(block) > 0; kind, flags = frameContinuation, 0 {
		n := min(len(block), maxFrame)
		if n == len(block) {
			flags |= flagEndHeaders
		}
		o.frame(kind, flags, stream, block[:n]...)
		block = block[n:]
	}
}

// push writes all that is buffered, unless another goroutine is writing, which then writes this
// as well. After
// some rounds another goroutine goes on. The caller holds mu, which is not held while the
// client is waited for.
func (c *conn) push() {
	if c.writing {
		return
	}
	c.writing = true
	for round := 0; len(c.pending()) > 0 && c.broken == nil; round++ {
		if round == rounds {
			c.jobs++
			c.s.run(job{conn: c})
			return
		}
		c.writeOnce()
	}
	c.writing = false
	c.changed.Broadcast()
}

// wake has another goroutine write what is there. The caller holds mu.
func (c *conn) wake() {
	if !c.writing && len(c.pending()) > 0 && c.broken == nil {
		c.writing = true
		c.jobs++
		c.s.run(job{conn: c})
	}
}

// writeAll is what wake begins.
func (c *conn) writeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.pending()) > 0 && c.broken == nil {
		c.writeOnce()
	}
	c.writing = false
	c.ended()
}

// writeOnce writes what is there now. The caller holds mu, and writing is set.
func (c *conn) writeOnce() {
	b := c.out
	c.out = nil
	c.mu.Unlock()
	_, err := c.net.Write(b.b)
	b.release()
	c.mu.Lock()
	if err != nil {
		c.broken = err
		c.cut() // who reads ends the connection
	}
	c.changed.Broadcast()
	c.wakeSender()
}
