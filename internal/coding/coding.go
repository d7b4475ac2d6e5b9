// Package coding decodes the content coding of a body (RFC 9110, section 8.4),
// within a bound, for packages that read bodies: comparison, recording and archive.
// The response that a user gets is never decoded.
package coding

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// Why a body cannot be decoded.
var (
	ErrUnknown = errors.New("its content encoding is not one of gzip, deflate, br, zstd")
	ErrGarbled = errors.New("it is not what its content encoding says")
	ErrTooLong = errors.New("it is too long once its content encoding is taken off")
)

// maxWindow bounds what a zstd stream may ask its reader to remember (RFC 8878
// wants 8 MiB supported).
const maxWindow = 8 << 20

// Plain reports whether a header says that its body has no coding.
func Plain(h map[string][]string) bool {
	for _, v := range h["Content-Encoding"] {
		if v = strings.TrimSpace(v); v != "" && !strings.EqualFold(v, "identity") {
			return false
		}
	}
	return true
}

// Asked reports whether a request asks for the coding that a response has: by name or
// by *, and not with a weight of 0. A body without a coding needs no asking. What names
// no coding at all is taken as written by who reads none, as curl and most HTTP
// libraries do until they are told to, though RFC 9110 allows any there.
func Asked(request, response map[string][]string) bool {
	for _, line := range response["Content-Encoding"] {
		for name := range strings.SplitSeq(line, ",") {
			name = canonical(name)
			if name != "" && name != "identity" && !asks(request["Accept-Encoding"], name) {
				return false
			}
		}
	}
	return true
}

// asks reports whether an Accept-Encoding has a coding, by the name rather than by *.
func asks(accept []string, name string) bool {
	named, other := 0, 0 // -1: refused, 1: asked for
	for _, line := range accept {
		for part := range strings.SplitSeq(line, ",") {
			of, weight, _ := strings.Cut(part, ";")
			is := 1
			if k, q, _ := strings.Cut(weight, "="); strings.EqualFold(strings.TrimSpace(k), "q") && strings.Trim(strings.TrimSpace(q), "0.") == "" {
				is = -1
			}
			switch canonical(of) {
			case name:
				named = is
			case "*":
				other = is
			}
		}
	}
	return named > 0 || named == 0 && other > 0
}

// canonical is a coding's name without its old spelling.
func canonical(name string) string {
	return strings.TrimPrefix(strings.ToLower(strings.TrimSpace(name)), "x-")
}

// Decode returns a body decoded from gzip, deflate, br or zstd, or the body itself
// where it has no coding. Errors are ErrUnknown, also for several codings,
// ErrGarbled for malformed data, and ErrTooLong where the result would be longer
// than limit bytes.
func Decode(h map[string][]string, body []byte, limit int64) ([]byte, error) {
	if Plain(h) || len(body) == 0 {
		return body, nil
	}
	name := strings.ToLower(strings.TrimSpace(strings.Join(h["Content-Encoding"], ",")))
	from, end, err := open(name, body)
	if err != nil {
		return nil, err
	}
	defer end()
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(from, limit+1))
	switch {
	case n > limit:
		return nil, ErrTooLong
	case err != nil:
		return nil, fmt.Errorf("%w (%s): %w", ErrGarbled, name, err)
	}
	return out.Bytes(), nil
}

// pool keeps decoders that can be set on another body.
type pool[R interface{ Reset(io.Reader) error }] struct{ sync.Pool }

func (p *pool[R]) open(body []byte, begin func(io.Reader) (R, error)) (io.Reader, func(), error) {
	in := bytes.NewReader(body)
	if r, ok := p.Get().(R); ok {
		if err := r.Reset(in); err != nil {
			return nil, nil, err
		}
		return any(r).(io.Reader), func() { p.Put(r) }, nil
	}
	r, err := begin(in)
	if err != nil {
		return nil, nil, err
	}
	return any(r).(io.Reader), func() { p.Put(r) }, nil
}

var (
	gzips   pool[*gzip.Reader]
	brotlis pool[*brotli.Reader]
	zstds   pool[*zstd.Decoder]
)

func open(name string, body []byte) (from io.Reader, end func(), err error) {
	switch name {
	case "gzip", "x-gzip":
		from, end, err = gzips.open(body, func(in io.Reader) (*gzip.Reader, error) { return gzip.NewReader(in) })
	case "br":
		from, end, err = brotlis.open(body, func(in io.Reader) (*brotli.Reader, error) { return brotli.NewReader(in), nil })
	case "zstd":
		from, end, err = zstds.open(body, func(in io.Reader) (*zstd.Decoder, error) {
			return zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		})
	case "deflate":
		// It means zlib, and some send it raw.
		if from, err = zlib.NewReader(bytes.NewReader(body)); err != nil {
			from, err = flate.NewReader(bytes.NewReader(body)), nil
		}
		end = func() {}
	default:
		return nil, nil, ErrUnknown
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w (%s): %w", ErrGarbled, name, err)
	}
	return from, end, nil
}
