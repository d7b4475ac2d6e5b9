package http1

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"whittle/internal/fatal"
)

// TestByteSets holds each set, byte by byte, to the text of its RFC.
func TestByteSets(t *testing.T) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	for c := range 256 {
		b := []byte{byte(c)}
		in := func(chars string) bool { return strings.IndexByte(chars, byte(c)) >= 0 }
		for name, got := range map[string][2]bool{
			"token (RFC 9110, 5.6.2)":         {IsToken(b), in(letters + "!#$%&'*+-.^_`|~")},
			"value (RFC 9110, 5.5)":           {IsValue(b), c >= ' ' && c != 0x7f || c == '\t'},
			"target (no control, no blank)":   {IsTarget(b), c > ' ' && c != 0x7f},
			"host (RFC 3986, 3.2.2 and port)": {all(b, inHost), in(letters + "-._~!$&'()*+,;=%:[]")},
			"scheme (RFC 3986, 3.1)":          {all(b, inScheme), in(letters + "+-.")},
			"hexadecimal digit":               {hexDigit(byte(c)) >= 0, in("0123456789abcdefABCDEF")},
		} {
			fatal.Same(t, got[0], got[1], "%#x in %s", c, name)
		}
	}
	for _, empty := range []bool{IsToken(""), IsTarget(""), !IsValue("")} {
		if empty {
			t.Error("an empty text is a token, a target, or no value")
		}
	}
	for i, c := range "0123456789abcdef" {
		if hexDigit(byte(c)) != int64(i) || hexDigit(strings.ToUpper(string(c))[0]) != int64(i) {
			t.Errorf("the digit %c is %d", c, hexDigit(byte(c)))
		}
	}
}

// TestSizeLines holds the bounds of a chunk's size line exactly.
func TestSizeLines(t *testing.T) {
	extension := func(n int) string { return "1;" + strings.Repeat("x", n-len("1;\r\n")) + "\r\n" }
	// Each such chunk adds 16 bytes and twice its one byte less than its line.
	costly := strings.Repeat(extension(1042)+"a\r\n", 16)
	for _, tc := range []struct {
		text   string
		status int
	}{
		{"000000000000001\r\n", 0},
		{"0000000000000001\r\n", 400},
		{"1; a =\t\"b c\"\r\n", 0},
		{"fffffffffffffff\r\n", 413}, // 2^60 - 1: a length is below 10^18
		{"de0b6b3a763ffff\r\n", 0},   // 10^18 - 1
		{"de0b6b3a7640000\r\n", 413},
		{extension(maxSizeLine), 0},
		{extension(maxSizeLine + 1), 400},
		{costly, 0},
		{costly + "1;" + strings.Repeat("x", 15) + "\r\n", 400},
		{costly + "1;" + strings.Repeat("x", 14) + "\r\n", 0},
		{costly + "2\r\nab\r\n", 0},
	} {
		for _, step := range []int{len(tc.text), 1} {
			var b Body
			b.Begin(Framing{Kind: Chunked})
			if err := follow(&b, tc.text, step); statusOf(err) != tc.status {
				t.Errorf("%.20q of %d by %d: %v, want status %d", tc.text, len(tc.text), step, err, tc.status)
			}
		}
	}
}

// TestControlAt finds a control character wherever it is, and takes no other byte
// for one: eight bytes are looked at together.
func TestControlAt(t *testing.T) {
	for c := range 256 {
		control := c < ' ' && c != '\t' || c == 0x7f
		for size := 1; size <= 18; size++ {
			for at := range size {
				for _, filler := range []byte{'a', '\t', ' ', '~', 0x80, 0xff} {
					b := []byte(strings.Repeat(string([]byte{filler}), size))
					b[at] = byte(c)
					want := size
					if control {
						want = at
					}
					if got := controlAt(b, 0); got != want {
						t.Fatalf("%#x at %d of %d, filled with %#x: found at %d", c, at, size, filler, got)
					}
					if got := controlAt(b, at+1); got != size {
						t.Fatalf("%#x at %d of %d is found behind it, at %d", c, at, size, got)
					}
				}
			}
		}
	}
}

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

// reading is what a reader made of some bytes.
type reading struct {
	first   string // method and target, or status
	fields  []string
	framing Framing
	body    []byte
	trailer []string
	used    int // bytes of head and body
	partial bool
	err     error
}

func (w reading) String() string {
	return fmt.Sprintf("%s %q %v %q %q used %d partial %v: %v", w.first, w.fields, w.framing, w.body, w.trailer, w.used, w.partial, w.err)
}

// whole reports whether a message was accepted with its whole body.
func (w reading) whole() bool { return w.err == nil && !w.partial }

func lines(f *Fields) (out []string) {
	text := string(f.Raw())
	for i := range f.Len() {
		field := f.Field(i)
		if name, value := f.In(text, i); name != string(field.Name) || value != string(field.Value) {
			panic("In and Field differ")
		}
		out = append(out, string(field.Name)+": "+string(field.Value))
	}
	return out
}

// parsed feeds b to parse in steps, in a buffer of its own each time, so that
// nothing can be kept of an earlier one.
func parsed(b []byte, step int, parse func([]byte) (int, error)) (n int, err error) {
	var buf []byte
	for end := min(step, len(b)); ; end = min(end+step, len(b)) {
		buf = append(bytes.Clone(buf), b[len(buf):end]...)
		if n, err = parse(buf); n > 0 || err != nil || end == len(b) {
			return n, err
		}
	}
}

func readRequest(b []byte, step int, _ Tolerance) (w reading) {
	var h RequestHead
	n, err := parsed(b, step, h.Parse)
	if n == 0 || err != nil {
		w.err, w.partial = err, err == nil
		return w
	}
	w.first = string(h.Method()) + " " + string(h.Target())
	w.fields, w.framing = lines(&h.Fields), h.Framing()
	return w.readBody(b, n, step, 0)
}

func readResponse(b []byte, step int, t Tolerance) (w reading) {
	h := ResponseHead{Tolerance: t}
	n, err := parsed(b, step, h.Parse)
	if n == 0 || err != nil {
		w.err, w.partial = err, err == nil
		return w
	}
	w.first = fmt.Sprint(h.Status(), " ", string(h.Reason()))
	w.fields, w.framing = lines(&h.Fields), h.Framing("GET")
	return w.readBody(b, n, step, t)
}

// readBody feeds the body in steps; what Next leaves unused comes again.
func (w reading) readBody(b []byte, at, step int, t Tolerance) reading {
	body := Body{Tolerance: t}
	body.Begin(w.framing)
	for end := min(at+step, len(b)); !body.Done(); {
		in := bytes.Clone(b[at:end])
		content, n, err := body.Next(in)
		w.body = append(w.body, content...)
		at += n
		if err != nil {
			w.err = err
			return w
		}
		if n > 0 {
			continue
		}
		if end == len(b) {
			break
		}
		end = min(end+step, len(b))
	}
	if body.Done() {
		w.trailer = lines(body.Trailer())
	}
	w.partial = body.End() != nil
	w.used = at
	return w
}
