package front

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"whittle/internal/fatal"
)

// TestStalledBodiesHoldLittle has more bodies stall than memory could hold whole: a client
// that sends is not refused.
func TestStalledBodiesHoldLittle(t *testing.T) {
	s := serve(t, nil)
	for range 40 {
		c, err := net.Dial("tcp", s.addr)
		fatal.If(t, err)
		defer c.Close()
		if _, err := io.WriteString(c, "POST /v1/batch HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 400000\r\n\r\n{\"batch\":["); err != nil {
			t.Fatal(err)
		}
	}
	for s.front.activeRequests.Load() < 40 {
		if a := s.post("/import", "x"); a.code != 200 {
			t.Fatalf("%d %s", a.code, a.text)
		}
	}
	for i := range 20 {
		body := batchOf(eventOf(fmt.Sprint(i)), strings.Repeat(" ", 400_000)+eventOf(fmt.Sprint("b", i)))
		if a := s.post("/v1/batch", body); a.code != 200 || a.Accepted != 2 {
			t.Fatalf("%d %s", a.code, a.text)
		}
	}
}
