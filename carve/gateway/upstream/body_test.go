package upstream

import (
	"errors"
	"io"
	"testing"

	"whittle/internal/http1"
)

// Chunks that have arrived together are one piece, in their order, and count as many
// stretches; what is wrong behind them comes after them.
func TestChunksThatArriveTogether(t *testing.T) {
	for _, c := range []struct {
		name, raw, want string
		stretches       int
		end             error // with the piece
		then            bool  // the next call is an error
	}{
		{"whole", "4\r\nabcd\r\n1;x=y\r\ne\r\n2\r\nfg\r\n0\r\nX: y\r\n\r\nHTTP", "abcdefg", 3, io.EOF, false},
		{"more to come", "4\r\nabcd\r\n9\r\nefg", "abcdefg", 2, nil, false},
		{"a trailer in part", "4\r\nabcd\r\n0\r\nX: y\r\n", "abcd", 1, nil, false},
		{"a size that is none", "4\r\nabcd\r\n1\r\ne\r\nz\r\n", "abcde", 2, nil, true},
		{"a chunk without its end", "4\r\nabcdX", "abcd", 1, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := body{c: &conn{buf: []byte(c.raw), w: len(c.raw)}}
			b.framed.Limits, b.framed.Tolerance = responseLimits, tolerated
			b.framed.Begin(http1.Framing{Kind: http1.Chunked})
			for range 2 {
				if !b.ready() {
					t.Fatal("nothing is ready")
				}
			}
			p, err := b.next()
			if string(p) != c.want || !errors.Is(err, c.end) || b.joined() != c.stretches {
				t.Fatalf("%q of %d stretches, %v; want %q of %d, %v", p, b.joined(), err, c.want, c.stretches, c.end)
			}
			if c.then != (b.fault != nil) {
				t.Fatalf("behind it %v", b.fault)
			}
			if c.then {
				if p, err := b.next(); len(p) > 0 || err == nil || !b.ready() {
					t.Errorf("then %q, %v", p, err)
				}
			}
		})
	}
}
