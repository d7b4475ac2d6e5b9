package http1

import (
	"bytes"
	"errors"
	"fmt"
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

// TestVersions: of the versions only 1.0 and 1.1 are read, another one is said to be
// one, and what is no version is malformed.
func TestVersions(t *testing.T) {
	for _, major := range "/0123456789:" {
		for _, minor := range "/0123456789:" {
			version := string(major) + "." + string(minor)
			digits := major >= '0' && major <= '9' && minor >= '0' && minor <= '9'
			want := 400
			switch {
			case version == "1.0", version == "1.1":
				want = 0
			case digits:
				want = 505
			}
			var h RequestHead
			if _, err := h.Parse([]byte("GET / HTTP/" + version + "\r\nHost: h\r\n\r\n")); statusOf(err) != want {
				t.Errorf("version %s: %v, want status %d", version, err, want)
			}
		}
	}
}

// TestNothingBeyondTheLimit: a head that fills its limit and is not whole is refused
// at once, and what lies beyond the limit is not even looked at.
func TestNothingBeyondTheLimit(t *testing.T) {
	const line = "GET / HTTP/1.1\r\nHost: h\r\n"
	for _, text := range []string{line, line + "(malformed", line[:len(line)-3]} {
		h := RequestHead{Limits: Limits{Head: min(len(line), len(text))}}
		if _, err := h.Parse([]byte(text)); !errors.Is(err, errLongHead) {
			t.Errorf("%q, of which %d are allowed: %v", text, h.Limits.Head, err)
		}
		h = RequestHead{Limits: Limits{Head: len(text) + 1}}
		if _, err := h.Parse([]byte(text)); errors.Is(err, errLongHead) {
			t.Errorf("%q, of which all and one more are allowed: %v", text, err)
		}
	}
}

// TestLengthZeroWithChunks: where a length together with chunks is tolerated, one of 0 is as
// well, and the connection ends behind it.
func TestLengthZeroWithChunks(t *testing.T) {
	for _, length := range []string{"0", "7"} {
		h := ResponseHead{Tolerance: LengthAndChunks}
		_, err := h.Parse([]byte("HTTP/1.1 200 OK\r\nContent-Length: " + length + "\r\nTransfer-Encoding: chunked\r\n\r\n"))
		if err != nil || !h.Closes() || h.ContentLength() != -1 || h.Framing("GET").Kind != Chunked {
			t.Errorf("a length of %s: %v, closes %v, length %d", length, err, h.Closes(), h.ContentLength())
		}
	}
}

// TestConnectOpensATunnel: only a status of 2xx opens a tunnel.
func TestConnectOpensATunnel(t *testing.T) {
	for status, want := range map[int]Framing{200: {Kind: UntilClose}, 299: {Kind: UntilClose}, 300: {Length, 5}, 199: {}} {
		var h ResponseHead
		text := fmt.Sprintf("HTTP/1.1 %d Reason\r\nContent-Length: 5\r\n\r\n", status)
		if _, err := h.Parse([]byte(text)); err != nil || h.Framing("CONNECT") != want || h.Status() != status {
			t.Errorf("%d: %v, %v", status, h.Framing("CONNECT"), err)
		}
	}
	for _, text := range []string{"HTTP/1.1 200\r\n\r\n", "HTTP/1.1 200 \r\n\r\n"} {
		var h ResponseHead
		if _, err := h.Parse([]byte(text)); err != nil || len(h.Reason()) != 0 {
			t.Errorf("%q: %q, %v", text, h.Reason(), err)
		}
	}
}

// TestWrittenStatuses: the statuses that can be read are those that can be written.
func TestWrittenStatuses(t *testing.T) {
	for status, want := range map[int]bool{99: false, 100: true, 999: true, 1000: false, -200: false} {
		b, ok := AppendStatusLine([]byte("x"), status, "r")
		if ok != want || want != bytes.Equal(b, fmt.Appendf(nil, "xHTTP/1.1 %d r\r\n", status)) || !ok && string(b) != "x" {
			t.Errorf("%d: %q, %v", status, b, ok)
		}
	}
}

// TestSameFold: bytes are the same where they are, and where they are one letter of
// ASCII in two cases.
func TestSameFold(t *testing.T) {
	for a := range 256 {
		for b := range 256 {
			x, y := []byte{byte(a)}, []byte{byte(b)}
			want := a == b || a < 0x80 && b < 0x80 && strings.EqualFold(string(x), string(y))
			if sameFold(x, y) != want {
				t.Errorf("%q and %q: %v", x, y, !want)
			}
		}
	}
	if sameFold([]byte("a"), []byte("ab")) {
		t.Error("texts of two lengths are the same")
	}
}

// TestWhereABodyIsRefused: what came before the byte that is refused is no fault by
// itself, and the byte behind it makes it one.
func TestWhereABodyIsRefused(t *testing.T) {
	for _, text := range []string{
		"x", "1x", "\r\n", "1\rx", "1\n", "1\r\nabc", "1\r\na\rx", "1\r\na\nb", "10000000000000000\r\n", "1 x\r\n", "1;\x00\r\n", "1;a\x7f\r\n", "1;a\n",
		"1;" + strings.Repeat("x", maxSizeLine), "1;a b\tc\r\nx\r\n2\r\nabc", "9\r\n", "0\r\nContent-Length: 1\r\n\r\n",
	} {
		follow := func(text string) (used int, err error) {
			b := Body{Limits: Limits{Body: 8}}
			b.Begin(Framing{Kind: Chunked})
			for {
				_, n, err := b.Next([]byte(text[used:]))
				if used += n; err != nil || n == 0 {
					return used, err
				}
			}
		}
		used, err := follow(text)
		if err == nil {
			t.Errorf("%.30q is taken", text)
			continue
		}
		if used > len(text) || used < 0 {
			t.Errorf("%.30q is refused behind %d", text, used)
			continue
		}
		if _, err := follow(text[:used]); err != nil {
			t.Errorf("%.30q is refused behind %d, and what is before it as well: %v", text, used, err)
		}
		if strings.HasPrefix(text[used:], "Content-Length") { // a trailer section is refused whole
			continue
		}
		if _, err := follow(text[:used+1]); err == nil {
			t.Errorf("%.30q is refused behind %d, and with the next byte it is taken", text, used)
		}
	}
}
