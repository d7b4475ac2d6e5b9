package har

import (
	"bytes"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"whittle"
	"whittle/capture"
)

func connectionName(n uint64) string { return "c" + strconv.FormatUint(n, 10) }

// Unpacked gives an answer's body as an archive has it, without its
// Content-Encoding; false, and the body as it is, where that cannot be taken
// away: an unknown coding, a cut body, one that would be too long.
func Unpacked(a *whittle.Answer) ([]byte, bool) {
	coding := strings.ToLower(strings.TrimSpace(strings.Join(a.Header["Content-Encoding"], ",")))
	if coding == "" || coding == "identity" || len(a.Body) == 0 {
		return a.Body, true
	}
	if a.Truncated {
		return a.Body, false
	}
	r, err := opened(coding, a.Body)
	if err != nil {
		return a.Body, false
	}
	defer r.Close()
	body, err := io.ReadAll(io.LimitReader(r, capture.MaxBody+1))
	if err != nil || len(body) > capture.MaxBody {
		return a.Body, false
	}
	return body, true
}

func opened(coding string, body []byte) (io.ReadCloser, error) {
	in := bytes.NewReader(body)
	switch coding {
	case "gzip", "x-gzip":
		return gzip.NewReader(in)
	case "deflate":
		return zlib.NewReader(in)
	case "zstd":
		d, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(capture.MaxBody), zstd.WithDecoderMaxWindow(8<<20))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}
	return nil, whittle.Errorf(whittle.Unsupported, "content coding %s", coding)
}
