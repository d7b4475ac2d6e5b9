package origin

import (
	"bufio"
	"net"
	"net/http"
	"strconv"

	"github.com/coder/websocket"

	"whittle/bench/soak/plan"
)

// upgrade is a WebSocket on which each message is responded to with the plan's.
func (x *exchange) upgrade() {
	w := &hijackable{c: x.c, r: x.r, header: http.Header{plan.Of: {strconv.FormatUint(x.p.Number, 10)}}}
	ws, err := websocket.Accept(w, x.q, nil)
	if err != nil {
		return
	}
	defer func() { _ = ws.CloseNow() }() // it may be closed
	for i := 0; ; i++ {
		kind, got, err := ws.Read(x.ctx)
		if err != nil {
			return
		}
		if x.fault == plan.ResetBody && i >= x.p.Length/2 {
			reset(x.c)
			return
		}
		if err := ws.Write(x.ctx, kind, append([]byte(x.p.Event(i)), got...)); err != nil {
			return
		}
	}
}

// hijackable gives the connection to whoever takes it over.
type hijackable struct {
	c      net.Conn
	r      *bufio.Reader
	header http.Header
	status int
}

func (h *hijackable) Header() http.Header         { return h.header }
func (h *hijackable) Write(b []byte) (int, error) { return len(b), nil }

func (h *hijackable) WriteHeader(status int) {
	h.status = status
	_, _ = h.c.Write([]byte("HTTP/1.1 " + strconv.Itoa(status) + " " + http.StatusText(status) + "\r\n")) // the next write finds out
	_ = h.header.Write(h.c)                                                                               // as above
	_, _ = h.c.Write([]byte("\r\n"))                                                                      // as above
}

func (h *hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return h.c, bufio.NewReadWriter(h.r, bufio.NewWriter(h.c)), nil
}
