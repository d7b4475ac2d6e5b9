package front

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"whittle/systems/ingest/stream"
)

// maxEachResults is how many events a batch may have for its response to list each.
// Beyond, equal neighbours are listed as one run. ?results=each or ?results=runs
// asks for either.
const maxEachResults = 20

// appendBatch writes the counts and what became of which event.
func (c *call) appendBatch(b []byte, t *tally, r *http.Request) []byte {
	b = append(b, `,"events":`...)
	b = strconv.AppendInt(b, int64(len(c.outcomes)), 10)
	for s, n := range t.of {
		b = append(append(b, `,"`...), statusNames[s]...)
		b = strconv.AppendInt(append(b, `":`...), int64(n), 10)
	}
	if listEach(r.URL, len(c.outcomes)) {
		return c.appendEach(b)
	}
	return c.appendRuns(b)
}

func listEach(u *url.URL, events int) bool {
	if u.RawQuery != "" {
		switch u.Query().Get("results") {
		case "each":
			return true
		case "runs":
			return false
		}
	}
	return events <= maxEachResults
}

func (c *call) appendEach(b []byte) []byte {
	b = append(b, `,"results":[`...)
	for i := range c.outcomes {
		o := &c.outcomes[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"status":"`...)
		b = append(append(b, statusNames[o.status]...), '"')
		b = c.appendWhere(b, i)
		b = append(o.appendDetail(b), '}')
	}
	return append(b, ']')
}

// appendRuns lists neighbours of one status as one: of kept ones where their
// positions follow each other, of others where the reason is the same.
func (c *call) appendRuns(b []byte) []byte {
	b = append(b, `,"runs":[`...)
	for from := 0; from < len(c.outcomes); {
		to := from + 1
		for to < len(c.outcomes) && follows(&c.outcomes[to-1], &c.outcomes[to]) {
			to++
		}
		if from > 0 {
			b = append(b, ',')
		}
		o := &c.outcomes[from]
		b = strconv.AppendInt(append(b, `{"from":`...), int64(from), 10)
		b = strconv.AppendInt(append(b, `,"count":`...), int64(to-from), 10)
		b = append(b, `,"status":"`...)
		b = append(append(b, statusNames[o.status]...), '"')
		b = c.appendWhere(b, from)
		b = append(o.appendPlace(b), '}')
		from = to
	}
	return append(b, ']')
}

// appendWhere writes which event of the batch was rejected, and at which byte of
// the body it begins or is wrong.
func (c *call) appendWhere(b []byte, i int) []byte {
	if c.outcomes[i].status != rejected {
		return b
	}
	b = strconv.AppendInt(append(b, `,"index":`...), int64(i), 10)
	return strconv.AppendInt(append(b, `,"offset":`...), int64(c.items[i].Offset), 10)
}

// appendLetter writes which dead letter has what was rejected.
func appendLetter(b []byte, letter string) []byte {
	if letter == "" {
		return b
	}
	return appendString(append(b, `,"deadLetter":`...), letter)
}

func follows(a, b *outcome) bool {
	if a.letter != b.letter && !isNext(a.letter, b.letter) {
		return false
	}
	if a.status != b.status || a.reason != b.reason || a.position.Partition != b.position.Partition {
		return false
	}
	if a.position == (stream.Position{}) && b.position == a.position {
		return true
	}
	return isNext(a.position.Offset, b.position.Offset)
}

// isNext reports whether b is the offset behind a.
func isNext(a, b string) bool {
	x, err := strconv.ParseUint(a, 10, 64)
	if err != nil {
		return false
	}
	y, err := strconv.ParseUint(b, 10, 64)
	return err == nil && y == x+1
}

// appendPlace writes where the event is, or why it is nowhere.
func (o *outcome) appendPlace(b []byte) []byte {
	if o.position != (stream.Position{}) {
		b = append(b, `,"position":`...)
		b = appendString(b, o.position.Partition+"/"+o.position.Offset)
	}
	if o.reason != "" {
		b = appendString(append(b, `,"reason":`...), o.reason)
	}
	return appendLetter(b, o.letter)
}

func (o *outcome) appendDetail(b []byte) []byte {
	b = o.appendPlace(b)
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
