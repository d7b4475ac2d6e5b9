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

// read takes the body in as it comes over the wire, within the bounds.
func (c *call) read(r *http.Request) *refusal {
	if n := int(r.ContentLength); n > 0 {
		c.wire = slices.Grow(c.wire, n)[:n]
		_, err := io.ReadFull(r.Body, c.wire)
		return badBody(err)
	}
	most := c.mostWire()
	for {
		c.wire = slices.Grow(c.wire, chunk/2)
		n, err := r.Body.Read(c.wire[len(c.wire):cap(c.wire)])
		c.wire = c.wire[:len(c.wire)+n]
		switch {
		case len(c.wire) > most:
			return tooLarge(most)
		case errors.Is(err, io.EOF) && len(c.wire) == 0:
			return &refusal{http.StatusBadRequest, "the body is empty"}
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return badBody(err)
		}
		if more := c.cost(len(c.wire)+chunk) - c.reading; more > 0 {
			if !c.f.reading.TryAcquire(more) {
				return &refusal{http.StatusTooManyRequests, busy}
			}
			c.reading += more
			c.hold(int64(len(c.wire) + chunk))
		}
	}
}

// badBody says what was wrong with a body that did not come in whole.
func badBody(err error) *refusal {
	if err == nil {
		return nil
	}
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
		return &refusal{http.StatusRequestTimeout, "the body took too long"}
	}
	return &refusal{http.StatusBadRequest, "the body broke off"}
}

func tooLarge(most int) *refusal {
	return &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", most)}
}

// expansion bounds what the content encoding may make of the body.
func (c *call) expansion() expansion {
	return expansion{size: c.most(), ratio: c.f.limits.Ratio}
}

// mostContent is how many bytes may come out of the body that was read.
func (c *call) mostContent() int {
	if c.coding == identity {
		return len(c.wire)
	}
	return c.expansion().most(len(c.wire))
}

// decode undoes the content encoding, for which mostContent is reserved.
func (c *call) decode() ([]byte, *refusal) {
	if c.coding == identity {
		c.hold(int64(len(c.wire)))
		return c.wire, nil
	}
	e := c.expansion()
	out, err := decode(c.coding, c.decoded, c.wire, e)
	c.decoded = out
	switch {
	case errors.Is(err, errTooLarge):
		return nil, tooLarge(e.size)
	case errors.Is(err, errRatio):
		return nil, &refusal{http.StatusRequestEntityTooLarge, err.Error()}
	case err != nil:
		return nil, &refusal{http.StatusBadRequest, err.Error()}
	case len(out) == 0:
		return nil, &refusal{http.StatusBadRequest, "the body is empty"}
	}
	rest := c.working - c.cost(len(out))
	c.f.working.Release(rest)
	c.working -= rest
	c.hold(int64(len(out)))
	return out, nil
}

// cost is what a body of so many bytes takes of a budget. Events are made anew
// out of theirs, in memory that the scratch has from the request before; a body
// that is kept as it is costs nothing more.
func (c *call) cost(body int) int64 {
	if c.json {
		body *= 2
	}
	return int64(body + beside)
}

// work takes the call's part of what may be worked on at once. It waits for that
// with nothing to give that others of its kind wait for, so that they cannot
// wait for each other.
func (c *call) work(n int64) bool {
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

// hold says how many bytes of the call are on their way to the stream.
func (c *call) hold(n int64) {
	c.f.held.Add(n - c.held)
	c.held = n
}
