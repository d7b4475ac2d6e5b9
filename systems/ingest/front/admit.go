package front

import (
	"mime"
	"net/http"
	"strings"

	"whittle/systems/ingest/event"
)

// slack is how much longer a record can be than its body, and a compressed body
// than its content. beside is what a request costs of a budget beside its body.
const (
	slack  = 4 << 10
	beside = 1 << 10
)

// chunk is by how much the room for a body of unknown length grows.
const chunk = 32 << 10

// crowd sends the call away for want of room in memory.
func (c *call) crowd() *refusal {
	c.crowded = true
	return &refusal{http.StatusTooManyRequests, "too much is under way: come back later"}
}

// admit decides what can be decided before the body is read, and takes the
// body's part of what may be in memory.
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
	most := c.mostWire()
	switch {
	case r.ContentLength > int64(most):
		return tooLarge(most)
	case r.ContentLength == 0:
		return &refusal{http.StatusBadRequest, "the body is empty"}
	}
	need := r.ContentLength
	if need < 0 {
		need = int64(min(chunk, most))
	}
	c.need = need
	if no := c.room(need); no != nil {
		return no
	}
	if !c.enter(r, c.cost(int(need))) {
		return c.crowd()
	}
	c.hold(need)
	c.equip()
	return nil
}

// enter takes room for a body of such a cost, where there is some in time.
func (c *call) enter(r *http.Request, cost int64) bool {
	c.began = c.received
	if c.stranger {
		ok, waited := c.f.strangers.enter(r.Context(), cost)
		if !ok {
			return false
		}
		c.strange = cost
		if waited {
			c.began = c.f.o.Now()
		}
	}
	ok, waited := c.f.reading.enter(r.Context(), cost)
	if !ok {
		return false
	}
	c.reading = cost
	if waited {
		c.began = c.f.o.Now()
	}
	return true
}

// known gives back what was taken as a stranger.
func (c *call) known() {
	if c.strange > 0 {
		c.f.strangers.free.Release(c.strange)
		c.strange = 0
	}
}

// authenticate looks at the write key that came outside the body. One that may
// stand in the body is looked at when that has been read.
func (c *call) authenticate(r *http.Request) *refusal {
	key, ok := credential(r)
	if !ok {
		return &refusal{http.StatusUnauthorized, "the credentials cannot be read: Basic auth with the write key as user name, or Bearer"}
	}
	c.key = key
	if c.f.o.Keys == nil || c.f.o.Keys.Known(key) {
		return nil
	}
	if key == "" && (c.kind != event.Import || isJSON(r.Header)) {
		c.stranger = true
		return nil
	}
	return unknownKey(key)
}

func unknownKey(key string) *refusal {
	if key == "" {
		return &refusal{http.StatusUnauthorized, "a write key is missing: Basic auth with the key as user name, Bearer, ?writeKey=, or writeKey in the body"}
	}
	return &refusal{http.StatusUnauthorized, "the write key is not known here"}
}

// isJSON reports whether the body is said to be JSON.
func isJSON(h http.Header) bool {
	values := h["Content-Type"]
	if len(values) == 0 {
		return false
	}
	if values[0] == "application/json" {
		return true
	}
	media, _, err := mime.ParseMediaType(values[0])
	return err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
}

// contentType holds the types: POST /import takes all, the others JSON, under
// its own name, as the plain text of a beacon or under none.
func (c *call) contentType(r *http.Request) *refusal {
	values := r.Header["Content-Type"]
	c.json = isJSON(r.Header)
	if c.kind == event.Import {
		return nil
	}
	if len(values) == 0 || len(values) == 1 && values[0] == "application/json" {
		c.json = true
		return nil
	}
	media, params, err := mime.ParseMediaType(values[0])
	if err != nil || len(values) > 1 || !c.json && media != "text/plain" {
		return &refusal{http.StatusUnsupportedMediaType, "events are JSON: Content-Type application/json, or text/plain for beacons"}
	}
	if set := params["charset"]; set != "" && !strings.EqualFold(set, "utf-8") && !strings.EqualFold(set, "us-ascii") {
		return &refusal{http.StatusUnsupportedMediaType, "events are JSON in UTF-8"}
	}
	c.json = true
	return nil
}

func (c *call) contentEncoding(r *http.Request) *refusal {
	values := r.Header["Content-Encoding"]
	if len(values) == 0 {
		return nil
	}
	coding, err := codingOf(strings.Join(values, ","))
	if err != nil {
		return &refusal{http.StatusUnsupportedMediaType, err.Error()}
	}
	c.coding = coding
	return nil
}

// most is the largest content that the call's kind may have.
func (c *call) most() int {
	l := &c.f.limits
	switch {
	case c.kind == event.Import && !c.json:
		return l.Import
	case c.kind == event.Import:
		return max(l.Import, l.Event.Batch)
	case c.kind == event.Bulk:
		return l.Event.Batch
	}
	return l.Event.Event
}

// mostWire is the largest body as it travels: what does not compress grows a
// little.
func (c *call) mostWire() int {
	if c.coding == identity {
		return c.most()
	}
	return c.most() + slack
}

// room asks the stream whether it would take so many bytes more, beside all
// that is on its way to it.
func (c *call) room(need int64) *refusal {
	room := c.f.o.Stream.Room()
	if room.Err != nil {
		c.f.complaint.say(c.f.o.Log, c.received, "the stream takes nothing", room.Err)
		return &refusal{http.StatusServiceUnavailable, "events cannot be kept at this moment"}
	}
	if room.Free < need+slack+c.f.held.Load() {
		return &refusal{http.StatusTooManyRequests, "there is no room for more at this moment"}
	}
	return nil
}
