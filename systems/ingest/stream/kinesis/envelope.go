package kinesis

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"time"
	"unicode/utf8"

	"whittle/internal/jsonscan"
	"whittle/systems/ingest/stream"
)

// The envelope is a record as a line of JSON that any consumer can read:
//
//	{"v":1,"id":"m1","key":"u1","time":"2026-01-02T03:04:05.6Z","headers":[["kind","track"]],"sum":"7a31e2b5","event":{…}}
//
// The event stands there byte for byte as "event" where it is a line of JSON,
// as "text" where it is other text, and else in Base64 as "base64". sum is the
// CRC-32C of its bytes in hexadecimal. The line ends with \n, so that what a
// delivery stream concatenates is JSON lines.
type envelope struct {
	Version int             `json:"v"`
	ID      string          `json:"id"`
	Key     string          `json:"key"`
	Time    time.Time       `json:"time"`
	Headers [][2]string     `json:"headers"`
	Sum     string          `json:"sum"`
	Event   json.RawMessage `json:"event"`
	Text    *string         `json:"text"`
	Base64  *string         `json:"base64"`
}

// envelopeBegins is how each one begins. The compact encoding begins with
// another byte.
const envelopeBegins = `{"v":1,`

// appendEnvelope puts a record into an envelope. ok is false where JSON cannot hold what is
// around the event, or the envelope has more than limit bytes: then the compact
// encoding can.
func appendEnvelope(b []byte, r *stream.Record, limit int) (_ []byte, ok bool) {
	if !utf8.ValidString(r.ID) || !utf8.ValidString(r.Key) {
		return b, false
	}
	b = append(b, envelopeBegins...)
	b = append(jsonscan.AppendString(append(b, `"id":`...), r.ID), ',')
	b = append(jsonscan.AppendString(append(b, `"key":`...), r.Key), ',')
	b = r.Time.UTC().AppendFormat(append(b, `"time":"`...), time.RFC3339Nano)
	b = append(b, `","headers":[`...)
	for i, h := range r.Header {
		if !utf8.ValidString(h.Name) || !utf8.ValidString(h.Value) {
			return b, false
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsonscan.AppendString(append(b, '['), h.Name), ',')
		b = append(jsonscan.AppendString(b, h.Value), ']')
	}
	b = hex.AppendEncode(append(b, `],"sum":"`...), binary.BigEndian.AppendUint32(nil, r.Sum))
	b = append(b, `",`...)
	switch {
	case isLine(r.Value):
		b = append(append(b, `"event":`...), r.Value...)
	case utf8.Valid(r.Value):
		b = jsonscan.AppendString(append(b, `"text":`...), string(r.Value))
	default:
		b = base64.StdEncoding.AppendEncode(append(b, `"base64":"`...), r.Value)
		b = append(b, '"')
	}
	b = append(b, "}\n"...)
	return b, len(b) <= limit
}

// isLine reports whether a value is JSON that can stand in a line as it is.
func isLine(value []byte) bool {
	return len(value) > 0 && value[0] > ' ' && value[len(value)-1] > ' ' && bytes.IndexByte(value, '\n') < 0 &&
		utf8.Valid(value) && jsonscan.Check(value, jsonscan.MaxDepth) == nil
}

var errEnvelope = errors.New("an envelope that cannot be read")

// parseData reads a record in either encoding. The record shares its memory
// with data.
func parseData(data []byte) (stream.Record, error) {
	if !bytes.HasPrefix(data, []byte(envelopeBegins)) {
		return stream.ParseRecord(data)
	}
	var e envelope
	if json.Unmarshal(data, &e) != nil || len(e.ID) > stream.MaxID || len(e.Key) > stream.MaxKey || len(e.Headers) > stream.MaxHeaders {
		return stream.Record{}, errEnvelope
	}
	r := stream.Record{ID: e.ID, Key: e.Key, Time: e.Time.UTC()}
	sum, err := strconv.ParseUint(e.Sum, 16, 32)
	r.Sum = uint32(sum)
	for _, h := range e.Headers {
		r.Header = append(r.Header, stream.Header{Name: h[0], Value: h[1]})
	}
	switch {
	case e.Event != nil:
		r.Value = e.Event
	case e.Text != nil:
		r.Value = []byte(*e.Text)
	case e.Base64 != nil && err == nil:
		r.Value, err = base64.StdEncoding.DecodeString(*e.Base64)
	default:
		err = errEnvelope
	}
	if err != nil {
		return stream.Record{}, errEnvelope
	}
	return r, nil
}
