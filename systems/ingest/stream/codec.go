package stream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

// CorruptError is a record that cannot be read as it was appended.
type CorruptError struct {
	Position Position
	Reason   string
}

// Error names the place and what is wrong there.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("corrupt record at %s/%s: %s", e.Position.Partition, e.Position.Offset, e.Reason)
}

// The encoding of a record, all numbers little-endian or unsigned varints:
//
//	version  1 byte, 1
//	sum      4 bytes, CRC-32C of value
//	time     8 bytes, nanoseconds since 1970 (two's complement)
//	id, key  varint length and bytes, each
//	headers  varint count, then name and value as id
//	value    the rest
const version = 1

// EncodedLen is the length of what AppendRecord adds, in bytes.
func EncodedLen(r *Record) int {
	n := 1 + 4 + 8 + textLen(r.ID) + textLen(r.Key) + uvarintLen(uint64(len(r.Header))) + len(r.Value)
	for _, h := range r.Header {
		n += textLen(h.Name) + textLen(h.Value)
	}
	return n
}

func textLen(s string) int { return uvarintLen(uint64(len(s))) + len(s) }

func uvarintLen(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}

// AppendRecord appends the encoding of r to dst.
func AppendRecord(dst []byte, r *Record) []byte {
	dst = append(dst, version)
	dst = binary.LittleEndian.AppendUint32(dst, r.Sum)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(r.Time.UnixNano()))
	dst = appendText(dst, r.ID)
	dst = appendText(dst, r.Key)
	dst = binary.AppendUvarint(dst, uint64(len(r.Header)))
	for _, h := range r.Header {
		dst = appendText(appendText(dst, h.Name), h.Value)
	}
	return append(dst, r.Value...)
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// ParseRecord reads what AppendRecord wrote. The record's Value is part of b.
// It does not check Sum: see Record.Intact.
func ParseRecord(b []byte) (Record, error) {
	if len(b) < 13 || b[0] != version {
		return Record{}, errors.New("no record's encoding")
	}
	r := Record{
		Sum:  binary.LittleEndian.Uint32(b[1:]),
		Time: time.Unix(0, int64(binary.LittleEndian.Uint64(b[5:]))).UTC(),
	}
	p := parser{rest: b[13:]}
	r.ID, r.Key = p.text(MaxID), p.text(MaxKey)
	if n := p.number(MaxHeaders); n > 0 {
		r.Header = make([]Header, n)
		for i := range r.Header {
			r.Header[i] = Header{Name: p.text(math.MaxInt32), Value: p.text(math.MaxInt32)}
		}
	}
	if p.failed {
		return Record{}, errors.New("a record's encoding that is cut off or out of bounds")
	}
	r.Value = p.rest
	return r, nil
}

// parser takes one part after the other, and remembers that one was not there.
type parser struct {
	rest   []byte
	failed bool
}

func (p *parser) number(limit uint64) uint64 {
	v, n := binary.Uvarint(p.rest)
	if n <= 0 || v > limit {
		p.failed, p.rest = true, nil
		return 0
	}
	p.rest = p.rest[n:]
	return v
}

func (p *parser) text(limit uint64) string {
	n := p.number(limit)
	if n > uint64(len(p.rest)) {
		p.failed, p.rest = true, nil
		return ""
	}
	s := string(p.rest[:n])
	p.rest = p.rest[n:]
	return s
}
