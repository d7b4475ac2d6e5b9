package front

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"

	"whittle/systems/ingest/stream"
)

// A dead letter is a record of what was rejected. Its value can be sent to its endpoint
// again once it is mended: the body as it came, or of a batch's event a batch with this
// event alone. Its headers say where it came from and why it was rejected:
const (
	deadReason   = "dead-reason" // in the words of the response
	deadSource   = "dead-source" // the name of the write key
	deadEndpoint = "dead-path"
	deadType     = "content-type"
	deadEncoding = "content-encoding"
	deadRequest  = "x-request-id"
	deadAddress  = "client-address"
	deadIndex    = "dead-index"  // the event's number in its batch, from 0 on
	deadOffset   = "dead-offset" // the byte of the batch's body at which it is wrong
)

// maxText is how much of a header's value a dead letter keeps.
const maxText = 4 << 10

// Bounds of what a batch's rejected events take as dead letters together: each
// has what the batch shares while all of them are no longer than so many times
// the body.
const (
	maxShared   = 16 << 10
	sharedTimes = 2
)

// keepRejected keeps the rejected events as dead letters, before the response
// says that they were rejected.
func (c *call) keepRejected(r *http.Request) {
	n, first := 0, -1
	for i := range c.outcomes {
		if c.outcomes[i].status == rejected {
			if n++; first < 0 {
				first = i
			}
		}
	}
	if n == 0 {
		return
	}
	if c.f.o.Dead != nil {
		records, of := make([]stream.Record, 0, n), make([]int, 0, n)
		room := sharedTimes*len(c.body) + maxShared
		for i := range c.outcomes {
			if c.outcomes[i].status == rejected {
				var l stream.Record
				l, room = c.eventLetter(r, i, room)
				records, of = append(records, l), append(of, i)
			}
		}
		for k, name := range c.keepLetters(records) {
			c.outcomes[of[k]].letter = name
		}
	}
	o := &c.outcomes[first]
	c.source.rejected(c.f.o.Log, c.received, n, r.URL.Path, o.reason, o.letter)
}

// eventLetter is the dead letter of an event. It returns how much room is left for what
// the batch shares.
func (c *call) eventLetter(r *http.Request, i, room int) (stream.Record, int) {
	o := &c.outcomes[i]
	if !c.batch {
		return c.letter(r, o.reason, r.Header.Get("Content-Type"), bytes.Clone(c.body)), room
	}
	item, shared := &c.items[i], c.shared
	if room -= len(shared); len(shared) > maxShared || room < 0 {
		shared = nil
	}
	body := slices.Concat([]byte{'{'}, shared, []byte(`"batch":[`), item.Raw, []byte("]}"))
	l := c.letter(r, o.reason, "application/json", body,
		stream.Header{Name: deadIndex, Value: strconv.Itoa(i)}, stream.Header{Name: deadOffset, Value: strconv.Itoa(item.Offset)})
	if len(o.id) <= stream.MaxID {
		l.ID = o.id
	}
	return l, room
}

// keepBody keeps a body of which nothing became an event, and gives the letter's
// name.
func (c *call) keepBody(r *http.Request, no *refusal) {
	if no.status != http.StatusBadRequest && no.status != http.StatusRequestEntityTooLarge {
		return // the client sends it again, or somebody who may not send sent it
	}
	if c.f.o.Dead != nil && c.source.name != unknownSource {
		body, encoding := c.body, ""
		if len(body) == 0 {
			body, encoding = c.wire, r.Header.Get("Content-Encoding")
		}
		l := c.letter(r, no.reason, r.Header.Get("Content-Type"), bytes.Clone(body), stream.Header{Name: deadEncoding, Value: encoding})
		no.letter = c.keepLetters([]stream.Record{l})[0]
	}
	c.source.rejected(c.f.o.Log, c.received, 1, r.URL.Path, no.reason, no.letter)
}

// noteUnread logs that a body was rejected of which not all was read, so that
// there is nothing to keep. What the client sends again by itself is not logged.
func (c *call) noteUnread(r *http.Request, no *refusal) {
	if no.status < http.StatusInternalServerError && no.status != http.StatusTooManyRequests && no.status != http.StatusRequestTimeout {
		c.source.rejected(c.f.o.Log, c.received, 1, r.URL.Path, no.reason, "")
	}
}

// letter is a dead letter with what the request says of it, and more where it is not empty.
func (c *call) letter(r *http.Request, reason, contentType string, body []byte, more ...stream.Header) stream.Record {
	l := stream.Record{Time: c.received, Value: body}
	for _, h := range append([]stream.Header{
		{Name: deadEndpoint, Value: r.URL.Path},
		{Name: deadReason, Value: reason},
		{Name: deadSource, Value: c.source.name},
		{Name: deadType, Value: contentType},
		{Name: deadRequest, Value: c.id},
		{Name: deadAddress, Value: c.address},
	}, more...) {
		if h.Value != "" {
			h.Value = h.Value[:min(len(h.Value), maxText)]
			l.Header = append(l.Header, h)
		}
	}
	l.Seal()
	return l
}

// keepLetters returns the letters' names, "" for each that could not be kept:
// then it is counted, and the response is as it would have been.
func (c *call) keepLetters(records []stream.Record) []string {
	names := make([]string, len(records))
	ctx := c.f.deadlines.context(c.f.o.Now())
	for i, result := range c.f.o.Dead.Append(ctx, records) {
		if result.Err != nil {
			c.f.metrics.lostLetters.Inc()
			c.f.failureLog.fail(c.f.o.Log, c.received, "a rejected event could not be kept as a dead letter", result.Err)
			continue
		}
		c.source.deadLetters.Inc()
		names[i] = result.Position.Offset
	}
	return names
}
