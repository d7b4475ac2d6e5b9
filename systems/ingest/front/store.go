package front

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"whittle"
	"whittle/systems/ingest/dedup"
	"whittle/systems/ingest/stream"
)

// status is the outcome of one event.
type status uint8

// The statuses, from the best to the worst: a batch has its worst event's.
const (
	accepted    status = iota // durable now
	duplicate                 // durable before
	rejected                  // not kept, and never will be as it is
	unavailable               // surely not kept; send it again
	unknown                   // perhaps kept; send it again under the same id
	statuses
)

var statusNames = [statuses]string{"accepted", "duplicate", "rejected", "unavailable", "unknown"}

// outcome is one event's part of the response.
type outcome struct {
	status   status
	code     whittle.Code // of what is not kept
	reason   string       // of what is not kept
	id       string
	letter   string          // the dead letter of a rejected event
	position stream.Position // of what is kept; the zero one where it is not known any more
}

// pending is an event whose first copy is being appended by another request, or
// comes earlier in this one.
type pending struct {
	item  int
	claim dedup.Claim
}

// store gives every item its outcome. It appends items to the stream, unless
// they are rejected already or duplicates.
//
// The call waits for events that another request is appending only after its
// own events are settled, so that two requests with the same events never wait
// for each other. If the other one fails, this call appends the event in its
// next round.
func (c *call) store(ctx context.Context) {
	c.outcomes = slices.Grow(c.outcomes, len(c.items))[:len(c.items)]
	limit := c.f.o.Stream.Limit()
	for i := range c.items {
		item, o := &c.items[i], &c.outcomes[i]
		*o = outcome{id: item.Record.ID}
		switch {
		case item.Err != nil:
			o.fail(rejected, whittle.CodeOf(item.Err), item.Err.Error())
		case stream.EncodedLen(&item.Record) > limit:
			o.fail(rejected, whittle.ResourceExhausted, "the event is larger than the stream takes")
		default:
			c.todo = append(c.todo, i)
		}
	}
	if c.f.o.Seen == nil {
		c.append(ctx)
		return
	}
	for len(c.todo) > 0 {
		c.round(ctx)
	}
}

// round claims the events in todo, appends the new ones, and then waits for the
// others. Events whose claims other requests have released are left in todo.
func (c *call) round(ctx context.Context) {
	window := c.f.o.Seen
	claimed := c.claim()
	// A stream that panics must not leave others waiting for its events.
	defer func() { window.Release(claimed) }()
	c.append(ctx)
	kept := 0
	c.kept = c.kept[:0]
	for n, i := range c.todo {
		if o := &c.outcomes[i]; o.status == accepted {
			claimed[kept], claimed[n] = claimed[n], claimed[kept]
			c.kept = append(c.kept, o.position)
			kept++
		}
	}
	window.Settle(claimed[:kept], c.kept, c.received)
	window.Release(claimed[kept:])
	claimed = nil
	c.todo = c.todo[:0]
	if len(c.waiting) > 0 {
		c.appended = time.Time{}
	}
	for n := range c.waiting {
		p := &c.waiting[n]
		o := &c.outcomes[p.item]
		at, kept, err := p.claim.Wait(ctx)
		switch {
		case err != nil:
			o.fail(unknown, whittle.DeadlineExceeded, "another copy is on its way, and it is not known what became of it")
		case kept:
			o.status, o.position = duplicate, at
			c.noteNoID(o.id)
		default:
			c.todo = append(c.todo, p.item)
		}
	}
}

// claim claims the events in todo, and leaves those there that are new: it returns
// their ids. The others are duplicates, or noted as waiting.
func (c *call) claim() []dedup.ID {
	c.ids, c.waiting = c.ids[:0], c.waiting[:0]
	for _, i := range c.todo {
		r := &c.items[i].Record
		c.ids = append(c.ids, dedup.Hash(c.f.o.Keys.Tenant(r), r.ID))
	}
	c.claims = c.f.o.Seen.Claim(c.ids, c.received, c.claims[:0])
	first := 0
	for n, i := range c.todo {
		switch claim := c.claims[n]; claim.State {
		case dedup.First:
			c.ids[first], c.todo[first] = c.ids[n], i
			first++
		case dedup.Pending:
			c.waiting = append(c.waiting, pending{i, claim})
		case dedup.Duplicate:
			c.outcomes[i].status, c.outcomes[i].position = duplicate, claim.Position
			c.noteNoID(c.outcomes[i].id)
		}
	}
	c.todo = c.todo[:first]
	return c.ids[:first]
}

// append hands what is in todo to the stream and notes what became of it.
func (c *call) append(ctx context.Context) {
	if len(c.todo) == 0 {
		return
	}
	c.records = c.records[:0]
	for _, i := range c.todo {
		c.records = append(c.records, c.items[i].Record)
	}
	begun := c.f.o.Now()
	results := c.appendRecords(ctx)
	c.appended = c.f.o.Now()
	c.f.metrics.append.Observe(c.appended.Sub(begun).Seconds())
	for n, i := range c.todo {
		o := &c.outcomes[i]
		err := results[n].Err
		if err == nil {
			o.position = results[n].Position
			c.f.outage.over(c.f.o.Log, c.appended)
			continue
		}
		if whittle.CodeOf(err) != whittle.Invalid {
			c.f.outage.met(c.f.o.Log, begun, err)
		}
		switch code := whittle.CodeOf(err); code {
		case whittle.ResourceExhausted:
			o.fail(unavailable, code, "there is no room for more at this moment")
		case whittle.Unavailable:
			o.fail(unavailable, code, "events cannot be kept at this moment"+sinkSays(err))
		case whittle.Invalid:
			o.fail(rejected, code, "the stream does not take the event"+sinkSays(err))
		default:
			o.fail(unknown, code, "it is not known whether the event was kept")
		}
	}
}

// appendRecords hands the records to the stream. Where nobody asks for them or for
// what they were made of afterwards, their memory is released as soon as they are
// copied: an item that is rejected becomes a dead letter, and one that another request
// is appending may have to be appended here.
func (c *call) appendRecords(ctx context.Context) []stream.Result {
	s, ok := c.f.o.Stream.(stream.Copying)
	if !ok || len(c.waiting) > 0 || slices.ContainsFunc(c.outcomes, func(o outcome) bool { return o.status == rejected }) {
		return c.f.o.Stream.Append(ctx, c.records)
	}
	return s.AppendCopy(ctx, c.records, c.copied)
}

// sinkSays is what the sink calls the error, where it has a name for it: a client may know
// that, and nothing else of the error.
func sinkSays(err error) string {
	if r, ok := errors.AsType[*stream.Refusal](err); ok {
		return ": " + r.Name
	}
	return ""
}

// noIDs are texts that programs send where they have no id, in lower case.
var noIDs = map[string]bool{"null": true, "(null)": true, "undefined": true, "none": true, "nil": true, "nan": true, "false": true, "true": true, "[object object]": true, "string": true}

// isNoID reports whether an id is none: what all events that lack one would share.
func isNoID(id string) bool {
	return strings.Trim(id, "0-{} ") == "" || len(id) < 16 && noIDs[strings.ToLower(id)]
}

// noteNoID counts a duplicate whose id is none.
func (c *call) noteNoID(id string) {
	if !isNoID(id) {
		return
	}
	c.f.metrics.noID.WithLabelValues(c.source.name).Inc()
	c.f.noIDs.Add(1)
	if since, ok := c.f.noIDLog.admit(c.received, 1); ok {
		c.f.o.Log.Warn("events are called duplicates by a messageId that is none: they may be events of their own, and are not kept",
			"source", c.source.name, "messageId", id, "also_since_last", since)
	}
}

func (o *outcome) fail(s status, code whittle.Code, reason string) {
	o.status, o.code, o.reason = s, code, reason
}
