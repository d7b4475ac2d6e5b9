package wire

import (
	"bytes"
	"encoding/hex"
	"io"
	"testing"
	"time"

	"whittle/internal/fatal"
)

// played is a connection whose server sends what is given, whatever it is asked.
type played struct{ io.Reader }

func (played) Write(b []byte) (int, error) { return len(b), nil }
func (played) SetDeadline(time.Time) error { return nil }
func (played) Close() error                { return nil }
func (played) HasInput() bool              { return true }
func unhex(t testing.TB, text string) []byte {
	b, err := hex.DecodeString(text)
	fatal.If(t, err)
	return b
}

// Whatever a server sends, a response comes of it or an error, within bounds.
func FuzzStreams(f *testing.F) {
	for _, seed := range []string{
		"000000040000000000" + "000001010500000001" + "88",                                 // settings, :status 200
		"000000040000000000" + "000001010400000001" + "88" + "000002000100000001" + "6869", // and two bytes
		"000008060000000000" + "0102030405060708" + "000008070000000000" + "0000000100000000",
		"485454502f312e3120343030",
	} {
		f.Add(unhex(f, seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c := &conn{stream: played{bytes.NewReader(b)}}
		c.responseReader = newResponseReader(c.stream, time.Now, firstBuffer)
		s := newStreams(c)
		var into response
		for range 3 {
			_, _, err := s.roundTrip([]byte("POST /a HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\nbody"), "http", "POST", 100, &into)
			if err != nil {
				break
			}
			if into.status < 200 || into.status > 999 || len(into.body) > 100 || len(into.head) > maxHead {
				t.Fatalf("status %d, %d bytes of body, %d of head", into.status, len(into.body), len(into.head))
			}
			s.usable()
		}
		if len(c.buf) > maxHead {
			t.Fatalf("a buffer of %d bytes", len(c.buf))
		}
	})
}
