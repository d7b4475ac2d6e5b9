package front

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
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

func TestDecodeGivesBack(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1})
	for _, size := range []int{0, 1, 100, 4096, 70_000, 400_000} {
		noise := make([]byte, size)
		_, _ = random.Read(noise)
		for _, text := range [][]byte{noise, bytes.Repeat([]byte(`{"a":1},`), size/8)} {
			for name, wire := range compressed(t, text) {
				got, err := decode(codingNamed(t, name), []byte("before"), wire, expansion{size: 500_000})
				if err != nil || !bytes.Equal(got, append([]byte("before"), text...)) {
					t.Errorf("%s of %d bytes: %d bytes back, %v", name, len(text), len(got), err)
				}
			}
		}
	}
}

// TestDecodeKnowsRawFromZlib finds raw deflate streams that begin like zlib's
// header.
func TestDecodeKnowsRawFromZlib(t *testing.T) {
	// A stored block's first byte is 0 or 1 and the bits above are padding that
	// nobody reads, so 0x78 and its length's low byte 0x01 make zlib's header.
	text := bytes.Repeat([]byte("x"), 0x0101)
	stored := slices.Concat([]byte{0x79 &^ 1, 0x01, 0x01, 0xfe, 0xfe}, text, []byte{1, 0, 0, 0xff, 0xff})
	if !looksLikeZlib(stored) {
		t.Fatal("the case is none: it does not look like zlib")
	}
	got, err := decode(deflated, nil, stored, expansion{size: 1000})
	if err != nil || !bytes.Equal(got, text) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
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

func TestDecodeGarbled(t *testing.T) {
	text := bytes.Repeat([]byte(`{"event":"x"}`), 100)
	for name, wire := range compressed(t, text) {
		if name == "identity" {
			continue
		}
		c := codingNamed(t, name)
		cut := wire[:len(wire)-1]
		if _, err := decode(c, nil, cut, expansion{size: 1 << 20}); !errors.Is(err, errGarbled) {
			t.Errorf("%s cut short: %v", name, err)
		}
		more := append(slices.Clone(wire), "garbage"...)
		if _, err := decode(c, nil, more, expansion{size: 1 << 20}); !errors.Is(err, errGarbled) {
			t.Errorf("%s with something behind it: %v", name, err)
		}
		if _, err := decode(c, nil, []byte("{}"), expansion{size: 1 << 20}); !errors.Is(err, errGarbled) {
			t.Errorf("%s of plain text: %v", name, err)
		}
	}
}

func TestCodingOf(t *testing.T) {
	for _, bad := range []string{"br", "gzip, gzip", "gzip,deflate", "compress", "gzip;q=1"} {
		if c, err := codingOf(bad); err == nil {
			t.Errorf("%q is taken as %d", bad, c)
		}
	}
	for _, good := range []string{"", "identity", " GZIP ", "x-gzip", "Deflate", "zstd"} {
		if _, err := codingOf(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

// FuzzDecode holds the bounds for whatever is sent: never more out than may be,
// nothing of dst lost, and one of the three errors.
func FuzzDecode(f *testing.F) {
	for name, wire := range compressed(f, bytes.Repeat([]byte("0123456789abcdef"), 10_000)) {
		f.Add(uint8(codingNamed(f, name)), wire, uint32(200_000), uint8(50))
	}
	f.Add(uint8(zstandard), []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, uint32(1000), uint8(0))
	f.Fuzz(func(t *testing.T, which uint8, wire []byte, size uint32, ratio uint8) {
		c := coding(which % 4)
		if c == identity {
			return
		}
		e := expansion{size: int(size % (1 << 20)), ratio: int(ratio)}
		before := []byte("before")
		out, err := decode(c, slices.Clone(before), wire, e)
		if !bytes.HasPrefix(out, before) {
			t.Fatal("what was there before is gone")
		}
		if n := len(out) - len(before); n > e.limit(len(wire)) {
			t.Fatalf("%d bytes of %d came out, %d may", n, len(wire), e.limit(len(wire)))
		}
		if err != nil && !errors.Is(err, errTooLarge) && !errors.Is(err, errRatio) && !errors.Is(err, errGarbled) {
			t.Fatalf("an error of no known kind: %v", err)
		}
		if err == nil && cap(out) > 4*(len(before)+e.size)+ratioFloor {
			t.Fatalf("a buffer of %d for %d bytes", cap(out), e.size)
		}
	})
}
