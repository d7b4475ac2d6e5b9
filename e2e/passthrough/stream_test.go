package passthrough

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"

	"github.com/coder/websocket"
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
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out := bufio.NewReader(resp.Body)
	for i := range 20 {
		_, _ = fmt.Fprintf(pw, "line %d\n", i)
		if line, err := out.ReadString('\n'); err != nil || line != fmt.Sprintf("echo line %d\n", i) {
			t.Fatalf("line %d came as %q, %v", i, line, err)
		}
	}
	_ = pw.Close()
	if rest := mustRead(t, out); rest != "" {
		t.Errorf("after the end: %q", rest)
	}
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
			if err != nil {
				t.Fatal(err)
			}
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
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for _, want := range []string{"first", "second", "third"} {
		got := make([]byte, len(want))
		if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want {
			t.Fatalf("got %q, %v; want %q", got, err, want)
		}
		seen <- struct{}{}
	}
	if rest := mustRead(t, resp.Body); rest != "" {
		t.Errorf("after the end: %q", rest)
	}
	seen <- struct{}{}
}

func TestTrailers(t *testing.T) {
	u := scripted(t, func(_ int, c net.Conn, r *bufio.Reader) {
		req, _, err := readRequest(r)
		if err != nil {
			return
		}
		if got := req.Trailer.Get("X-Sum"); req.Method == http.MethodPost && got != "abc" {
			t.Errorf("upstream saw the trailer %q", got)
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTrailer: X-Announced\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n"+
			"X-Announced: 1\r\nX-Sudden: 2\r\nContent-Length: 5\r\n\r\n")
	})
	g := through(t, u)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		var body io.Reader
		if method == http.MethodPost {
			body = io.MultiReader(strings.NewReader("body"))
		}
		req, _ := http.NewRequest(method, g.url("/"), body)
		if body != nil {
			req.Trailer = http.Header{"X-Sum": {"abc"}}
		}
		resp, err := client(t).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got := mustRead(t, resp.Body)
		_ = resp.Body.Close()
		if got != "abc" || resp.Trailer.Get("X-Announced") != "1" || resp.Trailer.Get("X-Sudden") != "2" || resp.Trailer.Get("Content-Length") != "" {
			t.Errorf("%s: body %q, trailer %v", method, got, resp.Trailer)
		}
	}
}

func TestInformationalResponsesPass(t *testing.T) {
	u := scripted(t, func(_ int, c net.Conn, r *bufio.Reader) {
		if _, _, err := readRequest(r); err != nil {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"+
			"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Final: 1\r\n\r\nok")
	})
	g := through(t, u)
	for _, size := range []int{0, 10_000} {
		var codes []int
		var links []string
		ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
			Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
				codes, links = append(codes, code), append(links, h.Get("Link"))
				return nil
			},
		})
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, g.url("/"), strings.NewReader(strings.Repeat("x", size)))
		resp, err := client(t).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if got := mustRead(t, resp.Body); got != "ok" || resp.Header.Get("X-Final") != "1" || resp.Header.Get("Link") != "" {
			t.Errorf("size %d: final response %q %v", size, got, resp.Header)
		}
		_ = resp.Body.Close()
		if fmt.Sprint(codes) != "[103 102]" || links[0] != "</a.css>; rel=preload" || links[1] != "" {
			t.Errorf("size %d: informational responses %v %q", size, codes, links)
		}
	}
	old := raw(t, g.addr, "GET / HTTP/1.0\r\n\r\n")
	if !strings.HasPrefix(old, "HTTP/1.0 200") {
		t.Errorf("an HTTP/1.0 client got %q", firstLine(old))
	}
}

// TestContinueComesFromTheUpstream holds the body back until the upstream has
// asked for it, and sees a refusal without sending any.
func TestContinueComesFromTheUpstream(t *testing.T) {
	u := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Expect") != "100-continue" {
			t.Errorf("upstream saw Expect %q", r.Header.Get("Expect"))
		}
		if r.URL.Path == "/refuse" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		body, _ := io.ReadAll(r.Body) // asks for it
		_, _ = w.Write(body)
	})
	g := through(t, u.URL)
	for _, path := range []string{"/take", "/refuse"} {
		c := dial(t, g.addr)
		_, _ = fmt.Fprintf(c, "PUT %s HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n", path)
		r := bufio.NewReader(c)
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if path == "/refuse" {
			if resp.StatusCode != http.StatusForbidden {
				t.Errorf("refusal came as %d", resp.StatusCode)
			}
			continue
		}
		if resp.StatusCode != http.StatusContinue {
			t.Fatalf("before the body came %d", resp.StatusCode)
		}
		_, _ = io.WriteString(c, "body")
		if resp, err = http.ReadResponse(r, nil); err != nil || resp.StatusCode != http.StatusOK || mustRead(t, resp.Body) != "body" {
			t.Errorf("after the body came %v, %v", resp, err)
		}
	}
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
				if websocket.CloseStatus(err) != websocket.StatusNormalClosure {
					t.Errorf("upstream read: %v", err)
				}
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
	if err != nil {
		t.Fatal(err)
	}
	if got := resp.Header.Get("Sec-Websocket-Protocol"); got != "chat" {
		t.Errorf("subprotocol %q", got)
	}
	ws.SetReadLimit(1 << 20)
	for _, size := range []int{0, 1, 125, 126, 70_000} {
		sent := strings.Repeat("\n\x00é", size)
		if err := ws.Write(ctx, websocket.MessageBinary, []byte(sent)); err != nil {
			t.Fatal(err)
		}
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
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Upgrade") != "tunnel/2" || resp.Header.Get("X-Extra") != "1" {
		t.Errorf("answer %d %v", resp.StatusCode, resp.Header)
	}
	if line, err := r.ReadString('\n'); err != nil || line != "hello\n" {
		t.Fatalf("greeting %q, %v", line, err)
	}
	_, _ = io.WriteString(c, "later")
	_ = c.(*net.TCPConn).CloseWrite()
	if got := mustRead(t, r); got != `got "early\nbytes\x00later"` {
		t.Errorf("last word %s", got)
	}
}

func TestUpgradeRefusedIsAnResponse(t *testing.T) {
	u := upstream(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "no") })
	g := through(t, u.URL)
	got := raw(t, g.addr, "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 200") || !strings.HasSuffix(got, "no") || !strings.Contains(got, "Connection: close") {
		t.Errorf("got %q", got)
	}
}

// TestUpgradeToSomethingElse: an upstream that changes to a protocol which its client has not
// named is not joined to it.
func TestUpgradeToSomethingElse(t *testing.T) {
	for to, want := range map[string]string{"websocket": "HTTP/1.1 101", "WebSocket": "HTTP/1.1 101", "tls/1.0, websocket": "HTTP/1.1 101", "h2c": "HTTP/1.1 502", "websocket, h2c": "HTTP/1.1 502"} {
		u := scripted(t, func(_ int, c net.Conn, r *bufio.Reader) {
			if _, _, err := readRequest(r); err == nil {
				_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+to+"\r\n\r\nhello")
			}
		})
		g := through(t, u)
		c := dial(t, g.addr)
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket, TLS/1.0\r\n\r\n")
		got, _ := io.ReadAll(c)
		if !strings.HasPrefix(string(got), want) || strings.HasSuffix(string(got), "hello") != (want == "HTTP/1.1 101") {
			t.Errorf("to %s: %q", to, got)
		}
	}
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
