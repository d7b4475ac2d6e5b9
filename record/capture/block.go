package capture

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Block collects entries that are written together. The zero value is ready; it
// is for one goroutine.
type Block struct {
	raw    []byte
	head   Header
	packed *zstd.Encoder
}

// Add adds an entry. On an error, which is AppendEntry's or says that the block
// is full, the block is unchanged.
func (b *Block) Add(e *Entry) error {
	raw, err := AppendEntry(b.raw, e)
	if err != nil {
		return err
	}
	if len(raw) > MaxBlock {
		return tooLarge("its block would have %d bytes", len(raw))
	}
	at := e.At.UnixNano()
	if b.head.Count == 0 {
		b.head.first, b.head.last = at, at
	}
	b.head.first, b.head.last = min(b.head.first, at), max(b.head.last, at)
	b.head.Count++
	b.raw = raw
	return nil
}

// Len is how many entries are in the block.
func (b *Block) Len() int { return b.head.Count }

// Unpacked is the length of the block's entries before compression, in bytes.
func (b *Block) Unpacked() int { return len(b.raw) }

// Seal appends the encoded block to dst, with the number of the segment that it
// belongs to, and empties the block.
func (b *Block) Seal(dst []byte, segment uint64) []byte {
	h := b.head
	h.Segment, h.raw = segment, len(b.raw)
	start := len(dst)
	dst = append(dst, make([]byte, HeaderLen)...)
	dst = b.encoder().EncodeAll(b.raw, dst)
	h.payload = len(dst) - start - HeaderLen
	h.payloadSum = checksum(dst[start+HeaderLen:])
	h.put(dst[start:])
	b.Drop()
	return dst
}

// roomy is the size from which a buffer is not kept: one large entry needed it.
const roomy = 8 << 20

// Drop empties the block.
func (b *Block) Drop() {
	b.raw = b.raw[:0]
	if cap(b.raw) > roomy {
		b.raw = nil
	}
	b.head = Header{}
}

func (b *Block) encoder() *zstd.Encoder {
	if b.packed == nil {
		// The options are constants that the library takes. A higher level takes
		// more time and saves nothing: exchanges are much alike.
		b.packed, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
			zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<20))
	}
	return b.packed
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// BlockReader reads the entries of one block at a time. The zero value is
// ready; it is for one goroutine.
type BlockReader struct {
	entries Decoder
	packed  *zstd.Decoder
	raw     []byte
	rest    []byte
	left    int
}

// Reset starts another block, given what follows its header. An error says what
// is wrong with the block, and then nothing of it can be read.
func (r *BlockReader) Reset(h *Header, payload []byte) error {
	r.Drop()
	if int64(len(payload)) != h.Size()-HeaderLen {
		return errors.New("it is not whole")
	}
	if checksum(payload) != h.payloadSum {
		return errSum
	}
	if r.packed == nil {
		// The options are constants that the library accepts. The result is
		// never larger than the header says.
		r.packed, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true),
			zstd.WithDecoderMaxMemory(MaxBlock), zstd.WithDecoderMaxWindow(MaxBlock))
	}
	if cap(r.raw) < h.raw || cap(r.raw) > roomy && h.raw <= roomy {
		r.raw = make([]byte, 0, max(h.raw, 64<<10))
	}
	raw, err := r.packed.DecodeAll(payload, r.raw[:0:h.raw])
	switch {
	case err != nil:
		return fmt.Errorf("unpack: %w", err)
	case len(raw) != h.raw:
		return fmt.Errorf("it unpacks to %d bytes where it says %d", len(raw), h.raw)
	}
	r.rest, r.left = raw, h.Count
	return nil
}

// Next reads the next entry into e, or returns io.EOF after the last one. e is
// valid until Reset.
func (r *BlockReader) Next(e *Entry) error {
	if r.left == 0 {
		if len(r.rest) > 0 {
			r.Drop()
			return fmt.Errorf("there is something behind its last entry: %w", errEntry)
		}
		return io.EOF
	}
	rest, err := r.entries.Decode(r.rest, e)
	if err != nil {
		r.Drop()
		return err
	}
	r.rest = rest
	r.left--
	return nil
}

// Drop discards the rest of the block.
func (r *BlockReader) Drop() { r.rest, r.left = nil, 0 }
