package front

import (
	"bytes"
	"net/http"
	"slices"

	"whittle/systems/ingest/deadletter"
	"whittle/systems/ingest/stream"
)

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
				l := c.letter(r, c.outcomes[i].reason)
				room = c.addressLetter(&l, i, room)
				records, of = append(records, l.Record()), append(of, i)
			}
		}
		for k, name := range c.keepLetters(records) {
			c.outcomes[of[k]].letter = name
		}
	}
	o := &c.outcomes[first]
	c.source.rejected(c.f.o.Log, c.received, n, r.URL.Path, o.reason, o.letter)
}

// addressLetter gives a letter the event that it is about. It returns how much
// room is left for what the batch shares.
func (c *call) addressLetter(l *deadletter.Letter, i, room int) int {
	if !c.batch {
		l.Body = bytes.Clone(c.body)
		return room
	}
	item := &c.items[i]
	l.Whole, l.Index, l.Offset, l.ID = false, i, item.Offset, c.outcomes[i].id
	l.ContentType = "application/json"
	shared := c.shared
	if room -= len(shared); len(shared) > maxShared || room < 0 {
		shared = nil
	}
	l.Body = slices.Concat([]byte{'{'}, shared, []byte(`"batch":[`), item.Raw, []byte("]}"))
	return room
}

// keepBody keeps a body of which nothing became an event, and gives the letter's
// name.
func (c *call) keepBody(r *http.Request, no *refusal) {
	if no.status != http.StatusBadRequest && no.status != http.StatusRequestEntityTooLarge {
		return // the client sends it again, or somebody who may not send sent it
	}
	if c.f.o.Dead != nil && c.source.name != unknownSource {
		l := c.letter(r, no.reason)
		l.Body = bytes.Clone(c.body)
		if len(c.body) == 0 {
			l.Body, l.ContentEncoding = bytes.Clone(c.wire), r.Header.Get("Content-Encoding")
		}
		for _, name := range c.keepLetters([]stream.Record{l.Record()}) {
			no.letter = name
		}
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

// letter is one that has all but the body.
func (c *call) letter(r *http.Request, reason string) deadletter.Letter {
	return deadletter.Letter{
		Time: c.received, Source: c.source.name, Reason: reason, Path: r.URL.Path, Whole: true,
		ContentType: r.Header.Get("Content-Type"), RequestID: c.id, Address: c.address,
	}
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
