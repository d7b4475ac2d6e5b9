package front

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"

	"whittle"
)

// isGzip reads a Content-Encoding header. One coding at most: a body wrapped
// twice has no honest use here, and multiplies what a bomb can do.
func isGzip(header string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(header)) {
	case "", "identity":
		return false, nil
	case "gzip", "x-gzip":
		return true, nil
	}
	return false, whittle.Errorf(whittle.Unsupported, "the content encoding is not one of gzip, identity")
}

var (
	errTooLarge = whittle.Errorf(whittle.ResourceExhausted, "the body is too large once decompressed")
	errGarbled  = whittle.Errorf(whittle.Invalid, "the body is not what its content encoding says")
)

// unzipper is a pooled decompressor and the reader that it takes its input from.
type unzipper struct {
	in  bytes.Reader
	out gzip.Reader
}

var unzippers = sync.Pool{New: func() any { return new(unzipper) }}

// gunzip appends the content of wire to dst. It stops at the bound, so that
// whatever is sent costs at most that much memory and the time to make it. The
// error is errTooLarge or errGarbled.
func gunzip(dst, wire []byte, most int) ([]byte, error) {
	z := unzippers.Get().(*unzipper)
	defer unzippers.Put(z)
	z.in.Reset(wire)
	defer z.in.Reset(nil) // the pool does not hold on to a request's body
	if z.out.Reset(&z.in) != nil {
		return dst, errGarbled
	}
	out, err := readUpTo(dst, &z.out, most)
	switch {
	case errors.Is(err, errTooLarge):
		return dst, err
	case err != nil, z.in.Len() > 0:
		return dst, errGarbled
	}
	return out, nil
}

// readUpTo appends all of r to dst, and gives errTooLarge if that is more than most
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
			return dst, errTooLarge
		}
		if errors.Is(err, io.EOF) {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}
