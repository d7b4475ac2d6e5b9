package front

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"strings"

	"whittle/systems/ingest/event"
)

// slack is how much longer a record can be than its body, and a compressed body
// than its content. overhead is what a request costs of a budget in addition to its body.
const (
	slack           = 4 << 10
	requestOverhead = 1 << 10
)

// chunk is by how much the room for a body grows as it comes in, so that one that stalls holds
// little.
const chunk = 32 << 10

// overload refuses the call for lack of memory.
func (c *call) overload() *refusal {
	return &refusal{status: http.StatusTooManyRequests, reason: "too much is under way: come back later", retry: retryUnknown}
}

// admit makes the checks that need only the header, and acquires the body's
// share of memory.
func (c *call) admit(r *http.Request) *refusal {
	if no := c.authenticate(r); no != nil {
		return no
	}
	if no := c.contentType(r); no != nil {
		return no
	}
	if no := c.contentEncoding(r); no != nil {
		return no
	}
	most := c.maxWire()
	switch {
	case r.ContentLength > int64(most):
		return tooLarge(most)
	case r.ContentLength == 0:
		return &refusal{status: http.StatusBadRequest, reason: "the body is empty"}
	}
	need := r.ContentLength
	if need < 0 {
		need = int64(min(chunk, most))
	}
	c.need = need
	if no := c.checkCapacity(need); no != nil {
		return no
	}
	if !c.acquire(c.cost(int(min(need, chunk)))) {
		return c.overload()
	}
	c.setAppendBytes(need)
	p := c.pools()
	c.scratch, c.input = p.scratches.Get().(*scratch), p.inputs.Get().(*input)
	return nil
}

// acquire takes memory, more of it where the call has some. It returns false when there is
// none in time.
func (c *call) acquire(n int64) bool {
	if n <= 0 {
		return true
	}
	if !c.f.memory.TryAcquire(n) {
		ctx, cancel := context.WithTimeout(context.Background(), c.f.limits.Wait)
		defer cancel()
		if c.f.memory.Acquire(ctx, n) != nil {
			return false
		}
	}
	c.held += n
	return true
}

// hold gives back what the call has of memory beyond so much.
func (c *call) hold(rest int64) {
	if rest < c.held {
		c.f.memory.Release(c.held - rest)
		c.held = rest
	}
}

// authenticate checks the write key that came outside the body. A key in the
// body is checked after the body has been read.
func (c *call) authenticate(r *http.Request) *refusal {
	key, ok := credential(r)
	if !ok {
		return &refusal{status: http.StatusUnauthorized, reason: "the credentials cannot be read: Basic auth with the write key as user name, or Bearer"}
	}
	c.key = key
	if c.identify(key) {
		return nil
	}
	if key == "" && (c.kind != event.Import || isJSON(r.Header)) {
		return nil // it may be in the body
	}
	return unknownKey(key)
}

func unknownKey(key string) *refusal {
	if key == "" {
		return &refusal{status: http.StatusUnauthorized, reason: "a write key is missing: Basic auth with the key as user name, Bearer, ?writeKey=, or writeKey in the body"}
	}
	return &refusal{status: http.StatusUnauthorized, reason: "the write key is not known here"}
}

// isJSON reports whether the content type is JSON.
func isJSON(h http.Header) bool {
	values := h["Content-Type"]
	if len(values) == 0 {
		return false
	}
	if values[0] == "application/json" {
		return true
	}
	media, _, ok := mediaType(values[0])
	return ok && (media == "application/json" || strings.HasSuffix(media, "+json"))
}

// mediaType reads a content type. Parameters that cannot be read, such as an empty
// charset, say nothing, and leave the type what it is.
func mediaType(value string) (media string, params map[string]string, ok bool) {
	media, params, err := mime.ParseMediaType(value)
	return media, params, err == nil || errors.Is(err, mime.ErrInvalidMediaParameter)
}

// charsets are the names of UTF-8 and of what is a part of it, as clients write them.
var charsets = map[string]bool{"": true, "utf-8": true, "utf8": true, "us-ascii": true, "ascii": true}

// contentType checks the content type. POST /import accepts every type. The
// others accept what clients really call JSON: its own name, the plain text of
// a beacon, the form of curl -d and of axios, bytes, or nothing.
func (c *call) contentType(r *http.Request) *refusal {
	values := r.Header["Content-Type"]
	c.json = isJSON(r.Header)
	if c.json && len(values) == 1 && values[0] == "application/json" || len(values) == 0 && c.kind != event.Import {
		c.json = true
		return nil
	}
	media, params, ok := "", map[string]string(nil), true
	if len(values) > 0 {
		media, params, ok = mediaType(values[0])
	}
	c.maybeJSON = !c.json && ok && len(values) < 2 && namesOfJSON[media]
	if gzipTypes[media] && c.kind != event.Import {
		c.maybeJSON = true
		if len(r.Header["Content-Encoding"]) == 0 {
			c.gzip = true
		}
	}
	if c.kind == event.Import {
		return nil
	}
	if !ok || len(values) > 1 || !c.json && !c.maybeJSON {
		return &refusal{status: http.StatusUnsupportedMediaType, reason: "events are JSON: Content-Type application/json, or one of text/plain, application/x-www-form-urlencoded, application/octet-stream"}
	}
	if !charsets[strings.ToLower(params["charset"])] {
		return &refusal{status: http.StatusUnsupportedMediaType, reason: "events are JSON in UTF-8"}
	}
	c.json = true
	return nil
}

// namesOfJSON are the media types under which clients send JSON.
var namesOfJSON = map[string]bool{
	"": true, "text/plain": true, "application/x-www-form-urlencoded": true, "application/octet-stream": true, "binary/octet-stream": true,
	"text/json": true, "application/javascript": true, "text/javascript": true,
}

// gzipTypes are the media types of a body that is zipped and says so nowhere else.
var gzipTypes = map[string]bool{"application/gzip": true, "application/x-gzip": true}

func (c *call) contentEncoding(r *http.Request) *refusal {
	values := r.Header["Content-Encoding"]
	if len(values) == 0 {
		return nil
	}
	zipped, err := isGzip(strings.Join(values, ","))
	if err != nil {
		return &refusal{status: http.StatusUnsupportedMediaType, reason: err.Error()}
	}
	c.gzip = zipped
	return nil
}

// maxContent is the largest content that a request of this kind may have.
func (c *call) maxContent() int {
	l := &c.f.limits
	switch {
	case c.kind == event.Import && !c.json:
		return l.Import
	case c.kind == event.Import:
		return max(l.Import, l.Event.Batch)
	case c.kind == event.Bulk:
		return l.Event.Batch
	}
	return max(l.Event.Event, l.Import) // more than an event may have, so that one that is too large becomes a dead letter
}

// maxWire is the largest body as it is transferred: incompressible content
// grows slightly.
func (c *call) maxWire() int {
	if !c.gzip {
		return c.maxContent()
	}
	return c.maxContent() + slack
}

// checkCapacity checks whether the stream has capacity for so many bytes, in
// addition to what is on its way there.
func (c *call) checkCapacity(need int64) *refusal {
	capacity := c.f.o.Stream.Capacity()
	if capacity.Err != nil {
		c.f.outage.met(c.f.o.Log, c.received, capacity.Err)
		return &refusal{status: http.StatusServiceUnavailable, reason: "events cannot be kept at this moment"}
	}
	if capacity.Free < need+slack+c.f.appendBytes.Load() {
		return &refusal{status: http.StatusTooManyRequests, reason: "there is no room for more at this moment"}
	}
	return nil
}
