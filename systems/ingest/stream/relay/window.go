package relay

import (
	"hash/fnv"
	"slices"
	"time"

	"whittle/systems/ingest/stream"
)

// keyQueues is into how many queues the keys are hashed. Records of one queue
// are in at most one call in flight, so that order by key survives several
// calls at once. The checkpoint has a number for each queue: the count is part
// of its format.
const keyQueues = 64

// keyQueueOf is the same for a record in every run.
func keyQueueOf(key string, seq uint64) int {
	if key == "" {
		return int(seq % keyQueues)
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	sum := h.Sum64()
	return int((sum ^ sum>>32) % keyQueues)
}

// item is a record that has been read. Once it is settled, which means that the
// sink or the dead letters have it, only its number, position and fingerprint are needed.
type item struct {
	seq         uint64
	at          stream.Position
	fingerprint stream.Fingerprint // of the record at the source
	record      stream.Record      // with its origin
	size        int
	queue       int
	marked      bool // carries its origin: the sink can be asked for it

	settled   bool
	unknown   bool  // an attempt's outcome is not known
	silent    int   // how often the sink stayed silent when it was asked for it
	rejection error // the sink refused it for good
	mark      *mark // where the sink's ends were when it was first sent
}

// settle releases what a settled item needs no more: it may have to stay for
// as long as an older one is not settled.
func (it *item) settle() {
	it.settled = true
	it.release()
	it.record, it.rejection = stream.Record{}, nil
}

type partitionQueue struct {
	queue   []*item // unsettled, oldest first
	attempt int
	until   time.Time
}

// window holds the items from the oldest that is not settled to the last that
// was read. It is not safe for concurrent use.
type window struct {
	queues      [keyQueues]partitionQueue
	order       []*item // all since the oldest that is not settled
	next        uint64  // the number after the last that was read
	last        stream.Position
	fingerprint stream.Fingerprint // of the record at last
	open        int                // items not settled
	bytes       int
}

// span is how many numbers there are from the oldest item that is not settled on.
func (w *window) span() int { return int(w.next - w.low()) }

// low is the number below which all is settled.
func (w *window) low() uint64 {
	if len(w.order) > 0 {
		return w.order[0].seq
	}
	return w.next
}

// settledTo returns for each queue the number below which all of it is settled.
func (w *window) settledTo() []uint64 {
	to := make([]uint64, keyQueues)
	for i := range w.queues {
		to[i] = w.next
		if q := w.queues[i].queue; len(q) > 0 {
			to[i] = q[0].seq
		}
	}
	return to
}

func (w *window) add(it *item) {
	w.next = it.seq + 1
	w.order = append(w.order, it)
	if it.settled {
		w.advance()
		return
	}
	l := &w.queues[it.queue]
	l.queue = append(l.queue, it)
	w.open++
	w.bytes += it.size
}

// settle takes items out of their queues and moves the low mark on.
func (w *window) settle(items []*item) {
	var touched [keyQueues]int
	for _, it := range items {
		if it.settled {
			continue
		}
		it.settle()
		w.open--
		w.bytes -= it.size
		touched[it.queue]++
	}
	for i, n := range touched {
		if n > 0 {
			w.queues[i].drop(n)
		}
	}
	w.advance()
}

// drop removes so many settled items and keeps the order of the rest.
func (l *partitionQueue) drop(settled int) {
	n := 0
	for n < len(l.queue) && l.queue[n].settled {
		l.queue[n] = nil
		n++
	}
	l.queue = l.queue[n:]
	if n == settled {
		return
	}
	l.queue = slices.DeleteFunc(l.queue, func(it *item) bool { return it.settled })
}

func (w *window) advance() {
	n := 0
	for n < len(w.order) && w.order[n].settled {
		w.last, w.fingerprint = w.order[n].at, w.order[n].fingerprint
		w.order[n] = nil
		n++
	}
	w.order = w.order[n:]
}

// take fills batch with the oldest items of the queues that belong to one of so
// many workers and need not wait, in the order of their numbers. When there are
// none it returns the time at which a waiting queue may continue; zero: none
// waits.
func (w *window) take(worker, workers int, now time.Time, records, bytes int, batch []*item) ([]*item, time.Time) {
	var cursor [keyQueues]int
	var until time.Time
	for i := worker; i < keyQueues; i += workers {
		l := &w.queues[i]
		if len(l.queue) > 0 && l.until.After(now) {
			if until.IsZero() || l.until.Before(until) {
				until = l.until
			}
			cursor[i] = len(l.queue)
		}
	}
	total := 0
	for len(batch) < records {
		var first *item
		for i := worker; i < keyQueues; i += workers {
			if l := &w.queues[i]; cursor[i] < len(l.queue) && (first == nil || l.queue[cursor[i]].seq < first.seq) {
				first = l.queue[cursor[i]]
			}
		}
		if first == nil || total+first.size > bytes && len(batch) > 0 {
			break
		}
		cursor[first.queue]++
		total += first.size
		batch = append(batch, first)
	}
	return batch, until
}
