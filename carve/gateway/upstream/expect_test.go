package upstream

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/carve/gateway/inbound"
	"whittle/carve/gateway/listener"
)

// TestABodyThatComesIsNotHeldBack: an upstream that never says 100 gets the body as soon
// as the client sends it, whatever was waited for, and an upstream that refuses keeps
// the client from sending it.
func TestABodyThatComesIsNotHeldBack(t *testing.T) {
	defer func(d time.Duration) { continueTimeout = d }(continueTimeout)
	continueTimeout = time.Hour
	body := strings.Repeat("b", 10_000)
	for _, tt := range []struct {
		name string
		// first is what of the body comes with the head; the rest comes when the upstream
		// has the head, or 100 has come.
		first     int
		says      string // by the upstream, when it has the head
		chunked   bool
		fields    string // of the client's request, in addition; its body is what comes with the head
		continues bool   // the client gets a 100 before it sends the rest
		status    int
		got       string
	}{
		{name: "nothing is said", status: 200, got: body},
		{name: "nothing is said, chunked", chunked: true, status: 200, got: body},
		{name: "a part is there", first: 100, status: 200, got: body},
		{name: "all is there, and an upgrade is asked for", first: 1_000, fields: "Connection: upgrade\r\nUpgrade: x\r\n", status: 200, got: body[:1_000]},
		{name: "100 is said", says: "HTTP/1.1 100 Continue\r\n\r\n", continues: true, status: 200, got: body},
		{name: "103 is said", says: "HTTP/1.1 103 Early Hints\r\n\r\n", status: 200, got: body},
		{name: "it is refused", says: "HTTP/1.1 417 No\r\nContent-Length: 2\r\n\r\nno", status: 417, got: "no"},
	} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, TLS %v", tt.name, secure), func(t *testing.T) {
				headed := make(chan struct{})
				url := scriptedUpstream(t, func(c net.Conn, r *bufio.Reader) {
					req, err := http.ReadRequest(r)
					if err != nil {
						t.Error(err)
						return
					}
					_, _ = io.WriteString(c, tt.says)
					close(headed)
					if tt.status != 200 {
						_, _ = io.Copy(io.Discard, r)
						return
					}
					got, err := io.ReadAll(req.Body)
					if err != nil {
						t.Error(err)
					}
					_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(got), got)
				})
				u, err := New(whittle.Upstream{URL: url}, false, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer u.Close()
				c := connectionOf(t, secure, func(w http.ResponseWriter, r *http.Request) {
					_ = http.NewResponseController(w).EnableFullDuplex()
					q := (&inbound.Reader{}).Read(r)
					b := inbound.NewBody(w, &q, -1, time.Minute, nil)
					defer b.Detach()
					a, err := u.Send(r.Context(), &Request{In: &q, Body: b})
					if err != nil {
						t.Error(err)
						return
					}
					defer a.Close()
					a.CopyHeader(w.Header())
					w.WriteHeader(a.Status)
					for err == nil {
						var p []byte
						p, err = a.Next()
						_, _ = w.Write(p)
					}
				})
				body := body
				if tt.fields != "" {
					body = body[:tt.first]
				}
				sent, framing := body, fmt.Sprintf("Content-Length: %d", len(body))
				if tt.chunked {
					sent, framing = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body), "Transfer-Encoding: chunked"
				}
				_, _ = fmt.Fprintf(c, "PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n%s%s\r\n\r\n%s", tt.fields, framing, sent[:tt.first])
				from := bufio.NewReader(c)
				if tt.first == 0 {
					<-headed
				}
				if tt.continues {
					if resp, err := http.ReadResponse(from, nil); err != nil || resp.StatusCode != http.StatusContinue {
						t.Fatalf("before the body came %v, %v", resp, err)
					}
				}
				if tt.status == 200 {
					_, _ = io.WriteString(c, sent[tt.first:])
				}
				resp, err := http.ReadResponse(from, nil)
				for err == nil && resp.StatusCode < 200 {
					resp, err = http.ReadResponse(from, nil)
				}
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(resp.Body)
				if err != nil || resp.StatusCode != tt.status || string(got) != tt.got {
					t.Errorf("%d, %d bytes, %v", resp.StatusCode, len(got), err)
				}
			})
		}
	}
}

// scriptedUpstream is a server that plays one connection.
func scriptedUpstream(t *testing.T, play func(c net.Conn, r *bufio.Reader)) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		play(c, bufio.NewReader(c))
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return "http://" + l.Addr().String()
}

// connectionOf is a client's connection to a server of package listener.
func connectionOf(t *testing.T, secure bool, h http.HandlerFunc) net.Conn {
	t.Helper()
	conf := listener.Config{
		Handler: h, Log: slog.New(slog.DiscardHandler),
		Limits: whittle.Limits{
			Connections: 10, HeaderBytes: 64 << 10, Streams: 10,
			HeaderTimeout: time.Minute, IdleTimeout: time.Minute, StallTimeout: time.Minute, Grace: time.Second,
		},
	}
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := listener.Listener{Listener: socket}
	if secure {
		if l.TLS, err = listener.LoadTLS(certificateFiles(t), conf.Log); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- listener.New(conf).Serve(ctx, l) }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	if secure {
		c = tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	}
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	return c
}

// certificateFiles are those of httptest's own server.
func certificateFiles(t *testing.T) listener.TLS {
	t.Helper()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	pair := s.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	files := listener.TLS{Certificate: filepath.Join(t.TempDir(), "cert.pem"), Key: filepath.Join(t.TempDir(), "key.pem")}
	for name, b := range map[string]pem.Block{
		files.Certificate: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]},
		files.Key:         {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(name, pem.EncodeToMemory(&b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestExpectGoesOverAConnectionOfItsOwn: a request whose body is held back meets no
// connection that the upstream closes just then, and one that ends without a word ends
// the wait, with nothing of the body read and no 100 said.
func TestExpectGoesOverAConnectionOfItsOwn(t *testing.T) {
	defer func(d time.Duration) { continueTimeout = d }(continueTimeout)
	continueTimeout = time.Hour
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS %v", secure), func(t *testing.T) {
			u := upstreamOf(t, whittle.Upstream{URL: playedUpstream(t, secure, func(c net.Conn, r *bufio.Reader) {
				for n := 0; ; n++ {
					req, err := http.ReadRequest(r)
					if err != nil || req.URL.Path == "/gone" || n > 0 && req.Header.Get("Expect") != "" {
						return // without a word
					}
					_, _ = io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n")
					got, _ := io.Copy(io.Discard, req.Body)
					_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%d", len(fmt.Sprint(got)), got)
				}
			}), Insecure: true})
			send := func(path, expect string, body io.Reader) (*Response, *inbound.Body, error) {
				r := httptest.NewRequest(http.MethodPost, path, body)
				r.ContentLength = -1
				if expect != "" {
					r.Header.Set("Expect", expect)
				}
				q := (&inbound.Reader{}).Read(r)
				b := inbound.NewBody(httptest.NewRecorder(), &q, -1, time.Minute, nil)
				a, err := u.Send(t.Context(), &Request{In: &q, Body: b})
				return a, b, err
			}
			for range 3 {
				for _, expect := range []string{"", "100-continue"} {
					a, b, err := send("/", expect, strings.NewReader("body"))
					if err != nil {
						t.Fatalf("expecting %q: %v", expect, err)
					}
					if got, _ := a.Next(); string(got) != "4" {
						t.Errorf("expecting %q: the upstream has read %q", expect, got)
					}
					for err == nil {
						_, err = a.Next()
					}
					a.Close()
					b.Detach()
				}
			}
			unread := strings.NewReader("body")
			_, b, err := send("/gone", "100-continue", unread)
			if Classify(err) != whittle.FailedReset || unread.Len() != len("body") {
				t.Errorf("an upstream that goes: %v, with %d bytes unread", err, unread.Len())
			}
			b.Detach()
		})
	}
}

// playedUpstream is a server that plays every connection.
func playedUpstream(t *testing.T, secure bool, play func(c net.Conn, r *bufio.Reader)) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url = "http://" + l.Addr().String()
	if secure {
		files := certificateFiles(t)
		pair, err := tls.LoadX509KeyPair(files.Certificate, files.Key)
		if err != nil {
			t.Fatal(err)
		}
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}})
		url = "https://" + l.Addr().String()
	}
	var playing sync.WaitGroup
	playing.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			playing.Go(func() {
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(time.Minute))
				play(c, bufio.NewReader(c))
			})
		}
	})
	t.Cleanup(playing.Wait)
	t.Cleanup(func() { _ = l.Close() })
	return url
}
