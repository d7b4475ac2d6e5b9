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
	// kept is guarded by mu: partition and offset of each, by server.
	kept map[string]map[string]bool
	// strange is guarded by mu: successes that named no place.
	strange int64
}

// note remembers what a success said. The Node server responds as Kinesis does,
// ingest with a position.
func (r *receipts) note(a load.Result) {
	if a.Status != 200 {
		return
	}
	var said struct {
		ShardID        string `json:"ShardId"`
		SequenceNumber string
		Position       string `json:"position"`
	}
	err := json.Unmarshal(a.Body, &said)
	server, place := "go", said.Position
	if said.SequenceNumber != "" {
		// A stream's offset is the sequence number and the place within an
		// aggregated record, six digits.
		server, place = "node", said.ShardID+"/"+said.SequenceNumber+"000000"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil || place == "" {
		r.strange++
		return
	}
	if r.kept == nil {
		r.kept = map[string]map[string]bool{}
	}
	if r.kept[server] == nil {
		r.kept[server] = map[string]bool{}
	}
	r.kept[server][place] = true
}

// take gives the acknowledgements of one server, and forgets them.
func (r *receipts) take(server string) map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.kept[server]
	delete(r.kept, server)
	return out
}
