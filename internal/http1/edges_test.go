package http1

import (
	"errors"
	"strings"
	"testing"
)

// TestRefusedWith holds heads at the edges of what is allowed to the fault that they
// are refused with; nil where they are taken.
func TestRefusedWith(t *testing.T) {
	const get, ok = "GET / HTTP/1.1\r\nHost: h\r\n", "HTTP/1.1 200 OK\r\n"
	for text, want := range map[string]*Error{
		// A length of 0 is a length: it comes neither with another one nor with chunks.
		get + "Content-Length: 0\r\nContent-Length: 5\r\n\r\n":                      errLengths,
		get + "Content-Length: 0\r\nContent-Length: 0\r\n\r\n":                      errLengths,
		get + "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n":             errBoth,
		get + "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n":             errBoth,
		ok + "Content-Length: 0\r\nContent-Length: 5\r\n\r\n":                       errLengths,
		ok + "Content-Length: 0\r\nContent-Length: 00\r\n\r\n":                      nil,
		ok + "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n":              errBoth,
		"CONNECT :80 HTTP/1.1\r\nHost: h\r\n\r\n":                                   errTarget,
		"CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n":                                  nil,
		"GET a://h HTTP/1.1\r\nHost: h\r\n\r\n":                                     nil,
		"GET Zz+1://h HTTP/1.1\r\nHost: h\r\n\r\n":                                  nil,
		"GET z://h HTTP/1.1\r\nHost: h\r\n\r\n":                                     nil,
		"GET 1a://h HTTP/1.1\r\nHost: h\r\n\r\n":                                    errTarget,
		"GET http:///a HTTP/1.1\r\nHost: h\r\n\r\n":                                 errTarget,
		"GET / HTTP/1.1x\r\n":                                                       errRequestLine,
		"GET / HTTP/1.1\n":                                                          errLineEnd,
		"GET / HTTP/1.1 \r\n":                                                       errRequestLine,
		"GET / HTTP/2.0":                                                            errVersion, // before the line has ended
		"GET / HTTP/1.x":                                                            errRequestLine,
		"HTTP/1.1 100 Continue\r\n\r\n":                                             nil,
		"HTTP/1.1 099 Less\r\n\r\n":                                                 errStatusLine,
		"HTTP/1.1 999 More\r\n\r\n":                                                 nil,
		"HTTP/1.1 199 \r\n\r\n":                                                     nil,
		"HTTP/1.1 2:0 Colon\r\n\r\n":                                                errStatusLine,
		"HTTP/1.1 2/0 Slash\r\n\r\n":                                                errStatusLine,
		"HTTP/":                                                                     nil, // so far
		"HTTP/2":                                                                    errVersion,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: b\x00\r\n":             errByte,
		"GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n":              errOtherCoding,
		"GET http://h/ HTTP/1.1\r\nHost: other\r\n\r\n":                             errAuthority,
		"GET http://h/ HTTP/1.1\r\nHost: H\r\n\r\n":                                 nil,
		"CONNECT other:1 HTTP/1.1\r\nHost: h\r\n\r\n":                               nil,
		"GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n":                              errHosts,
		"GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n":                      errOldChunks,
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n":                     errOldChunks,
		"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n": errTooMuch,
	} {
		parse := new(RequestHead).Parse
		if strings.HasPrefix(text, "HTTP/") {
			parse = new(ResponseHead).Parse
		}
		_, err := parse([]byte(text))
		if want == nil && err != nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}
