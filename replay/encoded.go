package replay

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"maps"
	"strings"

	"github.com/klauspost/compress/zstd"

	"whittle"
)

// unpack takes the content encoding off an answer, so that what is compared is
// what the two sides say and not how well they compress it. False: the encoding
// is not read here, or the body is not what it claims or longer than most.
func unpack(a *whittle.Answer, most int64) bool {
	encoding := strings.ToLower(strings.TrimSpace(a.Header.Get("Content-Encoding")))
	if encoding == "" || encoding == "identity" || len(a.Body) == 0 || a.Truncated {
		return true
	}
	var r io.Reader
	var err error
	switch encoding {
	case "gzip", "x-gzip":
		r, err = gzip.NewReader(bytes.NewReader(a.Body))
	case "deflate": // zlib by the standard, raw by habit
		if r, err = zlib.NewReader(bytes.NewReader(a.Body)); err != nil {
			r, err = flate.NewReader(bytes.NewReader(a.Body)), nil
		}
	case "zstd":
		var d *zstd.Decoder
		if d, err = zstd.NewReader(bytes.NewReader(a.Body), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(most))); err == nil {
			defer d.Close()
			r = d
		}
	default:
		return false
	}
	if err != nil {
		return false
	}
	body, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil || int64(len(body)) > most {
		return false
	}
	a.Header = maps.Clone(a.Header)
	delete(a.Header, "Content-Encoding")
	a.Body = body
	return true
}
