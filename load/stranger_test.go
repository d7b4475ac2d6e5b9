package load

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"whittle/internal/certtest"
	"whittle/internal/fatal"
	"whittle/internal/rawtest"
	"whittle/load/report"
	"whittle/load/wire"
)

// each responds with the same bytes to every request of a connection.
func each(texts ...string) func(net.Conn, int) {
	return func(c net.Conn, _ int) {
		b := bufio.NewReader(c)
		for readRequest(b) == nil {
			for _, text := range texts {
				if _, err := io.WriteString(c, text); err != nil {
					return
				}
			}
		}
	}
}

func gzipped(text string) string {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", b.Len(), b.String())
}

// Servers respond in many ways, right and wrong. Each is counted as what it is, on event
// loops and on goroutines, and no run waits for longer than its timeout.
func TestTargetsOfEveryKind(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
	chunk := strings.Repeat("x", 1<<20)
	hundred := make([]string, 101)
	hundred[0] = fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", 100<<20)
	for i := range 100 {
		hundred[i+1] = chunk
	}
	for _, c := range []struct {
		name   string
		serve  func(net.Conn, int)
		steps  string // of a get, before its URL
		status string // of all requests; empty: there is no response
		kind   string // of the error; empty: there is none
	}{
		{"a body of 100 MB", each(hundred...), "", "200", ""},
		{"a body of 100 MB that is captured from", each(hundred...), "capture: {json: $.a, as: b}, ", "200", report.ErrorCapture},
		{"chunks, extensions and trailers", each("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n5;a=b\r\nhello\r\n6\r\n " +
			"world\r\n0\r\nX-T: 1\r\n\r\n"), "match: {regexp: '^(hello world)$', value: hello world}, ", "200", ""},
		{"chunks that are cut off", func(c net.Conn, _ int) { say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel")(c, 0) }, "", "", report.ErrorReset},
		{"chunks of nonsense", each("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n"), "", "", report.ErrorMalformed},
		{"gzip", each(gzipped(`{"a": 7}`)), "match: {json: $.a, value: 7}, ", "200", ""},
		{"gzip that is none", each("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nhi"), "match: {json: $.a, value: 7}, ", "200", report.ErrorExpectation},
		{"a bomb of gzip", each(gzipped(strings.Repeat(" ", 200<<20))), "match: {json: $.a, value: 7}, ", "200", report.ErrorExpectation},
		{"informational responses first", each("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok), "", "200", ""},
		{"a status that is not expected", each("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"), "expect: {statusCode: 200}, ", "404", report.ErrorExpectation},
		{"no content", each("HTTP/1.1 204 No Content\r\n\r\n"), "", "204", ""},
		{"until the end", say("HTTP/1.0 200 OK\r\n\r\nhi"), "match: {regexp: '(hi)', value: hi}, ", "200", ""},
		{"nothing", func(net.Conn, int) {}, "", "", report.ErrorReset},
		{"a reset", func(c net.Conn, _ int) {
			_ = readRequest(bufio.NewReader(c))
			_ = c.(*net.TCPConn).SetLinger(0)
		}, "", "", report.ErrorReset},
		{"garbage", say("\x00\x01\x02 garbage\r\n\r\n"), "", "", report.ErrorMalformed},
		{"HTTP/2", say("\x00\x00\x00\x04\x00\x00\x00\x00\x00\r\n\r\n"), "", "", report.ErrorMalformed},
		{"a head without end", func(c net.Conn, _ int) {
			_ = readRequest(bufio.NewReader(c))
			for _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\n"); err == nil; _, err = io.WriteString(c, "a: "+chunk[:1000]+"\r\n") {
			}
		}, "", "", report.ErrorMalformed},
		{"two lengths", each("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi!"), "", "", report.ErrorMalformed},
		{"more than was asked for", each(ok + ok), "", "200", ""},
		{"silence", func(c net.Conn, _ int) { _, _ = io.Copy(io.Discard, c) }, "", "", report.ErrorTimeout},
		{"a redirect without end", each("HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n"), "", "", report.ErrorRedirect},
		{"a redirect to another protocol", each("HTTP/1.1 302 Found\r\nLocation: ftp://h/\r\nContent-Length: 0\r\n\r\n"), "", "", report.ErrorRedirect},
		{"a redirect that is not followed", each("HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n"), "followRedirect: false, ", "302", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			url := rawtest.Serve(t, c.serve)
			for _, form := range []string{"event loops", "goroutines"} {
				timeout := "30"
				if c.kind == report.ErrorTimeout {
					timeout = "0.3"
				}
				p := parsed(t, "config: {http: {timeout: "+timeout+"}, phases: [{duration: 0.01, arrivalCount: 1}]}\nscenarios: [{flow: [{get: {"+c.steps+"url: /}}]}]")
				p.Scripted = form == "goroutines"
				r := run(t, p, Options{Target: url})
				want := map[string]int64{}
				if c.kind != "" {
					want[c.kind] = 1
				}
				if r.Requests != 1 || fmt.Sprint(r.Errors) != fmt.Sprint(want) || (r.Codes[c.status] == 1) != (c.status != "") || (r.Completed == 1) != (c.status != "") {
					t.Errorf("%s: %d requests, %v, %v, %q", form, r.Requests, r.Codes, r.Errors, r.ErrorSamples)
				}
				if c.kind == report.ErrorTimeout && r.Median < 300 { // a timeout is in the latency as what it was at least
					t.Errorf("%s: median %v ms after a timeout of 300 ms", form, r.Median)
				}
				if ends := c.kind != "" && !strings.Contains(c.steps, "expect"); (r.Users.Failed == 1) != ends { // an expectation ends nobody
					t.Errorf("%s: %d virtual users failed", form, r.Users.Failed)
				}
				fatal.Same(t, (r.NoSuccess() != ""), c.kind != "", "%s: %q", form, r.NoSuccess())
			}
		})
	}
}

// What is wrong with a server's TLS is said as what it is, over both protocols.
func TestTargetsWithTLSOfEveryKind(t *testing.T) {
	t.Parallel()
	start := func(cert *tls.Certificate, protocols ...string) string {
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		srv.EnableHTTP2 = len(protocols) == 0 || protocols[0] == "h2"
		srv.TLS = &tls.Config{NextProtos: protocols}
		if len(protocols) > 0 {
			srv.Config.Protocols = new(http.Protocols)
			srv.Config.Protocols.SetHTTP1(protocols[0] != "h2")
			srv.Config.Protocols.SetHTTP2(protocols[0] == "h2")
		}
		if cert != nil {
			srv.TLS.Certificates = []tls.Certificate{*cert}
		}
		srv.StartTLS()
		t.Cleanup(srv.Close)
		return srv.URL
	}
	a := certtest.New(t)
	past := time.Now().Add(-time.Hour)
	expired := a.Sign(t, x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: past.Add(-time.Hour), NotAfter: past}).Certificate
	wrong := a.For(t, "other.test").Certificate
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for _, c := range []struct {
		name, url string
		insecure  bool
		protocol  string
		kind      string // empty: it works
		says      string
	}{
		{"unknown", start(nil), false, wire.HTTP1, report.ErrorCertificate, "unknown authority"},
		{"unknown", start(nil), false, wire.HTTP2, report.ErrorCertificate, "unknown authority"},
		{"expired", start(&expired), false, wire.HTTP1, report.ErrorCertificate, "expired"},
		{"of another host", start(&wrong), false, wire.HTTP1, report.ErrorCertificate, "127.0.0.1"},
		{"of another host", start(&wrong), false, wire.HTTP2, report.ErrorCertificate, "127.0.0.1"},
		{"any is accepted", start(&expired), true, wire.HTTP1, "", ""},
		{"any is accepted", start(&wrong), true, wire.HTTP2, "", ""},
		{"HTTP/2 alone", start(nil, "h2"), true, wire.HTTP1, report.ErrorReset, "EOF"}, // as Go closes it
		{"HTTP/2 alone", start(nil, "h2"), true, wire.HTTP2, "", ""},
		{"no HTTP/2", start(nil, "http/1.1"), true, wire.HTTP2, report.ErrorConnect, "no application protocol"},
		{"no TLS", strings.Replace(plain.URL, "http:", "https:", 1), true, wire.HTTP1, report.ErrorConnect, "first record does not look like a TLS handshake"},
		{"no TLS", strings.Replace(plain.URL, "http:", "https:", 1), true, wire.HTTP2, report.ErrorConnect, "first record does not look like a TLS handshake"},
	} {
		p := parsed(t, fmt.Sprintf("config: {tls: {rejectUnauthorized: %v}, phases: [{duration: 0.01, arrivalCount: 1}]}\nscenarios: [{flow: [{get: {url: /}}]}]", !c.insecure))
		r := run(t, p, Options{Target: c.url, Protocol: c.protocol})
		if c.kind == "" && r.Completed != 1 || c.kind != "" && (r.Errors[c.kind] != 1 || !strings.Contains(r.ErrorSamples[c.kind], c.says)) {
			t.Errorf("%s over %s: %d completed, %v, %q", c.name, c.protocol, r.Completed, r.Errors, r.ErrorSamples)
		}
	}
}
