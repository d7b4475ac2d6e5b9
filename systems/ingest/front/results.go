package front

import (
	"encoding/json"
	"net/http"
	"strconv"

	"whittle/systems/ingest/stream"
)

// maxResults is how many events a response lists: of a longer batch those that were not kept,
// the first ones. ?results=each lists all.
const maxResults = 20

// appendBatch writes the counts and what became of which event.
func (c *call) appendBatch(b []byte, t *tally, r *http.Request) []byte {
	b = append(b, `,"events":`...)
	b = strconv.AppendInt(b, int64(len(c.outcomes)), 10)
	for s, n := range t.of {
		b = append(append(b, `,"`...), statusNames[s]...)
		b = strconv.AppendInt(append(b, `":`...), int64(n), 10)
	}
	each := len(c.outcomes) <= maxResults || r.URL.RawQuery != "" && r.URL.Query().Get("results") == "each"
	b = append(b, `,"results":[`...)
	listed := 0
	for i := range c.outcomes {
		o := &c.outcomes[i]
		if !each && (o.status <= duplicate || listed == maxResults) {
			continue
		}
		if listed++; listed > 1 {
			b = append(b, ',')
		}
		b = append(b, `{"status":"`...)
		b = append(append(b, statusNames[o.status]...), '"')
		if !each || o.status == rejected {
			b = strconv.AppendInt(append(b, `,"index":`...), int64(i), 10)
		}
		if o.status == rejected { // at which byte of the body it begins, or is wrong
			b = strconv.AppendInt(append(b, `,"offset":`...), int64(c.items[i].Offset), 10)
		}
		b = append(o.appendDetail(b), '}')
	}
	return append(b, ']')
}

// appendLetter writes which dead letter has what was rejected.
func appendLetter(b []byte, letter string) []byte {
	if letter == "" {
		return b
	}
	return appendString(append(b, `,"deadLetter":`...), letter)
}

// appendDetail writes where the event is, or why it is nowhere, and its id.
func (o *outcome) appendDetail(b []byte) []byte {
	if o.position != (stream.Position{}) {
		b = append(b, `,"position":`...)
		b = appendString(b, o.position.Partition+"/"+o.position.Offset)
	}
	if o.reason != "" {
		b = appendString(append(b, `,"reason":`...), o.reason)
	}
	b = appendLetter(b, o.letter)
	if o.id != "" {
		b = appendString(append(b, `,"messageId":`...), o.id)
	}
	return b
}

// appendString writes a JSON string. Nearly all are plain and need no escape.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if ch := s[i]; ch < ' ' || ch > '~' || ch == '"' || ch == '\\' {
			quoted, err := json.Marshal(s)
			if err != nil {
				return append(b, `""`...)
			}
			return append(b, quoted...)
		}
	}
	b = append(append(b, '"'), s...)
	return append(b, '"')
}
