package capture

import (
	"encoding/binary"
	"errors"
	"time"
)

// A block as bytes: a header, and the entries, compressed by zstd. The header,
// little-endian:
//
//	magic    4   "wCb2"; another version has another one
//	sum      4   CRC-32C of the 40 bytes behind it
//	segment  8   the random number of the segment
//	first    8   the earliest entry's time, Unix nanoseconds
//	last     8   the latest's
//	count    4   entries
//	raw      4   bytes of entries before compression
//	payload  4   bytes
//	sum      4   CRC-32C of the payload
//
// The random number keeps bytes that a client sent from being taken for a
// block: nobody outside knows it.
const (
	// HeaderLen is the length of a block's header in bytes.
	HeaderLen = 48
	// Magic begins every block.
	Magic = "wCb2"

	// maxPacked bounds what a payload may claim: zstd adds little to bytes that
	// it cannot compress.
	maxPacked = MaxBlock + MaxBlock/64
)

var le = binary.LittleEndian

// Header is what stands before a block.
type Header struct {
	// Segment is the random number of the segment that the block was written
	// to.
	Segment uint64
	// Count is how many entries there are, at least 1.
	Count int

	first, last  int64
	raw, payload int
	payloadSum   uint32
}

// ParseHeader reads a block's header; false where there is none.
func ParseHeader(b []byte) (Header, bool) {
	if len(b) < HeaderLen || string(b[:4]) != Magic || le.Uint32(b[4:]) != checksum(b[8:HeaderLen]) {
		return Header{}, false
	}
	h := Header{
		Segment:    le.Uint64(b[8:]),
		first:      int64(le.Uint64(b[16:])),
		last:       int64(le.Uint64(b[24:])),
		Count:      int(le.Uint32(b[32:])),
		raw:        int(le.Uint32(b[36:])),
		payload:    int(le.Uint32(b[40:])),
		payloadSum: le.Uint32(b[44:]),
	}
	ok := h.Count > 0 && h.Count <= h.raw && h.raw <= MaxBlock && h.payload <= maxPacked &&
		0 <= h.first && h.first <= h.last && h.last < newest.UnixNano()
	return h, ok
}

func (h *Header) put(b []byte) {
	copy(b, Magic)
	le.PutUint64(b[8:], h.Segment)
	le.PutUint64(b[16:], uint64(h.first))
	le.PutUint64(b[24:], uint64(h.last))
	le.PutUint32(b[32:], uint32(h.Count))
	le.PutUint32(b[36:], uint32(h.raw))
	le.PutUint32(b[40:], uint32(h.payload))
	le.PutUint32(b[44:], h.payloadSum)
	le.PutUint32(b[4:], checksum(b[8:HeaderLen]))
}

// First and Last are the times of the earliest and the latest entry.
func (h *Header) First() time.Time { return time.Unix(0, h.first).UTC() }

// Last is the time of the latest entry.
func (h *Header) Last() time.Time { return time.Unix(0, h.last).UTC() }

// Size is the length of the whole block in bytes.
func (h *Header) Size() int64 { return HeaderLen + int64(h.payload) }

// Unpacked is the length of the entries before compression, in bytes.
func (h *Header) Unpacked() int64 { return int64(h.raw) }

var errSum = errors.New("its checksum does not match")
