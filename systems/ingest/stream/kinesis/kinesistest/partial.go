package kinesistest

import (
	"encoding/json"
	"net/http"
)

// entry is the part of a record in a call that matters here.
type entry struct {
	PartitionKey string `json:"PartitionKey"`
}

type result struct {
	ErrorCode    string `json:"ErrorCode"`
	ErrorMessage string `json:"ErrorMessage"`
}

// partial passes on some of a call's records and merges the response, so that
// the others are seen as failed inside a 200.
func (p *Proxy) partial(w http.ResponseWriter, r *http.Request, body []byte) {
	call := map[string]json.RawMessage{}
	var records []json.RawMessage
	if json.Unmarshal(body, &call) != nil || json.Unmarshal(call["Records"], &records) != nil {
		p.pass(w, r, body) // not in JSON: nothing to pick from
		return
	}
	failed := p.choose(records)
	var through []json.RawMessage
	for i, rec := range records {
		if failed[i] == "" {
			through = append(through, rec)
		}
	}
	merged := map[string]json.RawMessage{}
	var results []json.RawMessage
	if len(through) > 0 {
		call["Records"] = encode(through)
		said, err := p.forward(r, encode(call))
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if said.status != http.StatusOK {
			said.write(w, said.body)
			return
		}
		if json.Unmarshal(said.body, &merged) != nil || json.Unmarshal(merged["Records"], &results) != nil || len(results) != len(through) {
			panic(http.ErrAbortHandler)
		}
	}
	merged["Records"], merged["FailedRecordCount"] = merge(results, failed)
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	_, _ = w.Write(encode(merged))
}

// choose returns the error code of each record that fails, "" for the others.
func (p *Proxy) choose(records []json.RawMessage) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	failed := make([]string, len(records))
	some := false
	for i, rec := range records {
		var e entry
		refused := p.faults.Refuse != nil && json.Unmarshal(rec, &e) == nil && p.faults.Refuse(e.PartitionKey)
		switch at := p.random.Float64(); {
		case refused, at < p.faults.PartialOf/2:
			failed[i] = throughputExceeded
		case at < p.faults.PartialOf:
			failed[i] = "InternalFailure"
		default:
			continue
		}
		some = true
		p.counts["records"]++
	}
	if some {
		p.counts["partial"]++
	}
	return failed
}

// merge puts the failures between the results of those that went through.
func merge(results []json.RawMessage, failed []string) (all, count json.RawMessage) {
	merged := make([]json.RawMessage, len(failed))
	failures := 0
	for i, code := range failed {
		if code == "" {
			merged[i], results = results[0], results[1:]
			continue
		}
		failures++
		merged[i] = encode(result{ErrorCode: code, ErrorMessage: "injected"})
	}
	return encode(merged), encode(failures)
}

// encode writes what always can be written.
func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
