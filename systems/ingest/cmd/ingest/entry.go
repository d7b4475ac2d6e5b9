package main

import (
	"encoding/json"
	"time"
	"unicode/utf8"

	"whittle/systems/ingest/stream"
)

// shown is an entry as a line of JSON.
type shown struct {
	Position string            `json:"position"`
	Time     time.Time         `json:"time"`
	ID       string            `json:"id,omitempty"`
	Key      string            `json:"key,omitempty"`
	Header   map[string]string `json:"header,omitempty"`
	body
}

// body is a value in whichever form can hold it.
type body struct {
	JSON   json.RawMessage `json:"value,omitempty"`
	Text   string          `json:"text,omitempty"`
	Base64 []byte          `json:"base64,omitempty"`
}

func bodyOf(value []byte) body {
	switch {
	case json.Valid(value):
		return body{JSON: value}
	case utf8.Valid(value):
		return body{Text: string(value)}
	}
	return body{Base64: value}
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
	s.body = bodyOf(e.Value)
	return s
}
