package kinesis

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"time"
	"unicode/utf8"

	"whittle"
	"whittle/internal/jsonscan"
	"whittle/systems/ingest/stream"
)

// The envelope is a record as a line of JSON that any consumer can read:
//
//	{"v":1,"id":"m1","key":"u1","time":"2026-01-02T03:04:05.6Z","headers":[["kind","track"]],"sum":"7a31e2b5","event":{…}}
//
// The event stands there byte for byte as "event" where it is a line of JSON,
// as "text" where it is other text, and in Base64 as "base64" where that is
// shorter or it is no text. An id, a key or a part of a header that is no text is an object
// with "base64". sum is the CRC-32C of its bytes in hexadecimal. The line ends with \n, so that what a
// delivery stream concatenates is JSON lines.

// envelopeCost bounds what an envelope has around a record's encoding, in bytes.
const envelopeCost = 1024

// encode gives a record's data, or why there is none (Invalid).
func (s *Stream) encode(r *stream.Record) ([]byte, error) {
	if err := stream.Check(r, s.Limit()); err != nil {
		return nil, err
	}
	if !s.o.Raw {
		b := appendEnvelope(make([]byte, 0, stream.EncodedLen(r)+envelopeCost), r)
		if most := maxRecordBytes - stream.MaxKey; len(b) > most {
			return nil, whittle.Errorf(whittle.Invalid, "put record: as a line of JSON it has %d bytes, %d are the most", len(b), most)
		}
		return b, nil
	}
	switch {
	case len(r.Value) == 0:
		return nil, whittle.Errorf(whittle.Invalid, "put record: a raw stream takes no empty value")
	case !r.Intact():
		return nil, whittle.Errorf(whittle.Invalid, "put record: its value is not what was sealed, and a raw stream does not keep the sum")
	}
	return bytes.Clone(r.Value), nil
}

// partitionKey is the partition key for a record's key. Kinesis takes text
// only; a key that is none is represented by its MD5.
func partitionKey(key string) string {
	if utf8.ValidString(key) {
		return key
	}
	sum := md5.Sum([]byte(key))
	return hex.EncodeToString(sum[:])
}

// appendText appends an id, a key or a part of a header: what is no UTF-8 in Base64.
func appendText(b []byte, s string) []byte {
	if utf8.ValidString(s) {
		return jsonscan.AppendString(b, s)
	}
	return append(base64.StdEncoding.AppendEncode(append(b, `{"base64":"`...), []byte(s)), `"}`...)
}

// appendEnvelope puts a record into an envelope.
func appendEnvelope(b []byte, r *stream.Record) []byte {
	b = append(appendText(append(b, `{"v":1,"id":`...), r.ID), ',')
	b = append(appendText(append(b, `"key":`...), r.Key), ',')
	b = r.Time.UTC().AppendFormat(append(b, `"time":"`...), time.RFC3339Nano)
	b = append(b, `","headers":[`...)
	for i, h := range r.Header {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(append(b, '['), h.Name), ',')
		b = append(appendText(b, h.Value), ']')
	}
	b = hex.AppendEncode(append(b, `],"sum":"`...), binary.BigEndian.AppendUint32(nil, r.Sum))
	b = append(b, `",`...)
	if isLine(r.Value) {
		return append(append(append(b, `"event":`...), r.Value...), "}\n"...)
	}
	coded := base64.StdEncoding.EncodedLen(len(r.Value))
	if utf8.Valid(r.Value) {
		at := len(b)
		b = jsonscan.AppendString(append(b, `"text":`...), string(r.Value))
		if len(b)-at <= len(`"base64":""`)+coded { // control characters take six bytes each
			return append(b, "}\n"...)
		}
		b = b[:at]
	}
	b = base64.StdEncoding.AppendEncode(append(b, `"base64":"`...), r.Value)
	return append(b, "\"}\n"...)
}

// isLine reports whether a value is JSON that can stand in a line as it is.
func isLine(value []byte) bool {
	return len(value) > 0 && value[0] > ' ' && value[len(value)-1] > ' ' && bytes.IndexByte(value, '\n') < 0 &&
		utf8.Valid(value) && jsonscan.Check(value, jsonscan.MaxDepth) == nil
}
