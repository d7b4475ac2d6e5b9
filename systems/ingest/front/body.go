package front

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"
)

// A body has a moment, and then to come this fast, in bytes a second: what it takes of memory
// others wait for.
const (
	bodyGrace   = 5 * time.Second
	minBodyRate = 16 << 10
)

// read takes the body in as it comes over the wire, within the bounds.
func (c *call) read(w http.ResponseWriter, r *http.Request) *refusal {
	if c.direct == nil {
		limit := bodyGrace + time.Duration(max(r.ContentLength, int64(c.maxWire())))*time.Second/minBodyRate
		if r.ContentLength > 0 {
			limit = bodyGrace + time.Duration(r.ContentLength)*time.Second/minBodyRate
		}
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(min(limit, c.f.limits.Body))) // where it fails, nothing is waited for
	}
	most := c.maxWire()
	if n := int(r.ContentLength); n > 0 {
		most = n
		c.wire = slices.Grow(c.wire, n)
	} else {
		// Beyond it, net/http gives the client time to read the response:
		// after a 100 Continue it would not by itself, and reset the connection.
		r.Body = http.MaxBytesReader(w, r.Body, int64(most))
	}
	for {
		if r.ContentLength < 0 {
			c.wire = slices.Grow(c.wire, chunk/2)
		}
		room := c.wire[len(c.wire):cap(c.wire)]
		if r.ContentLength > 0 {
			room = room[:min(most-len(c.wire), chunk)]
		}
		n, err := r.Body.Read(room)
		c.wire = c.wire[:len(c.wire)+n]
		switch {
		case len(c.wire) == int(r.ContentLength), errors.Is(err, io.EOF) && r.ContentLength < 0 && len(c.wire) > 0:
			return nil
		case errors.Is(err, io.EOF) && r.ContentLength < 0:
			return &refusal{status: http.StatusBadRequest, reason: "the body is empty"}
		case err != nil:
			return badBody(err, most)
		}
		if !c.acquire(c.cost(min(len(c.wire)+chunk, most)) - c.held) {
			return c.overload()
		}
		if r.ContentLength < 0 {
			c.setAppendBytes(int64(len(c.wire) + chunk))
		}
	}
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

// decode undoes the content encoding. What comes out is bounded, and counted once it is
// known: no more bodies are decoded at once than there are cores.
func (c *call) decode() ([]byte, *refusal) {
	if !c.gzip {
		c.setAppendBytes(int64(len(c.wire)))
		return c.wire, nil
	}
	out, err := gunzip(c.decoded, c.wire, c.maxContent())
	c.decoded = out
	switch {
	case errors.Is(err, errTooLarge):
		return nil, tooLarge(c.maxContent())
	case err != nil:
		return nil, &refusal{status: http.StatusBadRequest, reason: err.Error()}
	case len(out) == 0:
		return nil, &refusal{status: http.StatusBadRequest, reason: "the body is empty"}
	}
	if !c.acquire(c.cost(len(out)) - c.held) {
		return nil, c.overload()
	}
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

// setAppendBytes says how many bytes of the call are on their way to the stream.
func (c *call) setAppendBytes(n int64) {
	c.f.appendBytes.Add(n - c.appendBytes)
	c.appendBytes = n
}
