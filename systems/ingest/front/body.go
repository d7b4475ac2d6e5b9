package front

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
)

const slowBodyReason = "the body came slowly, and others waited: come back later"

// read takes the body in as it comes over the wire, within the bounds. It may be
// cut off meanwhile.
func (c *call) read(w http.ResponseWriter, r *http.Request) *refusal {
	c.f.reading.begin(&c.readingSlot, r.RemoteAddr, c.reading, c.began)
	if c.unauthenticated {
		c.f.unauthenticated.begin(&c.unauthenticatedSlot, r.RemoteAddr, c.unauthenticatedHeld, c.began)
	}
	no := c.fill(w, r)
	isCut := c.f.reading.end(&c.readingSlot)
	if c.unauthenticated {
		isCut = c.f.unauthenticated.end(&c.unauthenticatedSlot) || isCut
		c.releaseUnauthenticated()
	}
	if isCut {
		c.f.metrics.cut.Inc()
		c.overloaded = true
		c.last = true // nothing can be read from the connection any more
		return &refusal{status: http.StatusTooManyRequests, reason: slowBodyReason}
	}
	return no
}

// addReceived notes that so much of the body is there.
func (c *call) addReceived(n int) {
	c.readingSlot.arrived.Store(int64(n))
	if c.unauthenticated {
		c.unauthenticatedSlot.arrived.Store(int64(n))
	}
}

func (c *call) fill(w http.ResponseWriter, r *http.Request) *refusal {
	if n := int(r.ContentLength); n > 0 {
		c.wire = slices.Grow(c.wire, n)[:n]
		return badBody(c.fillWhole(r.Body), n)
	}
	most := c.maxWire()
	// Beyond it, net/http gives the client time to read the response:
	// after a 100 Continue it would not by itself, and reset the connection.
	body := http.MaxBytesReader(w, r.Body, int64(most))
	for {
		c.wire = slices.Grow(c.wire, chunk/2)
		n, err := body.Read(c.wire[len(c.wire):cap(c.wire)])
		c.wire = c.wire[:len(c.wire)+n]
		c.addReceived(len(c.wire))
		switch {
		case errors.Is(err, io.EOF) && len(c.wire) == 0:
			return &refusal{status: http.StatusBadRequest, reason: "the body is empty"}
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return badBody(err, most)
		}
		if more := c.cost(min(len(c.wire)+chunk, most)) - c.reading; more > 0 {
			if !c.grow(more) {
				return c.overload()
			}
			c.setAppendBytes(int64(len(c.wire) + chunk))
		}
	}
}

// fillWhole fills wire with all of the body.
func (c *call) fillWhole(body io.Reader) error {
	for have := 0; ; {
		n, err := body.Read(c.wire[have:])
		if have += n; have == len(c.wire) {
			return nil
		}
		if err != nil {
			return err
		}
		c.addReceived(have)
	}
}

// grow takes more room for the body, if there is any.
func (c *call) grow(n int64) bool {
	if c.unauthenticated {
		if !c.f.unauthenticated.grow(&c.unauthenticatedSlot, n) {
			return false
		}
		c.unauthenticatedHeld += n
	}
	if !c.f.reading.grow(&c.readingSlot, n) {
		return false
	}
	c.reading += n
	return true
}

// badBody says what was wrong with a body that did not come in whole.
func badBody(err error, most int) *refusal {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(most)
	}
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
		return &refusal{status: http.StatusRequestTimeout, reason: "the body took too long"}
	}
	return &refusal{status: http.StatusBadRequest, reason: "the body broke off"}
}

func tooLarge(most int) *refusal {
	return &refusal{status: http.StatusRequestEntityTooLarge, reason: fmt.Sprintf("the body is larger than %d bytes", most)}
}

// expansion bounds what the content encoding may make of the body.
func (c *call) expansion() expansion {
	return expansion{size: c.maxContent(), ratio: c.f.limits.Ratio}
}

// maxDecoded is how many bytes may come out of the body that was read.
func (c *call) maxDecoded() int {
	if c.coding == identity {
		return len(c.wire)
	}
	return c.expansion().limit(len(c.wire))
}

// decode undoes the content encoding, for which maxDecoded is reserved.
func (c *call) decode() ([]byte, *refusal) {
	if c.coding == identity {
		c.setAppendBytes(int64(len(c.wire)))
		return c.wire, nil
	}
	e := c.expansion()
	out, err := decode(c.coding, c.decoded, c.wire, e)
	c.decoded = out
	switch {
	case errors.Is(err, errTooLarge):
		return nil, tooLarge(e.size)
	case errors.Is(err, errRatio):
		return nil, &refusal{status: http.StatusRequestEntityTooLarge, reason: err.Error()}
	case err != nil:
		return nil, &refusal{status: http.StatusBadRequest, reason: err.Error()}
	case len(out) == 0:
		return nil, &refusal{status: http.StatusBadRequest, reason: "the body is empty"}
	}
	rest := c.working - c.cost(len(out))
	c.f.working.Release(rest)
	c.working -= rest
	c.setAppendBytes(int64(len(out)))
	return out, nil
}

// cost is what a body of so many bytes takes of a budget. Events are made anew
// out of theirs, in memory that the scratch has from the request before; a body
// that is kept as it is costs nothing more.
func (c *call) cost(body int) int64 {
	if c.json {
		body *= 2
	}
	return int64(body + requestOverhead)
}

// acquireWorking takes the call's part of what may be worked on at once. It waits for that
// with nothing to give that others of its kind wait for, so that they cannot
// wait for each other.
func (c *call) acquireWorking(n int64) bool {
	if !c.f.working.TryAcquire(n) {
		ctx, cancel := context.WithTimeout(context.Background(), c.f.limits.Wait)
		defer cancel()
		if c.f.working.Acquire(ctx, n) != nil {
			return false
		}
	}
	c.working = n
	return true
}

// setAppendBytes says how many bytes of the call are on their way to the stream.
func (c *call) setAppendBytes(n int64) {
	c.f.appendBytes.Add(n - c.appendBytes)
	c.appendBytes = n
}
