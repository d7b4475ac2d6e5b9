package main

import (
	"encoding/json"
	"time"
	"unicode/utf8"

	"whittle/systems/ingest/stream"
)

// shown is an entry as a line of JSON. One of JSON, Text and Base64 holds the
// value: whichever can.
type shown struct {
	Position string            `json:"position"`
	Time     time.Time         `json:"time"`
	ID       string            `json:"id,omitempty"`
	Key      string            `json:"key,omitempty"`
	Header   map[string]string `json:"header,omitempty"`
	JSON     json.RawMessage   `json:"value,omitempty"`
	Text     string            `json:"text,omitempty"`
	Base64   []byte            `json:"base64,omitempty"`
}

func show(e *stream.Entry) shown {
	s := shown{Position: formatPosition(e.Position), Time: e.Time, ID: e.ID, Key: e.Key}
	if len(e.Header) > 0 {
		s.Header = make(map[string]string, len(e.Header))
		for _, h := range e.Header {
			if before, ok := s.Header[h.Name]; ok {
				s.Header[h.Name] = before + ", " + h.Value
				continue
			}
			s.Header[h.Name] = h.Value
		}
	}
	switch {
	case json.Valid(e.Value):
		s.JSON = e.Value
	case utf8.Valid(e.Value):
		s.Text = string(e.Value)
	default:
		s.Base64 = e.Value
	}
	return s
}
