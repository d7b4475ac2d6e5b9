package inbound

import (
	"errors"
	"io"
	"slices"
	"sync"
	"time"
)

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
