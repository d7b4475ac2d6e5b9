package event

import (
	"encoding/json"
	"strconv"
	"time"

	"whittle"
	"whittle/stream"
)

// Parser reads bodies and keeps its memory from one to the next. The zero
// value is ready. It belongs to one goroutine at a time.
type Parser struct{}

// Parse reads a body. Its error is about the whole body, with the code Invalid
// where it is not what its kind says, and ResourceExhausted where it is beyond
// a limit; what is wrong with a single event is in its Item. The Batch's
// memory is valid until the next call; the body's is not kept.
func (p *Parser) Parse(l Limits, c Call, body []byte) (Batch, error) {
	l = l.orDefault()
	if len(body) > l.Batch {
		return Batch{}, whittle.Errorf(whittle.ResourceExhausted, "the body is larger than %d bytes", l.Batch)
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(body, &top); err != nil {
		return Batch{}, whittle.Errorf(whittle.Invalid, "the body is not a JSON object")
	}
	events := []json.RawMessage{body}
	if c.Kind == Bulk || c.Kind == Import {
		events = nil
		if raw, ok := top["batch"]; !ok || json.Unmarshal(raw, &events) != nil {
			return Batch{}, ErrNoBatch
		}
	}
	b := Batch{WriteKey: c.WriteKey}
	if b.WriteKey == "" {
		_ = json.Unmarshal(top["writeKey"], &b.WriteKey)
	}
	for _, raw := range events {
		b.Items = append(b.Items, one(c, b.WriteKey, raw))
	}
	return b, nil
}

func one(c Call, writeKey string, raw []byte) Item {
	var e struct{ MessageID, UserID, AnonymousID, Type string }
	if err := json.Unmarshal(raw, &e); err != nil {
		return Item{Err: whittle.Errorf(whittle.Invalid, "the event is not an object")}
	}
	if e.UserID == "" {
		e.UserID = e.AnonymousID
	}
	if e.UserID == "" {
		return Item{Err: whittle.Errorf(whittle.Invalid, "the event has neither userId nor anonymousId")}
	}
	value := append([]byte(nil), raw[:len(raw)-1]...)
	if e.MessageID == "" {
		e.MessageID = c.NewID()
		value = strconv.AppendQuote(append(value, `,"messageId":`...), e.MessageID)
	}
	value = append(value, `,"receivedAt":"`+c.Received.UTC().Format(time.RFC3339Nano)+`"}`...)
	r := stream.Record{ID: e.MessageID, Key: e.UserID, Time: c.Received, Value: value}
	r.Header = append([]stream.Header{
		{Name: HeaderKind, Value: e.Type}, {Name: HeaderSource, Value: Digest(writeKey)},
		{Name: HeaderType, Value: "application/json"},
	}, c.Header...)
	r.Seal()
	return Item{Record: r}
}
