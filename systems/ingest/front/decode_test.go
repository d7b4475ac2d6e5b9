package front

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// compressed returns text in each coding, by its Content-Encoding.
func compressed(t testing.TB, text []byte) map[string][]byte {
	t.Helper()
	out := map[string][]byte{"identity": text}
	write := func(name string, w interface {
		Write([]byte) (int, error)
		Close() error
	}, b *bytes.Buffer,
	) {
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		out[name] = b.Bytes()
	}
	var g, z, f, s bytes.Buffer
	write("gzip", gzip.NewWriter(&g), &g)
	write("deflate", zlib.NewWriter(&z), &z)
	raw, err := flate.NewWriter(&f, flate.DefaultCompression)
	if err != nil {
		t.Fatal(err)
	}
	write("deflate raw", raw, &f)
	streamed, err := zstd.NewWriter(&s, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	write("zstd", streamed, &s)
	whole, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	out["zstd whole"] = whole.EncodeAll(text, nil)
	return out
}

func codingNamed(t testing.TB, name string) coding {
	t.Helper()
	name, _, _ = strings.Cut(name, " ")
	c, err := codingOf(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDecodeBounds(t *testing.T) {
	flat := make([]byte, 3<<20)
	noise := make([]byte, 100_000)
	_, _ = rand.NewChaCha8([32]byte{2}).Read(noise)
	cases := []struct {
		name  string
		text  []byte
		bound expansion
		want  error
	}{
		{"just as large as may be", noise, expansion{size: 100_000}, nil},
		{"one byte more than may be", noise, expansion{size: 99_999}, errTooLarge},
		{"a bomb without a ratio", flat, expansion{size: 1 << 20}, errTooLarge},
		{"a bomb by its ratio", flat, expansion{size: 8 << 20, ratio: 100}, errRatio},
		{"flat but small", flat[:ratioFloor], expansion{size: 1 << 20, ratio: 2}, nil},
		{"flat and just over", flat[:ratioFloor+1], expansion{size: 1 << 20, ratio: 2}, errRatio},
	}
	for _, c := range cases {
		for name, wire := range compressed(t, c.text) {
			if name == "identity" {
				continue
			}
			_, err := decode(codingNamed(t, name), nil, wire, c.bound)
			if !errors.Is(err, c.want) {
				t.Errorf("%s, %s: %v, want %v", c.name, name, err, c.want)
			}
		}
	}
}
