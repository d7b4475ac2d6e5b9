package extproc

import (
	"bytes"
	"testing"
)

// FuzzReader holds that no bytes do harm, and that no message is longer than the bound.
func FuzzReader(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x06\x12\x02\x18\x01\x50\x01"))
	f.Add([]byte("\x00\x00\x00\x00\x02\x50\x01\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x01\x00\x00\x00\x00"))
	f.Add([]byte("\x00\xff\xff\xff\xff"))
	f.Add([]byte("\x00\x00\x00\x00\x04\x4a\x02\x12\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(bytes.NewReader(b), func(int64) bool { return true })
		for n := 0; ; n++ {
			m, err := r.Next()
			if err != nil {
				return
			}
			if len(m.Body) > len(b) || n > len(b) {
				t.Fatalf("%d messages, a body of %d bytes, of %d bytes", n, len(m.Body), len(b))
			}
		}
	})
}
