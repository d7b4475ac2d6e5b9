package capture

import (
	"encoding/binary"
	"errors"
	"time"
)

// A block as bytes: a header, a summary that says what is in the block without
// unpacking it, and the entries, compressed by zstd. The header, little-endian:
//
//	magic    4   "wCb1"; another version has another one
//	sum      4   CRC-32C of the 56 bytes behind it
//	segment  8   the random number of the segment
//	first    8   the earliest entry's time, Unix nanoseconds
//	last     8   the latest's
//	count    4   entries
//	raw      4   bytes of entries before compression
//	summary  4   bytes
//	payload  4   bytes
//	sums     8   CRC-32C of the summary, of the payload
//	zeros    8
//
// The random number keeps bytes that a client sent from being taken for a
// block: nobody outside knows it.
const (
	// HeaderLen is the length of a block's header in bytes.
	HeaderLen = 64
	// Magic begins every block.
	Magic = "wCb1"

	// maxPacked bounds what a payload may claim: zstd adds little to bytes that
	// it cannot compress.
	maxPacked = MaxBlock + MaxBlock/64
	// maxSummary is far above what a block's rows can come to.
	maxSummary = 8 << 20
)

var le = binary.LittleEndian

// Header is what stands before a block.
type Header struct {
	// Segment is the random number of the segment that the block was written
	// to.
	Segment uint64
	// Count is how many entries there are, at least 1.
	Count int

	first, last            int64
	raw, summary, payload  int
	summarySum, payloadSum uint32
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
		summary:    int(le.Uint32(b[40:])),
		payload:    int(le.Uint32(b[44:])),
		summarySum: le.Uint32(b[48:]),
		payloadSum: le.Uint32(b[52:]),
	}
	ok := h.Count > 0 && h.Count <= h.raw && h.raw <= MaxBlock &&
		h.summary <= maxSummary && h.payload <= maxPacked &&
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
	le.PutUint32(b[40:], uint32(h.summary))
	le.PutUint32(b[44:], uint32(h.payload))
	le.PutUint32(b[48:], h.summarySum)
	le.PutUint32(b[52:], h.payloadSum)
	clear(b[56:HeaderLen])
	le.PutUint32(b[4:], checksum(b[8:HeaderLen]))
}

// First and Last are the times of the earliest and the latest entry.
func (h *Header) First() time.Time { return time.Unix(0, h.first).UTC() }

// Last is the time of the latest entry.
func (h *Header) Last() time.Time { return time.Unix(0, h.last).UTC() }

// Size is the length of the whole block in bytes.
func (h *Header) Size() int64 { return HeaderLen + int64(h.summary) + int64(h.payload) }

// SummarySize is the length of the summary, which follows the header.
func (h *Header) SummarySize() int { return h.summary }

// Unpacked is the length of the entries before compression, in bytes.
func (h *Header) Unpacked() int64 { return int64(h.raw) }

var errSum = errors.New("its checksum does not match")

// Rows reads the summary, which follows the header.
func (h *Header) Rows(summary []byte) ([]Row, error) {
	if len(summary) != h.summary || checksum(summary) != h.summarySum {
		return nil, errSum
	}
	return parseSummary(summary)
}
