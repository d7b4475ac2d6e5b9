package passthrough

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"whittle/carve/gateway/listener"
	"whittle/internal/certtest"
	"whittle/internal/fatal"
)

// The echo service is written by hand, so that no generated code is needed.
var echoService = grpc.ServiceDesc{
	ServiceName: "test.Echo",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{MethodName: "Unary", Handler: func(_ any, ctx context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		in := new(wrapperspb.StringValue)
		if err := dec(in); err != nil {
			return nil, err
		}
		if in.Value == "fail" {
			return nil, status.Error(codes.FailedPrecondition, "as asked: 100 % ü")
		}
		md, _ := metadata.FromIncomingContext(ctx)
		return in, errors.Join(
			grpc.SetHeader(ctx, metadata.Pairs("x-head", strings.Join(md["x-sent"], ","), "x-bin", "\x00\xff")),
			grpc.SetTrailer(ctx, metadata.Pairs("x-tail", "t")))
	}}},
	Streams: []grpc.StreamDesc{{StreamName: "Bidi", ServerStreams: true, ClientStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
		for {
			in := new(wrapperspb.StringValue)
			if err := s.RecvMsg(in); errors.Is(err, io.EOF) {
				s.SetTrailer(metadata.Pairs("x-tail", "bidi"))
				return nil
			} else if err != nil {
				return err
			}
			if in.Value == "abort" {
				return status.Error(codes.Aborted, "midway")
			}
			if err := s.SendMsg(in); err != nil {
				return err
			}
		}
	}}},
}

func grpcUpstream(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	s := grpc.NewServer()
	s.RegisterService(&echoService, nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() { s.Stop(); <-done })
	return "h2c://" + l.Addr().String()
}

func TestGRPC(t *testing.T) {
	for name, secure := range map[string]bool{"h2c": false, "tls": true} {
		t.Run(name, func(t *testing.T) {
			creds := insecure.NewCredentials()
			var change []func(*options)
			if secure {
				files, roots := certificate(t, t.TempDir())
				change = append(change, func(o *options) { o.TLS = &files })
				creds = credentials.NewTLS(&tls.Config{RootCAs: roots, ServerName: "localhost"})
			}
			g := through(t, grpcUpstream(t), change...)
			conn, err := grpc.NewClient(g.addr, grpc.WithTransportCredentials(creds))
			fatal.If(t, err)
			defer conn.Close()
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			echoUnary(ctx, t, conn)
			echoError(ctx, t, conn)
			echoBidi(ctx, t, conn)
		})
	}
}

func echoUnary(ctx context.Context, t *testing.T, conn *grpc.ClientConn) {
	t.Helper()
	for _, size := range []int{0, 5, 3 << 20} {
		var head, tail metadata.MD
		in, out := wrapperspb.String(strings.Repeat("x", size)), new(wrapperspb.StringValue)
		err := conn.Invoke(metadata.AppendToOutgoingContext(ctx, "x-sent", "a", "x-sent", "b"), "/test.Echo/Unary", in, out,
			grpc.Header(&head), grpc.Trailer(&tail))
		if err != nil || out.Value != in.Value {
			t.Errorf("size %d: %d bytes, %v", size, len(out.Value), err)
		}
		if fmt.Sprint(head["x-head"], tail["x-tail"]) != "[a,b] [t]" || head["x-bin"][0] != "\x00\xff" {
			t.Errorf("size %d: header %v, trailer %v", size, head, tail)
		}
	}
}

func echoError(ctx context.Context, t *testing.T, conn *grpc.ClientConn) {
	t.Helper()
	err := conn.Invoke(ctx, "/test.Echo/Unary", wrapperspb.String("fail"), new(wrapperspb.StringValue))
	if s := status.Convert(err); s.Code() != codes.FailedPrecondition || s.Message() != "as asked: 100 % ü" {
		t.Errorf("the error came as %v", err)
	}
	if err = conn.Invoke(ctx, "/test.Echo/None", wrapperspb.String(""), new(wrapperspb.StringValue)); status.Code(err) != codes.Unimplemented {
		t.Errorf("an unknown method came as %v", err)
	}
}

func echoBidi(ctx context.Context, t *testing.T, conn *grpc.ClientConn) {
	t.Helper()
	for _, last := range []string{"", "abort"} {
		s, err := conn.NewStream(ctx, &echoService.Streams[0], "/test.Echo/Bidi")
		fatal.If(t, err)
		out := new(wrapperspb.StringValue)
		for i := range 10 { // each message is answered before the next is sent
			fatal.If(t, s.SendMsg(wrapperspb.String(fmt.Sprint(i))))
			if err := s.RecvMsg(out); err != nil || out.Value != fmt.Sprint(i) {
				t.Fatalf("message %d came as %q, %v", i, out.Value, err)
			}
		}
		if last == "abort" {
			_ = s.SendMsg(wrapperspb.String(last))
			if err := s.RecvMsg(out); status.Code(err) != codes.Aborted {
				t.Errorf("the abort came as %v", err)
			}
			continue
		}
		_ = s.CloseSend()
		if err := s.RecvMsg(out); !errors.Is(err, io.EOF) {
			t.Errorf("the end came as %v", err)
		}
		if got := s.Trailer()["x-tail"]; len(got) != 1 || got[0] != "bidi" {
			t.Errorf("trailer %v", s.Trailer())
		}
	}
}

// certificate writes a pair and gives what trusts it.
func certificate(t *testing.T, dir string) (listener.TLS, *x509.CertPool) {
	t.Helper()
	authority := certtest.New(t)
	pair := authority.For(t, "localhost", "127.0.0.1")
	pair.Write(t, dir, "cert.pem", "key.pem")
	return listener.TLS{Certificate: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}, authority.Pool()
}

func TestTLS(t *testing.T) {
	u := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %d", r.Header.Get("X-Forwarded-Proto"), r.Host, len(body))
	})
	dir := t.TempDir()
	files, roots := certificate(t, dir)
	g := through(t, u.URL, func(o *options) { o.TLS = &files })
	for _, http2 := range []bool{false, true} {
		for _, size := range []int{0, 10, 100_000} {
			resp, err := speaking(t, http2, roots).Post("https://"+g.addr+"/", "text/plain", strings.NewReader(strings.Repeat("x", size)))
			fatal.If(t, err)
			want := fmt.Sprintf("https %s %d", g.addr, size)
			if got := mustRead(t, resp.Body); got != want || (resp.ProtoMajor == 2) != http2 {
				t.Errorf("%s: got %q, want %q", resp.Proto, got, want)
			}
		}
	}
	for _, tt := range []struct{ offers, sent, begins, ends string }{
		{"http/1.1", "GET / HTTP/1.1\nHost: h\n\n", "HTTP/1.1 400", ""},                // what is inside TLS is checked as well
		{"http/1.0", "GET / HTTP/1.0\r\nHost: h\r\n\r\n", "HTTP/1.0 200", "https h 0"}, // curl --http1.0 offers nothing else
	} {
		c, err := tls.Dial("tcp", g.addr, &tls.Config{RootCAs: roots, NextProtos: []string{tt.offers}})
		fatal.If(t, err)
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(patience))
		_, _ = io.WriteString(c, tt.sent)
		if got, _ := io.ReadAll(c); !strings.HasPrefix(string(got), tt.begins) || !strings.HasSuffix(string(got), tt.ends) {
			t.Errorf("%q inside TLS got %q", tt.sent, got)
		}
	}
}

// TestPlainHTTPToTLS: who speaks plain HTTP to a port of HTTPS is told so; what is neither gets
// nothing.
func TestPlainHTTPToTLS(t *testing.T) {
	u := upstream(t, func(http.ResponseWriter, *http.Request) { t.Error("the upstream was asked") })
	files, _ := certificate(t, t.TempDir())
	g := through(t, u.URL, func(o *options) { o.TLS = &files })
	for sent, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: h\r\n\r\n":     "HTTP/1.1 400 Bad Request",
		"DELETE /a HTTP/1.1\r\nHost: h\r\n\r\n": "HTTP/1.1 400 Bad Request",
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100_000): "HTTP/1.1 400 Bad Request",
		"SSH-2.0-OpenSSH_9.2\r\n": "",
	} {
		c := dial(t, g.addr)
		_, _ = io.WriteString(c, sent)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if want == "" {
			if err == nil {
				t.Errorf("%.20q got %s", sent, resp.Status)
			}
			continue
		}
		if err != nil {
			t.Errorf("%.20q: %v", sent, err)
			continue
		}
		body, err := io.ReadAll(resp.Body)
		if resp.Proto+" "+resp.Status != want || err != nil || !strings.Contains(string(body), "HTTPS") {
			t.Errorf("%.20q got %s %s, %q, %v", sent, resp.Proto, resp.Status, body, err)
		}
	}
}

// TestStreamsEndAlone ends one stream of a connection before its body was read,
// while another goes on: only HTTP/1.1 connections end with their request.
func TestStreamsEndAlone(t *testing.T) {
	u := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		if r.URL.Path == "/early" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.(http.Flusher).Flush()
		_, _ = io.Copy(w, r.Body)
	})
	g := through(t, u.URL)
	c := speaking(t, true, nil)
	post := func(path string) (*http.Response, *io.PipeWriter) {
		pr, pw := io.Pipe()
		req, _ := http.NewRequest(http.MethodPost, g.url(path), pr)
		go func() { _, _ = io.WriteString(pw, "begin ") }()
		resp, err := c.Do(req)
		fatal.If(t, err)
		return resp, pw
	}
	long, end := post("/long")
	for range 20 {
		early, rest := post("/early")
		if early.StatusCode != http.StatusForbidden || early.ProtoMajor != 2 {
			t.Errorf("early answer %d over %s", early.StatusCode, early.Proto)
		}
		_ = early.Body.Close()
		_ = rest.Close()
	}
	_, _ = io.WriteString(end, "and end")
	_ = end.Close()
	fatal.Same(t, mustRead(t, long.Body), "begin and end", "the other stream")
}
