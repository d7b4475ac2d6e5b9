package passthrough

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/fatal"
)

const (
	behind         = "GET /next HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
	getTwice       = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n" + behind
	upgradeRequest = "GET /a HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket, TLS/1.0\r\n\r\n"
	upgraded       = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "

	headFirst = "HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n" + behind
)

// TestOddResponses is what a client gets where an upstream's response is odd, be it on
// a route that is mirrored or on none: what two readers could take for different
// messages is never passed on, and nothing of one response is taken for the next.
func TestOddResponses(t *testing.T) {
	candidate := upstream(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	for _, tt := range []struct {
		name string
		sent string // "": one GET
		says string // by the upstream, in response to /a
		ends bool   // it then closes
		// gets is what the client gets, as gist has it; netHTTP, where net/http has
		// read the request; "": the same.
		gets, netHTTP string
	}{
		{name: "plain", says: okResponse, gets: `200 OK, "ok"`},
		{name: "trailer in resp", says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n2\r\nok\r\n0\r\nX-A: b\r\n\r\n", gets: `200 OK, Trailer: X-A, trailer X-A: b, "ok"`},
		{name: "trailer w/ content-length", says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Content-Length\r\n\r\n" +
			"2\r\nok\r\n0\r\nContent-Length: 5\r\n\r\n", gets: `200 OK, Trailer: Content-Length, "ok"`},
		{name: "trailer unannounced Set-Cookie", says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" +
			"2\r\nok\r\n0\r\nSet-Cookie: a=b\r\n\r\n", gets: `200 OK, trailer Set-Cookie: a=b, "ok"`, netHTTP: `200 OK, "ok"`},
		{name: "trailer with folding", says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n" +
			"2\r\nok\r\n0\r\nX-A: b\r\n c\r\n\r\n", gets: `200 OK, Trailer: X-A, trailer X-A: b   c, "ok"`},
		{name: "100 then 200", says: "HTTP/1.1 100 Continue\r\n\r\n" + okResponse, gets: `200 OK, "ok"`},
		{name: "5x100 then 200", says: strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 5) + okResponse, gets: `200 OK, "ok"`},
		{name: "102,103", says: "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + okResponse, gets: `102 Processing | 103 Early Hints, Link: </a> | 200 OK, "ok"`},
		{name: "40x103", says: strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 40) + okResponse, gets: strings.Repeat("103 Early Hints | ", 32) + "502 Bad Gateway"},
		{name: "199", says: "HTTP/1.1 199 X\r\n\r\n" + okResponse, gets: `199 X | 200 OK, "ok"`, netHTTP: `199 status code 199 | 200 OK, "ok"`},
		{name: "101 unasked", says: "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", gets: `502 Bad Gateway`},
		{name: "100 with content-length", says: "HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\nhello" + okResponse, gets: `502 Bad Gateway`},
		{name: "103 then close", says: "HTTP/1.1 103 Early Hints\r\n\r\n", ends: true, gets: `103 Early Hints | 502 Bad Gateway`},
		{name: "HEAD w/ body", sent: headFirst, says: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", gets: `200 OK, length 5 | 200 OK, "ok"`},
		{name: "HEAD chunked w/ body", sent: headFirst, says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", gets: `200 OK | 200 OK, "ok"`},
		{name: "HEAD no length", sent: headFirst, says: "HTTP/1.1 200 OK\r\n\r\n", gets: `200 OK | 200 OK, "ok"`},
		{name: "204 w/ body", sent: getTwice, says: "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", gets: `204 No Content | 200 OK, "ok"`},
		{name: "204 chunked", sent: getTwice, says: "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", gets: `204 No Content | 200 OK, "ok"`},
		{name: "304 w/ body", sent: getTwice, says: "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello", gets: `304 Not Modified | 200 OK, "ok"`},
		{name: "304 chunked", sent: getTwice, says: "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\nETag: \"a\"\r\n\r\n", gets: `304 Not Modified, Etag: "a" | 200 OK, "ok"`},
		{name: "205 w/ body", says: "HTTP/1.1 205 Reset\r\nContent-Length: 5\r\n\r\nhello", gets: `205 Reset, "hello"`, netHTTP: `205 Reset Content, "hello"`},
		{name: "CL list same", says: "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok", gets: `502 Bad Gateway`},
		{name: "CL list diff", says: "HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nok", gets: `502 Bad Gateway`},
		{name: "CL plus", says: "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok", gets: `502 Bad Gateway`},
		{name: "CL neg", says: "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok", gets: `502 Bad Gateway`},
		{name: "CL space in", says: "HTTP/1.1 200 OK\r\nContent-Length: 1 0\r\n\r\nok", gets: `502 Bad Gateway`},
		{name: "CL empty", says: "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\nok", ends: true, gets: `502 Bad Gateway`},
		{name: "CL 0002", says: "HTTP/1.1 200 OK\r\nContent-Length: 0002\r\n\r\nok", gets: `200 OK, "ok"`},
		{name: "CL huge", says: "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nok", ends: true, gets: `502 Bad Gateway`},
		{name: "CL 2^63-1", says: "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nok", ends: true, gets: `502 Bad Gateway`},
		{name: "CL hex", says: "HTTP/1.1 200 OK\r\nContent-Length: 0x2\r\n\r\nok", gets: `502 Bad Gateway`},
		{name: "CL+TE", says: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", gets: `200 OK, "ok"`},
		{name: "TE identity", says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nok", gets: `502 Bad Gateway`},
		{name: "TE chunked,chunked", says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", gets: `502 Bad Gateway`},
		{name: "TE gzip,chunked", says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", gets: `502 Bad Gateway`},
		{name: "TE two fields", says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", gets: `502 Bad Gateway`},
		{name: "TE CHUNKED", says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: CHUNKED\r\n\r\n2\r\nok\r\n0\r\n\r\n", gets: `200 OK, "ok"`},
		{name: "TE xchunked", says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", ends: true, gets: `502 Bad Gateway`},
		{name: "TE on HTTP/1.0", says: "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", ends: true, gets: `502 Bad Gateway`},
		{name: "obs-fold", says: "HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\nContent-Length: 2\r\n\r\nok", gets: `200 OK, X-A: b   c, "ok"`},
		{name: "obs-fold CL", says: "HTTP/1.1 200 OK\r\nContent-Length:\r\n 2\r\n\r\nok", gets: `200 OK, "ok"`},
		{name: "obs-fold first", says: "HTTP/1.1 200 OK\r\n X-A: b\r\nContent-Length: 2\r\n\r\nok", gets: `502 Bad Gateway`},
		{name: "space before colon", says: "HTTP/1.1 200 OK\r\nX-A : b\r\nContent-Length: 2\r\n\r\nok", gets: `502 Bad Gateway`},
		{name: "space before colon CL", says: "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok", ends: true, gets: `502 Bad Gateway`},
		{name: "no colon", says: "HTTP/1.1 200 OK\r\nXA\r\nContent-Length: 2\r\n\r\nok", gets: `502 Bad Gateway`},
		{name: "empty name", says: "HTTP/1.1 200 OK\r\n: b\r\nContent-Length: 2\r\n\r\nok", gets: `502 Bad Gateway`},
		{name: "NUL in value", says: "HTTP/1.1 200 OK\r\nX-A: b\x00c\r\nContent-Length: 2\r\n\r\nok", gets: `502 Bad Gateway`},
		{name: "CR in value", says: "HTTP/1.1 200 OK\r\nX-A: b\rc\r\nContent-Length: 2\r\n\r\nok", gets: `502 Bad Gateway`},
		{name: "bare LF lines", says: "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", gets: `200 OK, "ok"`},
		{name: "latin1 value", says: "HTTP/1.1 200 OK\r\nX-A: caf\xe9\r\nContent-Length: 2\r\n\r\nok", gets: "200 OK, X-A: caf\xe9, \"ok\""},
		{name: "utf8 name", says: "HTTP/1.1 200 OK\r\nX-\xc3\xa9: b\r\nContent-Length: 2\r\n\r\nok", gets: `502 Bad Gateway`},
		{name: "ctl value", says: "HTTP/1.1 200 OK\r\nX-A: a\x01b\r\nContent-Length: 2\r\n\r\nok", gets: `502 Bad Gateway`},
		{name: "reason latin1", says: "HTTP/1.1 200 d\xe9j\xe0\r\nContent-Length: 2\r\n\r\nok", gets: "200 d\xe9j\xe0, \"ok\"", netHTTP: `200 OK, "ok"`},
		{name: "reason ctl", says: "HTTP/1.1 200 a\x01b\r\nContent-Length: 2\r\n\r\nok", gets: `502 Bad Gateway`},
		{name: "no reason no space", says: "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", gets: `200 OK, "ok"`},
		{name: "status 99", says: "HTTP/1.1 99 X\r\nContent-Length: 2\r\n\r\nok", gets: `502 Bad Gateway`},
		{name: "status 1000", says: "HTTP/1.1 1000 X\r\nContent-Length: 2\r\n\r\nok", gets: `502 Bad Gateway`},
		{name: "status 600", says: "HTTP/1.1 600 X\r\nContent-Length: 2\r\n\r\nok", gets: `600 X, "ok"`, netHTTP: `600 status code 600, "ok"`},
		{name: "status 999", says: "HTTP/1.1 999 X\r\nContent-Length: 2\r\n\r\nok", gets: `999 X, "ok"`, netHTTP: `999 status code 999, "ok"`},
		{name: "redirect", says: "HTTP/1.1 307 X\r\nLocation: /b\r\nContent-Length: 2\r\n\r\nok", gets: `307 X, Location: /b, "ok"`, netHTTP: `307 Temporary Redirect, Location: /b, "ok"`},
		{name: "status 20", says: "HTTP/1.1 20 X\r\nContent-Length: 2\r\n\r\nok", gets: `502 Bad Gateway`},
		{name: "status +20", says: "HTTP/1.1 +20 X\r\nContent-Length: 2\r\n\r\nok", gets: `502 Bad Gateway`},
		{name: "HTTP/1.2", says: "HTTP/1.2 200 OK\r\nContent-Length: 2\r\n\r\nok", gets: `502 Bad Gateway`},
		{name: "HTTP/2.0", says: "HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok", gets: `502 Bad Gateway`},
		{name: "HTTP/0.9", says: "hello world", gets: `502 Bad Gateway`},
		{name: "http lower", says: "http/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", gets: `502 Bad Gateway`},
		{name: "ICY", says: "ICY 200 OK\r\nContent-Length: 2\r\n\r\nok", gets: `502 Bad Gateway`},
		{name: "leading CRLF", says: "\r\n\r\n" + okResponse, gets: `502 Bad Gateway`},
		{name: "leading space", says: " " + okResponse, gets: `502 Bad Gateway`},
		{name: "TLS alert in plain", says: "\x15\x03\x01\x00\x02\x02F", ends: true, gets: `502 Bad Gateway`},
		{name: "SSH banner", says: "SSH-2.0-OpenSSH\r\n", gets: `502 Bad Gateway`},
		{name: "h2 settings frame", says: "\x00\x00\x00\x04\x00\x00\x00\x00\x00", ends: true, gets: `502 Bad Gateway`},
		{name: "chunk ext", says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nok\r\n0;x\r\n\r\n", gets: `200 OK, "ok"`},
		{name: "chunk ext quoted crlf", says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=\"b\r\nc\"\r\nok\r\n0\r\n\r\n", gets: ""},
		{name: "chunk size huge hex", says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nok", gets: ""},
		{name: "chunk size 17 digits", says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n00000000000000002\r\nok\r\n0\r\n\r\n", gets: ""},
		{name: "chunk size 0x", says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\nok\r\n0\r\n\r\n", gets: ""},
		{name: "chunk size space", says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2  \r\nok\r\n0 \t\r\n\r\n", gets: `200 OK, "ok"`},
		{name: "chunk size lead space", says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n 2\r\nok\r\n0\r\n\r\n", gets: ""},
		{name: "chunk LF", says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\nok\n0\n\n", gets: ""},
		{name: "chunk data too long", says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokk\r\n0\r\n\r\n", gets: ""},
		{name: "chunk missing last crlf", says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n", ends: true, gets: "200 OK, \"ok\xe2\x80\xa6\""},
		{name: "chunk no zero", says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", ends: true, gets: "200 OK, \"ok\xe2\x80\xa6\""},
		{name: "chunk empty size", says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\nok\r\n0\r\n\r\n", gets: ""},
		{name: "body beyond CL", sent: getTwice, says: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokEXTRA", gets: `200 OK, "ok" | 200 OK, "ok"`},
		{name: "CL short close", says: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok", ends: true, gets: "200 OK, \"ok\xe2\x80\xa6\""},
		{name: "no CL close", says: "HTTP/1.1 200 OK\r\n\r\nok", ends: true, gets: `200 OK, "ok"`},
		{name: "1.0 keepalive", says: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok", gets: `200 OK, "ok"`},
		{name: "Connection: names CL", says: "HTTP/1.1 200 OK\r\nConnection: Content-Length\r\nContent-Length: 2\r\n\r\nok", gets: `200 OK, "ok"`},
		{name: "Connection: names Set-Cookie", says: "HTTP/1.1 200 OK\r\nConnection: Set-Cookie\r\nSet-Cookie: a=b\r\nContent-Length: 2\r\n\r\nok", gets: `200 OK, "ok"`},
		{name: "Connection: close, keep-alive", says: "HTTP/1.1 200 OK\r\nConnection: close, keep-alive\r\nContent-Length: 2\r\n\r\nok", gets: `200 OK, "ok"`},
		{name: "2x Date Server", says: "HTTP/1.1 200 OK\r\nDate: x\r\nDate: y\r\nServer: a\r\nServer: b\r\nContent-Length: 2\r\n\r\nok", gets: `200 OK, Server: a, Server: b, "ok"`},
		{name: "64KB header", says: "HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("a", 65536) + "\r\nContent-Length: 2\r\n\r\nok", gets: `200 OK, X-A: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, "ok"`},
		{name: "1000 headers", says: "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-A: a\r\n", 1000) + "Content-Length: 2\r\n\r\nok", gets: `200 OK, X-A: a, "ok"`},
		{name: "content-type none w/ body", says: "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>", gets: `200 OK, "<html>"`},
		{name: "upgrade refused", sent: "GET /a HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\n" +
			"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", says: okResponse, gets: `200 OK, "ok"`},
		{name: "upgrade 101 half head", sent: upgradeRequest, says: "HTTP/1.1 101 Switching Protocols\r\n" +
			"Upgrade: websocket\r\n", ends: true, gets: `502 Bad Gateway`},
		{name: "upgrade 101 no Upgrade hdr", sent: upgradeRequest, says: "HTTP/1.1 101 Switching Protocols\r\n\r\nhi", ends: true, gets: `502 Bad Gateway`},
		{name: "upgrade other proto", sent: upgradeRequest, says: upgraded + "h2c\r\n\r\nhi", ends: true, gets: `502 Bad Gateway`},
		{name: "upgrade to more", sent: upgradeRequest, says: upgraded + "websocket, h2c\r\n\r\nhi", ends: true, gets: `502 Bad Gateway`},
		{name: "upgrade 101 w/ CL", sent: upgradeRequest, says: upgraded + "WebSocket\r\nContent-Length: 2\r\n\r\nhi", ends: true, gets: `101 Switching Protocols, Upgrade: WebSocket, "hi"`},
		{name: "upgrade to all", sent: upgradeRequest, says: upgraded + "tls/1.0, websocket\r\n\r\nhi", ends: true, gets: `101 Switching Protocols, Upgrade: tls/1.0, websocket, "hi"`},
		{name: "upgrade unasked", says: "HTTP/1.1 200 OK\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nok", gets: `200 OK, "ok"`},
		{name: "upgrade h2c asked", sent: "GET /a HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings, close\r\n" +
			"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n", says: okResponse, gets: `200 OK, "ok"`},
		{name: "upgrade w/o Connection", sent: "GET /a HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: close\r\n\r\n", says: okResponse, gets: `200 OK, "ok"`},
		{name: "upgrade POST w/ body", sent: "POST /a HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\nContent-Length: 3\r\n\r\nabc", says: okResponse, gets: `200 OK, "ok"`},
		{name: "426", says: "HTTP/1.1 426 Upgrade Required\r\nUpgrade: TLS/1.2\r\nConnection: Upgrade\r\nContent-Length: 2\r\n\r\nno", gets: `426 Upgrade Required, Upgrade: TLS/1.2, "no"`},
		{name: "CONNECT 200", sent: "CONNECT /a HTTP/1.1\r\nHost: h\r\n\r\n", says: "HTTP/1.1 200 OK\r\n\r\n", gets: `400 Bad Request, "400 Bad Request"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, mirrored := range []bool{false, true} {
				u := scripted(t, func(_ int, c net.Conn, r *bufio.Reader) {
					for {
						req, _, err := readRequest(r)
						if err != nil {
							return
						}
						says := tt.says
						if req.URL.Path == "/next" {
							says = okResponse
						}
						if _, err := io.WriteString(c, says); err != nil || tt.ends {
							return
						}
					}
				})
				g := through(t, u, func(o *options) {
					if mirrored {
						o.Routes = []whittle.Route{{
							Name: "/", Match: whittle.Match{Pattern: "/"}, Candidate: &whittle.Upstream{URL: candidate.URL, Timeout: patience}, Safe: true,
							Mirror: whittle.Mirror{Sample: whittle.All, Queue: 8, Concurrency: 1, MaxBody: 1 << 10, MaxMemory: 1 << 20},
						}}
						o.Observe = func(*whittle.Exchange) whittle.Observation { return whittle.Observation{} }
					}
				})
				sent := tt.sent
				if sent == "" {
					sent = "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
				}
				want := tt.gets
				if process.NetHTTP && tt.netHTTP != "" {
					want = tt.netHTTP
				}
				fatal.Same(t, gist(raw(t, g.addr, sent), strings.HasPrefix(sent, "HEAD")), want, "mirrored %v: what the client got", mirrored)
			}
		})
	}
}

// gist is what a stream of responses says: of each the status and its phrase, the
// fields but for those that a gateway writes by itself, and the body in quotes. What is
// cut off, or behind a response, is said.
func gist(stream string, head bool) string {
	var all []string
	for stream != "" {
		top, rest, whole := strings.Cut(stream, "\r\n\r\n")
		lines := strings.Split(top, "\r\n")
		status, ok := strings.CutPrefix(lines[0], "HTTP/1.1 ")
		if !whole || !ok {
			return strings.Join(append(all, fmt.Sprintf("cut: %.80q", stream)), " | ")
		}
		said := []string{status}
		fields := slices.Compact(slices.Sorted(slices.Values(lines[1:])))
		length, chunked := -1, false
		for _, line := range fields {
			name, value, _ := strings.Cut(line, ": ")
			switch name {
			case "Date", "X-Content-Type-Options", "X-Whittle-Failure", "Connection", "Content-Type":
			case "Transfer-Encoding":
				chunked = value == "chunked"
			case "Content-Length":
				_, _ = fmt.Sscan(value, &length)
			default:
				said = append(said, fmt.Sprintf("%.40s", line))
			}
		}
		bodiless := status[0] == '1' || strings.HasPrefix(status, "204") || strings.HasPrefix(status, "304") || head && status[0] != '1'
		head = head && status[0] == '1'
		var body string
		switch {
		case bodiless && strings.HasPrefix(status, "101"):
			body, rest = rest, ""
		case bodiless && length >= 0:
			said = append(said, fmt.Sprint("length ", length))
		case bodiless:
		case chunked:
			var trailer string
			var cut bool
			if body, trailer, rest, cut = unchunk(rest); cut {
				body += "…"
			}
			if trailer != "" {
				said = append(said, "trailer "+trailer)
			}
		case length >= 0:
			n := min(length, len(rest))
			if body, rest = rest[:n], rest[n:]; n < length {
				body += "…"
			}
		default:
			body, rest = rest, ""
		}
		if body != "" && (body != "Bad Gateway\n" || !strings.HasPrefix(status, "502")) {
			said = append(said, fmt.Sprintf("%.60q", body))
		}
		all, stream = append(all, strings.Join(said, ", ")), rest
	}
	return strings.Join(all, " | ")
}

// unchunk takes a chunked body from the front of a stream.
func unchunk(stream string) (body, trailer, rest string, cut bool) {
	for {
		line, after, ok := strings.Cut(stream, "\r\n")
		var n int
		if _, err := fmt.Sscanf(line, "%x", &n); !ok || err != nil {
			return body, "", "", true
		}
		if n == 0 {
			trailer, rest, ok = strings.Cut("\r\n"+after, "\r\n\r\n")
			return body, strings.TrimPrefix(trailer, "\r\n"), rest, !ok
		}
		if len(after) < n+2 {
			return body + after[:min(n, len(after))], "", "", true
		}
		body, stream = body+after[:n], after[n+2:]
	}
}
