package passthrough

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"whittle/internal/fatal"
)

// TestFullDuplex sends each line only after the answer to the one before has
// come: nothing may be held back in either direction.
func TestFullDuplex(t *testing.T) {
	u := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		w.(http.Flusher).Flush()
		in := bufio.NewScanner(r.Body)
		for in.Scan() {
			_, _ = fmt.Fprintf(w, "echo %s\n", in.Text())
			w.(http.Flusher).Flush()
		}
	})
	g := through(t, u.URL)
	pr, pw := io.Pipe()
	req, _ := http.NewRequest(http.MethodPost, g.url("/duplex"), pr)
	resp, err := client(t).Do(req)
	fatal.If(t, err)
	defer resp.Body.Close()
	out := bufio.NewReader(resp.Body)
	for i := range 20 {
		_, _ = fmt.Fprintf(pw, "line %d\n", i)
		if line, err := out.ReadString('\n'); err != nil || line != fmt.Sprintf("echo line %d\n", i) {
			t.Fatalf("line %d came as %q, %v", i, line, err)
		}
	}
	_ = pw.Close()
	fatal.Same(t, mustRead(t, out), "", "after the end")
}

// TestEventsComeAsTheyAreSent waits for each event before letting the upstream
// send the next.
func TestEventsComeAsTheyAreSent(t *testing.T) {
	for name, framing := range map[string]string{"length unknown": "", "length known": "33"} {
		t.Run(name, func(t *testing.T) {
			next := make(chan struct{})
			u := upstream(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				if framing != "" {
					w.Header().Set("Content-Length", framing)
				} else {
					w.(http.Flusher).Flush() // the head alone must arrive
					<-next
				}
				for i := range 3 {
					_, _ = fmt.Fprintf(w, "data: %d\r\n\r\n", i)
					w.(http.Flusher).Flush()
					<-next
				}
			})
			g := through(t, u.URL)
			resp, err := client(t).Get(g.url("/events"))
			fatal.If(t, err)
			defer resp.Body.Close()
			if framing == "" {
				next <- struct{}{}
			}
			out := bufio.NewReader(resp.Body)
			for i := range 3 {
				line, err := out.ReadString('\n')
				if _, err2 := out.ReadString('\n'); err != nil || err2 != nil || line != fmt.Sprintf("data: %d\r\n", i) {
					t.Fatalf("event %d came as %q, %v %v", i, line, err, err2)
				}
				next <- struct{}{}
			}
		})
	}
}

// TestChunkBoundaryIsNotWaitedOver sends a chunk's bytes apart from what
// follows it: an event must not wait for the next chunk's size line.
func TestChunkBoundaryIsNotWaitedOver(t *testing.T) {
	seen := make(chan struct{})
	u := scripted(t, func(_ int, c net.Conn, r *bufio.Reader) {
		if _, _, err := readRequest(r); err != nil {
			return
		}
		for _, part := range []string{
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n", "6;x=y\r\nsecond", "\r\n5\r\nthird\r\n0", "\r\n\r\n",
		} {
			_, _ = io.WriteString(c, part)
			select {
			case <-seen:
			case <-t.Context().Done():
				return
			}
		}
	})
	g := through(t, u)
	resp, err := client(t).Get(g.url("/"))
	fatal.If(t, err)
	defer resp.Body.Close()
	for _, want := range []string{"first", "second", "third"} {
		got := make([]byte, len(want))
		if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want {
			t.Fatalf("got %q, %v; want %q", got, err, want)
		}
		seen <- struct{}{}
	}
	fatal.Same(t, mustRead(t, resp.Body), "", "after the end")
	seen <- struct{}{}
}

func TestWebSocket(t *testing.T) {
	u := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"chat"}})
		if err != nil {
			t.Errorf("accept: %v", err)
			return
		}
		ws.SetReadLimit(1 << 20)
		for {
			kind, msg, err := ws.Read(r.Context())
			if err != nil {
				fatal.Same(t, websocket.CloseStatus(err), websocket.StatusNormalClosure, "upstream read: %v", err)
				return
			}
			if err := ws.Write(r.Context(), kind, msg); err != nil {
				return
			}
		}
	})
	g := through(t, u.URL)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ws, resp, err := websocket.Dial(ctx, "ws://"+g.addr+"/chat", &websocket.DialOptions{Subprotocols: []string{"chat"}})
	fatal.If(t, err)
	fatal.Same(t, resp.Header.Get("Sec-Websocket-Protocol"), "chat", "subprotocol")
	ws.SetReadLimit(1 << 20)
	for _, size := range []int{0, 1, 125, 126, 70_000} {
		sent := strings.Repeat("\n\x00é", size)
		fatal.If(t, ws.Write(ctx, websocket.MessageBinary, []byte(sent)))
		if _, got, err := ws.Read(ctx); err != nil || string(got) != sent {
			t.Fatalf("size %d: echo of %d bytes, %v", size, len(got), err)
		}
	}
	if err := ws.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Errorf("close: %v", err)
	}
}

// TestUpgradeOfAnyKind joins the connections whatever the protocol is called,
// passes what the client sent early, and closes each direction by itself.
func TestUpgradeOfAnyKind(t *testing.T) {
	u := scripted(t, func(_ int, c net.Conn, r *bufio.Reader) {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if req.Header.Get("Upgrade") != "tunnel/2" || !strings.EqualFold(req.Header.Get("Connection"), "upgrade") {
			t.Errorf("upstream saw %v", req.Header)
		}
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: tunnel/2\r\nX-Extra: 1\r\n\r\nhello\n")
		got, err := io.ReadAll(r) // to the client's half-close
		if err != nil {
			t.Errorf("upstream reads: %v", err)
		}
		_, _ = fmt.Fprintf(c, "got %q", got)
	})
	g := through(t, u)
	c := dial(t, g.addr)
	_, _ = io.WriteString(c, "GET /t HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Upgrade\r\nUpgrade: tunnel/2\r\n\r\nearly\nbytes\x00")
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, nil)
	fatal.If(t, err)
	if resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Upgrade") != "tunnel/2" || resp.Header.Get("X-Extra") != "1" {
		t.Errorf("answer %d %v", resp.StatusCode, resp.Header)
	}
	if line, err := r.ReadString('\n'); err != nil || line != "hello\n" {
		t.Fatalf("greeting %q, %v", line, err)
	}
	_, _ = io.WriteString(c, "later")
	_ = c.(*net.TCPConn).CloseWrite()
	fatal.Same(t, mustRead(t, r), `got "early\nbytes\x00later"`, "the last word")
}

// TestSilentUpgradeEnds closes a tunnel that says nothing.
func TestSilentUpgradeEnds(t *testing.T) {
	u := scripted(t, func(_ int, c net.Conn, r *bufio.Reader) {
		if _, _, err := readRequest(r); err != nil {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
		_, _ = io.ReadAll(r)
	})
	g := through(t, u, func(o *options) { o.Limits.UpgradeIdle = 50_000_000 })
	got := raw(t, g.addr, "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 101") {
		t.Errorf("got %q", got)
	}
}

// TestExpect: nobody waits for an upstream that never says 100, since the gateway does, and
// the upstream is not asked.
func TestExpect(t *testing.T) {
	addr := scripted(t, func(_ int, c net.Conn, r *bufio.Reader) {
		req, body, err := readRequest(r)
		if err != nil {
			t.Error(err)
			return
		}
		got := fmt.Sprintf("%d %q", len(body), req.Header["Expect"])
		_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(got), got)
	})
	g := through(t, addr)
	for i, size := range []int{10, 100_000, 10, 100_000} {
		req, _ := http.NewRequest(http.MethodPut, g.url("/"), strings.NewReader(strings.Repeat("b", size)))
		req.Header.Set("Expect", "100-continue")
		resp, err := speaking(t, i > 1, nil).Do(req)
		fatal.If(t, err)
		if got, want := mustRead(t, resp.Body), fmt.Sprintf("%d []", size); resp.StatusCode != http.StatusOK || got != want {
			t.Errorf("%d %q, want %q", resp.StatusCode, got, want)
		}
	}
}
