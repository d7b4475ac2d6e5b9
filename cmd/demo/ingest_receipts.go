package main

import (
	"encoding/json"
	"sync"

	"whittle/load"
)

// receipts are the acknowledgements that clients got, by stream: where each
// event is. It is filled on many goroutines.
type receipts struct {
	mu sync.Mutex
	// kept is guarded by mu: partition and offset of each, by stream.
	kept map[string]map[string]bool
	// carried is guarded by mu: the events that the Node.js servers acknowledged, by
	// stream, and the calls that they were in.
	carried map[string]batches
	// strange is guarded by mu: successes that named no place.
	strange int64
}

// noteOf gives what remembers a server's successes. The Node.js servers respond as
// Kinesis does, and say how many went together where that may be more than one;
// ingest responds with a position.
func (r *receipts) noteOf(stream string) func(load.Result) {
	return func(a load.Result) {
		if a.Status == 200 {
			r.note(stream, a.Body)
		}
	}
}

func (r *receipts) note(stream string, body []byte) {
	var said struct {
		ShardID        string `json:"ShardId"`
		SequenceNumber string
		Together       float64
		Position       string `json:"position"`
	}
	err := json.Unmarshal(body, &said)
	place := said.Position
	r.mu.Lock()
	defer r.mu.Unlock()
	if said.SequenceNumber != "" {
		// A stream's offset is the sequence number and the place within an
		// aggregated record, six digits.
		place = said.ShardID + "/" + said.SequenceNumber + "000000"
		if r.carried == nil {
			r.carried = map[string]batches{}
		}
		b := r.carried[stream]
		b.count, b.events = b.count+1/max(1, said.Together), b.events+1
		r.carried[stream] = b
	}
	if err != nil || place == "" {
		r.strange++
		return
	}
	if r.kept == nil {
		r.kept = map[string]map[string]bool{}
	}
	if r.kept[stream] == nil {
		r.kept[stream] = map[string]bool{}
	}
	r.kept[stream][place] = true
}

// calls is how many calls a Node.js server has made, and for how many events.
func (r *receipts) calls(stream string) batches {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.carried[stream]
	b.of = "call"
	return b
}

// take gives the acknowledgements of one stream, and forgets them.
func (r *receipts) take(stream string) map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.kept[stream]
	delete(r.kept, stream)
	return out
}
