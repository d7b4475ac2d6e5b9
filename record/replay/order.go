package replay

import (
	"cmp"
	"slices"
	"time"

	"whittle"
	"whittle/record/capture"
)

// item is one exchange during a replay.
type item struct {
	entry *capture.Entry
	to    *subject
	seq   int64
	size  int64
	queue string
	// accepts are the codings that the recorded request asked for.
	accepts []string
	// repeat is the monolith's earlier response to the same request.
	repeat *whittle.Response
	// redacted says that the request has a redaction token in place of a
	// credential.
	redacted bool

	// due is when the request was to be sent, sent when it was sent. held says
	// that the target delayed it, not whittle.
	due, sent     time.Time
	started, held bool

	// skip is the reason why there is nothing to compare; where it is empty,
	// response is the candidate's.
	skip     string
	response whittle.Response
	again    *whittle.Response
}

// ended is when the client had received the recorded response.
func (it *item) ended() time.Time { return it.entry.At.Add(max(0, it.entry.Response.Latency)) }

// order sends the requests of one queue in the order of the recording: each
// only after the responses that its client had received before it sent it.
// Requests that overlapped in the recording, as those of one HTTP/2 connection
// do, may overlap again.
type order struct {
	// queues has the unfinished items of each queue, in the order of arrival.
	queues map[string][]*item
}

func newOrder() *order { return &order{queues: map[string][]*item{}} }

// enqueue adds an item, and reports whether it may be sent at once.
func (o *order) enqueue(it *item) bool {
	if it.queue == "" {
		it.started = true
		return true
	}
	o.queues[it.queue] = append(o.queues[it.queue], it)
	it.started = !blocked(o.queues[it.queue], len(o.queues[it.queue])-1)
	return it.started
}

func blocked(queue []*item, at int) bool {
	return slices.ContainsFunc(queue[:at], func(before *item) bool { return !before.ended().After(queue[at].entry.At) })
}

// finish removes an item whose response has come, and returns those that may start
// now.
func (o *order) finish(it *item) []*item {
	if it.queue == "" {
		return nil
	}
	kept := slices.DeleteFunc(o.queues[it.queue], func(other *item) bool { return other == it })
	if len(kept) == 0 {
		delete(o.queues, it.queue)
		return nil
	}
	o.queues[it.queue] = kept
	var free []*item
	var first time.Time // the earliest end of those before
	for i, other := range kept {
		if !other.started && (i == 0 || first.After(other.entry.At)) {
			other.started = true
			free = append(free, other)
		}
		if end := other.ended(); i == 0 || end.Before(first) {
			first = end
		}
	}
	return free
}

// reorderBuffer sorts exchanges by the time at which they began, as far as the
// look-ahead goes. A log holds them in the order in which they ended.
type reorderBuffer []*item

func (w *reorderBuffer) put(it *item) {
	at, _ := slices.BinarySearchFunc(*w, it, func(a, b *item) int { return cmp.Or(a.entry.At.Compare(b.entry.At), cmp.Compare(a.seq, b.seq)) })
	*w = slices.Insert(*w, at, it)
}

// take removes the earliest one.
func (w *reorderBuffer) take() *item {
	it := (*w)[0]
	*w = slices.Delete(*w, 0, 1)
	return it
}
