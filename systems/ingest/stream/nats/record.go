package nats

import (
	"net/url"
	"strconv"

	client "github.com/nats-io/nats.go"

	"whittle/systems/ingest/stream"
)

// Each message is a record's value with these headers. NATS headers are lines of
// text, so what a client may have put into an id, a key or a header is
// percent-encoded (as in a URL's query).
const (
	headSum  = "Whittle-Sum"    // CRC-32C of the value, hex
	headTime = "Whittle-Time"   // nanoseconds since 1970, decimal
	headID   = "Whittle-Id"     // the record's ID
	headKey  = "Whittle-Key"    // the record's Key
	headPair = "Whittle-Header" // name=value, one for each of the record's Header
)

// headExtra is what a message's headers may take beyond a record's encoding
// (stream.EncodedLen) where nothing in it needs percent-encoding, in bytes. What
// does is measured at Append.
const headExtra = 2048

// maxHead is JetStream's bound of a message's headers, in bytes.
const maxHead = 64 << 10

// toNATS makes a message of r, with a copy of its value: the caller has its
// memory back when Append returns, which may be before the server has acknowledged.
func toNATS(subject string, r *stream.Record) *client.Msg {
	m := client.NewMsg(subject)
	m.Data = append(make([]byte, 0, len(r.Value)), r.Value...)
	m.Header[headSum] = []string{strconv.FormatUint(uint64(r.Sum), 16)}
	m.Header[headTime] = []string{strconv.FormatInt(r.Time.UnixNano(), 10)}
	if r.ID != "" {
		m.Header[headID] = []string{url.QueryEscape(r.ID)}
	}
	if r.Key != "" {
		m.Header[headKey] = []string{url.QueryEscape(r.Key)}
	}
	for _, h := range r.Header {
		m.Header[headPair] = append(m.Header[headPair], url.QueryEscape(h.Name)+"="+url.QueryEscape(h.Value))
	}
	return m
}

// headLen bounds what m's headers take, in bytes.
func headLen(m *client.Msg) int {
	const idLine = 64
	n := len("NATS/1.0\r\n\r\n") + idLine
	for name, values := range m.Header {
		for _, v := range values {
			n += len(name) + len(": \r\n") + len(v)
		}
	}
	return n
}
