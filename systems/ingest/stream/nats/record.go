package nats

import (
	"net/url"
	"strconv"
	"strings"
	"time"

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

// fromNATS is toNATS's inverse. The entry's Value is the message's.
func fromNATS(sequence uint64, header client.Header, value []byte) (stream.Entry, error) {
	e := stream.Entry{Position: position(sequence)}
	fail := func(reason string) (stream.Entry, error) {
		return stream.Entry{}, &stream.CorruptError{Position: e.Position, Reason: reason}
	}
	if header.Get(headSum) == "" || header.Get(headTime) == "" {
		return fail("it was not appended by this service: its headers are missing")
	}
	sum, err := strconv.ParseUint(header.Get(headSum), 16, 32)
	if err != nil {
		return fail("its checksum cannot be read")
	}
	nanos, err := strconv.ParseInt(header.Get(headTime), 10, 64)
	if err != nil {
		return fail("its time cannot be read")
	}
	e.Record = stream.Record{Time: time.Unix(0, nanos).UTC(), Value: value, Sum: uint32(sum)}
	if e.ID, err = url.QueryUnescape(header.Get(headID)); err != nil {
		return fail("its id cannot be read")
	}
	if e.Key, err = url.QueryUnescape(header.Get(headKey)); err != nil {
		return fail("its key cannot be read")
	}
	for _, pair := range header[headPair] {
		name, value, _ := strings.Cut(pair, "=")
		h := stream.Header{}
		if h.Name, err = url.QueryUnescape(name); err == nil {
			h.Value, err = url.QueryUnescape(value)
		}
		if err != nil {
			return fail("a header cannot be read")
		}
		e.Header = append(e.Header, h)
	}
	if !e.Intact() {
		return fail("its value is not what was sealed (CRC-32C)")
	}
	return e, nil
}
