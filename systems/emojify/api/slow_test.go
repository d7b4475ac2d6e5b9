package api

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

const pngBegins = "\x89PNG\x0D\x0A\x1A\x0A"

// slow is a client that has begun to send a picture.
type slow struct {
	testing.TB
	conn net.Conn
	from *bufio.Reader
}

// begin has the process read a picture of which nothing has come yet.
func (h *testService) begin(size int64) *slow {
	h.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		h.t.Fatal(err)
	}
	c := &slow{h.t, conn, bufio.NewReader(conn)}
	c.send(fmt.Sprintf("POST /emojify/ HTTP/1.1\r\nHost: x\r\nContent-Type: image/png\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", size))
	if a := c.response(); a.StatusCode != http.StatusContinue {
		h.t.Fatalf("it did not begin to read: %s", a.Status)
	}
	return c
}

func (c *slow) send(text string) {
	c.Helper()
	if _, err := io.WriteString(c.conn, text); err != nil {
		c.Fatal(err)
	}
}

func (c *slow) response() *http.Response {
	c.Helper()
	res, err := http.ReadResponse(c.from, nil)
	if err != nil {
		c.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		c.Fatal(err)
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res
}

// TestSlowClientsTakeNoRoom that others need: they have room for about as much
// as they have sent.
func TestSlowClientsTakeNoRoom(t *testing.T) {
	h := newTestService(t, func(o *Options) { o.MaxUpload = 1 << 20 })
	var all []*slow
	for range 20 {
		c := h.begin(1 << 20)
		c.send(pngBegins)
		all = append(all, c)
	}
	quick := append([]byte(pngBegins), bytes.Repeat([]byte("q"), 1<<20-len(pngBegins))...)
	a := h.do(http.MethodPost, "/emojify/", "image/png", quick)
	if a.code >= 300 {
		t.Fatalf("a quick client among %d slow ones: %d %s", len(all), a.code, a.body)
	}
	h.becomes(h.progress(a).ID, finished)
	for _, c := range all {
		c.send(strings.Repeat("s", 1<<20-len(pngBegins)))
		if a := c.response(); a.StatusCode >= 300 {
			t.Errorf("a slow client that came to its end: %s", a.Status)
		}
	}
}
