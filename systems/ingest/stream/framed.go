package stream

import (
	"encoding/binary"
	"errors"
)

// RecordsType is the media type of a body of framed records.
const RecordsType = "application/vnd.whittle.records"

// errFrame says that a body of framed records ends within one, or is none.
var errFrame = errors.New("no framed records")

// FramedLen is the length of what AppendFramed adds, in bytes.
func FramedLen(r *Record) int {
	n := EncodedLen(r)
	return uvarintLen(uint64(n)) + n
}

// AppendFramed appends a record's encoding with its length before it, so that
// records can follow each other.
func AppendFramed(dst []byte, r *Record) []byte {
	return AppendRecord(binary.AppendUvarint(dst, uint64(EncodedLen(r))), r)
}

// NextFramed cuts the next record's encoding off a body of framed records, for
// ParseRecord. Its error says that the body holds no whole one.
func NextFramed(body []byte) (encoded, rest []byte, err error) {
	n, width := binary.Uvarint(body)
	if width <= 0 || n > uint64(len(body)-width) {
		return nil, nil, errFrame
	}
	return body[width:][:n:n], body[width:][n:], nil
}
