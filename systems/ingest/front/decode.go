package front

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"whittle"
)

// coding is a Content-Encoding that is understood.
type coding int

const (
	identity coding = iota
	gzipped
	deflated // RFC 9110 means zlib by it; some clients send raw deflate
	zstandard
)

// codingOf reads a Content-Encoding header. One coding at most: a body wrapped
// twice has no honest use here, and multiplies what a bomb can do.
func codingOf(header string) (coding, error) {
	switch strings.ToLower(strings.TrimSpace(header)) {
	case "", "identity":
		return identity, nil
	case "gzip", "x-gzip":
		return gzipped, nil
	case "deflate":
		return deflated, nil
	case "zstd":
		return zstandard, nil
	}
	return identity, whittle.Errorf(whittle.Unsupported, "the content encoding is not one of gzip, deflate, zstd, identity")
}

// expansion bounds what a compressed body may become.
type expansion struct {
	// size is the most bytes that come out.
	size int
	// ratio is the most bytes out for one byte in, looked at once more than
	// ratioFloor came out. 0: any.
	ratio int
}

// ratioFloor leaves small bodies alone: a few hundred bytes of one letter
// compress better than any bomb has to, and cost nothing.
const ratioFloor = 64 << 10

// limit is how many bytes may come out of so many.
func (e expansion) limit(wire int) int {
	if e.ratio == 0 {
		return e.size
	}
	return min(e.size, max(ratioFloor, wire*e.ratio))
}

var (
	errTooLarge = whittle.Errorf(whittle.ResourceExhausted, "the body is too large once decompressed")
	errRatio    = whittle.Errorf(whittle.ResourceExhausted, "the body expands by more than is believable")
	errWindow   = whittle.Errorf(whittle.Invalid, "the body's zstd window is longer than is taken: compress it with a level up to 19 and without --long")
	errGarbled  = whittle.Errorf(whittle.Invalid, "the body is not what its content encoding says")
)

// decode appends the content of wire to dst. It stops at the bound, so that
// whatever is sent costs at most that much memory and the time to make it. The
// error is one of errTooLarge, errRatio, errWindow, errGarbled.
func decode(c coding, dst, wire []byte, e expansion) ([]byte, error) {
	switch c {
	case gzipped:
		return inflate(gzipped, dst, wire, e)
	case deflated:
		if looksLikeZlib(wire) {
			out, err := inflate(deflated, dst, wire, e)
			// A raw stream can begin like zlib's header by chance, and then
			// fails as such.
			if !errors.Is(err, errGarbled) {
				return out, err
			}
		}
		return inflate(identity, dst, wire, e)
	case zstandard:
		return unzstd(dst, wire, e)
	}
	return append(dst, wire...), nil
}

// looksLikeZlib checks the two header bytes (RFC 1950, 2.2).
func looksLikeZlib(b []byte) bool {
	return len(b) >= 2 && b[0]&0x0f == 8 && (uint(b[0])<<8|uint(b[1]))%31 == 0
}

// inflater is a pooled decompressor and the reader that it takes its input from.
type inflater struct {
	in  bytes.Reader
	out io.Reader // nil: none was needed yet
}

// inflaters are pools of them by coding; those of identity are for raw deflate.
var inflaters [deflated + 1]sync.Pool

// begin makes ready for what is in in.
func (f *inflater) begin(c coding) (err error) {
	switch r := f.out.(type) {
	case *gzip.Reader:
		return r.Reset(&f.in)
	case flate.Resetter: // zlib's are the same
		return r.Reset(&f.in, nil)
	}
	var out io.Reader
	switch c {
	case gzipped:
		out, err = gzip.NewReader(&f.in)
	case deflated:
		out, err = zlib.NewReader(&f.in)
	default:
		out = flate.NewReader(&f.in)
	}
	if err == nil {
		f.out = out
	}
	return err
}

func inflate(c coding, dst, wire []byte, e expansion) ([]byte, error) {
	f, ok := inflaters[c].Get().(*inflater)
	if !ok {
		f = new(inflater)
	}
	defer inflaters[c].Put(f)
	f.in.Reset(wire)
	defer f.in.Reset(nil) // the pool does not hold on to a request's body
	if err := f.begin(c); err != nil {
		return dst, errGarbled
	}
	most := e.limit(len(wire))
	out, err := readUpTo(dst, f.out, most)
	switch {
	case errors.Is(err, errFull):
		return dst, tooMuch(most, e)
	case err != nil, f.in.Len() > 0:
		return dst, errGarbled
	}
	return out, nil
}

// tooMuch says which bound it was that held.
func tooMuch(most int, e expansion) error {
	if most < e.size {
		return errRatio
	}
	return errTooLarge
}

// errFull says that there is more to read than may be.
var errFull = errors.New("more than the bound")

// readUpTo appends all of r to dst, and gives errFull if that is more than most
// bytes. It reads one byte more than the bound to know.
func readUpTo(dst []byte, r io.Reader, most int) ([]byte, error) {
	begin := len(dst)
	for {
		if len(dst) == cap(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		capacity := dst[len(dst):min(cap(dst), begin+most+1)]
		n, err := r.Read(capacity)
		dst = dst[:len(dst)+n]
		if len(dst)-begin > most {
			return dst, errFull
		}
		if errors.Is(err, io.EOF) {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}

// zstd's bounds next to the size of what comes out. The window is what RFC 8878
// asks every decoder to support; DecodeAll looks back into its own output, so
// none is allocated next to it. A block is at most 128 KiB; the rest is what the
// decoder's copies may overshoot.
const (
	maxWindow        = 8 << 20
	decoderMaxMemory = 64 << 20
	oneBlock         = 128<<10 + 64
)

// unzipper is a pooled decoder with the room that it decodes into. The room is
// held for as long as it decodes and no longer, so that there are no more of
// them than cores.
type unzipper struct {
	decoder *zstd.Decoder
	buf     []byte
}

var zstdPool = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(decoderMaxMemory), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err) // the options above are not ones that it takes
	}
	return &unzipper{decoder: d}
}}

// unzstd decodes into a room of bounded size. The decoder does not distinguish a frame
// that needs more from one that is garbled, but for one block more than the
// target there always is room: what fails before the target is garbled.
func unzstd(dst, wire []byte, e expansion) ([]byte, error) {
	z := zstdPool.Get().(*unzipper)
	defer zstdPool.Put(z)
	most := e.limit(len(wire))
	for target := min(most, max(cap(z.buf)-oneBlock, oneBlock)); ; target = min(most, 4*target) {
		z.buf = slices.Grow(z.buf[:0], target+oneBlock)
		out, err := z.decoder.DecodeAll(wire, z.buf[:0:target+oneBlock])
		switch {
		case len(out) > target, errors.Is(err, zstd.ErrDecoderSizeExceeded):
			if target == most {
				return dst, tooMuch(most, e)
			}
		case errors.Is(err, zstd.ErrWindowSizeExceeded):
			return dst, errWindow
		case err != nil:
			return dst, errGarbled
		default:
			return append(dst, out...), nil
		}
	}
}
