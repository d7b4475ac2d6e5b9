package inbound

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"whittle/internal/fatal"
)

// TestDetachWaitsForWhoeverReads detaches bodies while a connection's goroutine begins to
// read them, as net/http does at the end of an upload whose response came early. The
// reader gets the body's first bytes or is refused; the race detector sees who is waited
// for.
func TestDetachWaitsForWhoeverReads(t *testing.T) {
	for range 2000 {
		q := Request{Request: httptest.NewRequest("POST", "/", strings.NewReader("body"))}
		b := NewBody(httptest.NewRecorder(), &q, -1, time.Minute, nil)
		k := b.Keep(1 << 10)
		done := make(chan error)
		go func() {
			var p [4]byte
			n, err := k.ReadFrom(0, p[:], nil)
			if n == 4 && string(p[:]) == "body" || errors.Is(err, errDetached) {
				err = nil
			}
			done <- err
		}()
		b.Detach()
		fatal.If(t, <-done)
		if n, err := k.ReadFrom(4, make([]byte, 4), nil); n != 0 || err == nil {
			t.Fatalf("read %d bytes of a detached body, %v", n, err)
		}
	}
}
