package coding_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"whittle/internal/coding"
	"whittle/internal/fatal"
)

func packed(t testing.TB, name string, body []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	var err error
	switch name {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "br":
		w = brotli.NewWriter(&out)
	case "zstd":
		w, err = zstd.NewWriter(&out)
	case "deflate":
		w = zlib.NewWriter(&out)
	case "raw deflate":
		w, err = flate.NewWriter(&out, 5)
	}
	fatal.If(t, err)
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	fatal.If(t, w.Close())
	return out.Bytes()
}

func header(values ...string) map[string][]string {
	return map[string][]string{"Content-Encoding": values}
}

func TestDecode(t *testing.T) {
	body := []byte(strings.Repeat(`{"id": 7, "name": "whittle"}`, 500))
	for _, name := range []string{"gzip", "br", "zstd", "deflate", "raw deflate"} {
		t.Run(name, func(t *testing.T) {
			said := strings.TrimPrefix(name, "raw ")
			wire := packed(t, name, body)
			for range 3 { // pooled decoders too
				got, err := coding.Decode(header(strings.ToUpper(said)), wire, int64(len(body)))
				if err != nil || !bytes.Equal(got, body) {
					t.Fatalf("%d bytes of %d (%v)", len(got), len(body), err)
				}
			}
			if _, err := coding.Decode(header(said), wire, int64(len(body))-1); !errors.Is(err, coding.ErrTooLong) {
				t.Errorf("one byte above the bound: %v", err)
			}
			if _, err := coding.Decode(header(said), wire[:len(wire)/2], 1<<20); !errors.Is(err, coding.ErrGarbled) {
				t.Errorf("half a body: %v", err)
			}
			if got, err := coding.Decode(header(said), wire, 1<<20); err != nil || !bytes.Equal(got, body) {
				t.Errorf("after a body that failed: %d bytes (%v)", len(got), err)
			}
		})
	}
}

func TestWhatIsNotDecoded(t *testing.T) {
	body := []byte("plain")
	for _, h := range []map[string][]string{nil, header(""), header("identity"), header(" Identity ")} {
		if got, err := coding.Decode(h, body, 1); err != nil || string(got) != "plain" || !coding.Plain(h) {
			t.Errorf("%v: %q (%v)", h, got, err)
		}
	}
	for _, h := range []map[string][]string{header("compress"), header("gzip, br"), header("gzip", "gzip"), header("snappy")} {
		if _, err := coding.Decode(h, body, 1<<20); !errors.Is(err, coding.ErrUnknown) || coding.Plain(h) {
			t.Errorf("%v: %v", h, err)
		}
	}
	if got, err := coding.Decode(header("gzip"), nil, 1<<20); err != nil || len(got) != 0 {
		t.Errorf("the empty body of a HEAD: %q (%v)", got, err)
	}
}

// FuzzDecode holds that no body costs more than its bound, whatever it is.
func FuzzDecode(f *testing.F) {
	for _, name := range []string{"gzip", "br", "zstd", "deflate"} {
		f.Add(name, packed(f, name, bytes.Repeat([]byte("x"), 1<<16)))
		f.Add(name, []byte("no such thing"))
	}
	f.Fuzz(func(t *testing.T, name string, wire []byte) {
		out, err := coding.Decode(header(name), wire, 1<<12)
		if err == nil && len(out) > 1<<12 && !coding.Plain(header(name)) {
			t.Fatalf("%d bytes came out", len(out))
		}
		// Whatever is packed comes out again, or is too much.
		for _, coded := range []string{"gzip", "br", "zstd", "deflate"} {
			back, err := coding.Decode(header(coded), packed(t, coded, wire), 1<<12)
			if fits := len(wire) <= 1<<12; fits != (err == nil) || fits && !bytes.Equal(back, wire) {
				t.Fatalf("%s: %d bytes became %d, %v", coded, len(wire), len(back), err)
			}
		}
	})
}
