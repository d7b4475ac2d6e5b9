package capture

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

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
// is wrong with the block, of which nothing can be read then.
func (r *BlockReader) Reset(h *Header, body []byte) error {
	r.Drop()
	if int64(len(body)) != h.Size()-HeaderLen {
		return errors.New("it is not whole")
	}
	payload := body[h.summary:]
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
