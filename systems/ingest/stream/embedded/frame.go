package embedded

import (
	"encoding/binary"

	"whittle/systems/ingest/stream"
)

// A segment is a file of sectors. The first one is its label; batches follow,
// each whole sectors long, each written and synced before the next one begins:
//
//	frame    48 bytes  the head
//	records  length    stream.AppendRecord's encodings, one behind the other
//	table    8·count   length and CRC-32C of each record
//	zeros              up to whole sectors
//	frame    48 bytes  the foot: the head again under another magic
//
// A frame, little-endian:
//
//	magic    4   head or foot
//	sum      4   CRC-32C of the 40 bytes behind it
//	segment  8   the random number on the segment's label
//	base     8   offset of the first record
//	time     8   when it was committed, Unix nanoseconds
//	count    4   records
//	length   4   bytes of records
//	table    4   CRC-32C of the table
//	blank    4   sectors of the batch that are all zeros
//
// The random number keeps bytes of a client's from being taken for a frame:
// nobody outside knows it.
const (
	sector    = 512
	frameLen  = 48
	entryLen  = 8
	headMagic = 'W' | 'H'<<8 | 'T'<<16 | 'h'<<24
	footMagic = 'W' | 'H'<<8 | 'T'<<16 | 'f'<<24

	// maxFrame bounds what a frame may claim, so that damage asks for no memory.
	maxFrame = 128 << 20
)

var le = binary.LittleEndian

// frame is what stands at both ends of a batch.
type frame struct {
	segment uint64
	base    uint64
	time    int64
	count   uint32
	length  uint32
	table   uint32
	blank   uint32
}

// next is the offset behind the batch.
func (f *frame) next() uint64 { return f.base + uint64(f.count) }

// size is the batch's length in the file, in bytes.
func (f *frame) size() int64 { return paddedSize(int(f.length), int(f.count)) }

func paddedSize(length, count int) int64 {
	n := int64(2*frameLen) + int64(length) + entryLen*int64(count)
	return (n + sector - 1) / sector * sector
}

func (f *frame) put(b []byte, magic uint32) {
	le.PutUint32(b, magic)
	le.PutUint64(b[8:], f.segment)
	le.PutUint64(b[16:], f.base)
	le.PutUint64(b[24:], uint64(f.time))
	le.PutUint32(b[32:], f.count)
	le.PutUint32(b[36:], f.length)
	le.PutUint32(b[40:], f.table)
	le.PutUint32(b[44:], f.blank)
	le.PutUint32(b[4:], stream.Checksum(b[8:frameLen]))
}

// parseFrame reads a frame of any segment; false where there is none.
func parseFrame(b []byte, magic uint32) (frame, bool) {
	if len(b) < frameLen || le.Uint32(b) != magic || le.Uint32(b[4:]) != stream.Checksum(b[8:frameLen]) {
		return frame{}, false
	}
	f := frame{
		segment: le.Uint64(b[8:]),
		base:    le.Uint64(b[16:]),
		time:    int64(le.Uint64(b[24:])),
		count:   le.Uint32(b[32:]),
		length:  le.Uint32(b[36:]),
		table:   le.Uint32(b[40:]),
		blank:   le.Uint32(b[44:]),
	}
	ok := f.count > 0 && f.size() <= maxFrame && f.next() > f.base
	return f, ok
}

// The label of a segment, in its first sector, zeros behind it:
//
//	magic    8
//	segment  8   random
//	sum      4   CRC-32C of the 16 bytes before it
const (
	labelLen   = 20
	labelMagic = "WHTLSEG2"
)

func putLabel(b []byte, segment uint64) {
	copy(b, labelMagic)
	le.PutUint64(b[8:], segment)
	le.PutUint32(b[16:], stream.Checksum(b[:16]))
}

func parseLabel(b []byte) (segment uint64, ok bool) {
	if len(b) < labelLen || string(b[:8]) != labelMagic || le.Uint32(b[16:]) != stream.Checksum(b[:16]) {
		return 0, false
	}
	return le.Uint64(b[8:]), true
}

// blanks counts the sectors that are all zeros.
func blanks(b []byte) (n uint32) {
	for ; len(b) >= sector; b = b[sector:] {
		if allZero(b[:sector]) {
			n++
		}
	}
	return n
}

// allZero reports whether there are zeros only.
func allZero(b []byte) bool {
	for ; len(b) >= 8; b = b[8:] {
		if le.Uint64(b) != 0 {
			return false
		}
	}
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
