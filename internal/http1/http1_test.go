package http1

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"whittle/internal/fatal"
)

func TestRequestFacts(t *testing.T) {
	for text, want := range map[string]struct {
		form                        TargetForm
		authority, host             string
		framing                     Framing
		http10, closes, upgr, waits bool
	}{
		"GET / HTTP/1.1\r\nHost: h\r\n\r\n": {host: "h"},
		"GET / HTTP/1.0\r\n\r\n":            {http10: true, closes: true},
		"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\nExpect: 100-continue\r\n\r\n":              {http10: true},
		"GET / HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, close\r\n\r\n":                    {host: "h", closes: true},
		"PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nExpect: 100-Continue\r\n\r\n":       {host: "h", framing: Framing{Kind: Length}, waits: true},
		"PUT /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: CHUNKED\r\n\r\n":                      {host: "h", framing: Framing{Kind: Chunked}},
		"GET http://A:8?x HTTP/1.1\r\nHost: a:8\r\n\r\n":                                        {form: Absolute, authority: "A:8", host: "a:8"},
		"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n":                                                 {form: Asterisk, host: "h"},
		"CONNECT [::1]:1 HTTP/1.1\r\nHost: x\r\n\r\n":                                           {form: Authority, authority: "[::1]:1", host: "x"},
		"GET / HTTP/1.1\r\nHost: h\r\nConnection: x, Upgrade;y\r\nUpgrade: ws\r\n\r\n":          {host: "h", upgr: true},
		"GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: \r\n\r\n":                 {host: "h"},
		"GET / HTTP/1.1\r\nHost: h\r\nUpgrade: ws\r\n\r\n":                                      {host: "h"},
		"\r\nPOST /x HTTP/1.1\r\nHost:\t h \t\r\nContent-Length: 000000000000000000007\r\n\r\n": {host: "h", framing: Framing{Kind: Length, Length: 7}},
	} {
		var h RequestHead
		n, err := h.Parse([]byte(text + "more"))
		if n != len(text) || err != nil {
			t.Errorf("%q: %d, %v", text, n, err)
			continue
		}
		if h.Form() != want.form || string(h.Authority()) != want.authority || string(h.Host()) != want.host || h.Framing() != want.framing ||
			h.HTTP10() != want.http10 || h.Closes() != want.closes || h.Upgrades() != want.upgr || h.ExpectsContinue() != want.waits {
			t.Errorf("%q: %v %q %q %v, 1.0 %v, closes %v, upgrades %v, waits %v", text, h.Form(), h.Authority(), h.Host(), h.Framing(),
				h.HTTP10(), h.Closes(), h.Upgrades(), h.ExpectsContinue())
		}
	}
}

func TestResponseFraming(t *testing.T) {
	const chunks, length = "Transfer-Encoding: chunked\r\n", "Content-Length: 5\r\n"
	for _, tc := range []struct {
		method, status, fields string
		want                   Framing
		closes                 bool
	}{
		{"GET", "200", length, Framing{Length, 5}, false},
		{"GET", "200", length + length, Framing{Length, 5}, false},
		{"GET", "200", chunks, Framing{Kind: Chunked}, false},
		{"GET", "200", "", Framing{Kind: UntilClose}, false},
		{"GET", "200", "Connection: a,CLOSE\r\n" + length, Framing{Length, 5}, true},
		{"HEAD", "200", length, Framing{}, false},
		{"HEAD", "200", chunks, Framing{}, false},
		{"GET", "204", length, Framing{}, false},
		{"GET", "304", length, Framing{}, false},
		{"GET", "103", length, Framing{}, false},
		{"GET", "101", "", Framing{}, false},
		{"CONNECT", "200", length, Framing{Kind: UntilClose}, false},
		{"CONNECT", "404", length, Framing{Length, 5}, false},
	} {
		var h ResponseHead
		text := "HTTP/1.1 " + tc.status + " Reason\r\n" + tc.fields + "\r\n"
		if n, err := h.Parse([]byte(text)); n != len(text) || err != nil {
			t.Errorf("%q: %d, %v", text, n, err)
		}
		if h.Framing(tc.method) != tc.want || h.Closes() != tc.closes || string(h.Reason()) != "Reason" {
			t.Errorf("%s %q: %v, closes %v, %q", tc.method, text, h.Framing(tc.method), h.Closes(), h.Reason())
		}
	}
}

func TestTolerance(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, tc := range []struct {
		tolerance Tolerance
		text      string
		fields    string
		body      string
	}{
		{BareLF, "HTTP/1.1 200 OK\nA: 1\nContent-Length: 1\n\nx", "A: 1|Content-Length: 1", "x"},
		{Folding, ok + "A: 1\r\n 2:2\r\n\t3 \r\nB:\r\n 4\r\nContent-Length: 0\r\n\r\n", "A: 1   2:2  \t3|B: 4|Content-Length: 0", ""},
		{LengthAndChunks, ok + "Content-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", "Content-Length: 7|Transfer-Encoding: chunked", "x"},
		{PaddedSize, ok + "Transfer-Encoding: chunked\r\n\r\n1 \t\r\nx\r\n0 \r\n\r\n", "Transfer-Encoding: chunked", "x"},
		{FramingInTrailer, ok + "Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 9\r\n\r\n", "Transfer-Encoding: chunked", ""},
	} {
		for _, step := range []int{len(tc.text), 1, 4} {
			got := readResponse([]byte(tc.text), step, tc.tolerance)
			if got.err != nil || got.partial || strings.Join(got.fields, "|") != tc.fields || string(got.body) != tc.body || got.used != len(tc.text) {
				t.Errorf("%q by %d: %v", tc.text, step, got)
			}
			if got := readResponse([]byte(tc.text), step, ^tc.tolerance); got.err == nil {
				t.Errorf("%q by %d is accepted without its tolerance", tc.text, step)
			}
		}
	}
	bare := ResponseHead{Tolerance: BareLF}
	for text, lines := range map[string]string{"HTTP/1.1 200\nA: 1\n\n": "A: 1\n", "HTTP/1.1 200\r\nA: 1\n\r\n": "A: 1\n", "HTTP/1.1 200\n\n": "", "HTTP/1.1 200\r\n\r\n": ""} {
		if n, err := bare.Parse([]byte(text)); n != len(text) || err != nil || string(bare.Lines()) != lines {
			t.Errorf("%q: %d, %v, lines %q", text, n, err, bare.Lines())
		}
	}
	h := ResponseHead{Tolerance: LengthAndChunks}
	if _, err := h.Parse([]byte(ok + "Content-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n")); err != nil || !h.Closes() || h.ContentLength() != -1 {
		t.Errorf("length and chunks: %v, closes %v, length %d", err, h.Closes(), h.ContentLength())
	}
}

func TestHopByHop(t *testing.T) {
	var h RequestHead
	_, err := h.Parse([]byte("GET / HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, x-a , content-length,host\r\nX-A: 1\r\nX-B: 2\r\nTE: trailers\r\n" +
		"Keep-Alive: 5\r\nProxy-Connection: x\r\nproxy-authenticate: x\r\nProxy-Authorization: x\r\nTrailer: t\r\nUpgrade: u\r\nContent-Length: 1\r\nTransfer-Encodin: x\r\n\r\n"))
	fatal.If(t, err)
	var rest []string
	for i := range h.Len() {
		if !h.HopByHop(i) {
			rest = append(rest, string(h.Field(i).Name))
		}
	}
	fatal.Same(t, strings.Join(rest, " "), "Host X-B Content-Length Transfer-Encodin", "end to end")
	if v, ok := h.Value("x-b"); !ok || string(v) != "2" {
		t.Errorf("x-b: %q, %v", v, ok)
	}
	if b := h.Lines(); !bytes.HasPrefix(b, []byte("Host: h\r\n")) || !bytes.HasSuffix(b, []byte("\r\nTransfer-Encodin: x\r\n")) {
		t.Errorf("lines: %q", b)
	}
	if v, ok := h.Value("x-c"); ok {
		t.Errorf("x-c: %q", v)
	}
}

// TestLimits finds that each bound holds exactly, also for what never ends, and
// that its status is the one to respond with.
func TestLimits(t *testing.T) {
	const line = "GET /abc HTTP/1.1\r\n"
	head := line + "Host: h\r\nX: y\r\n\r\n"
	for _, tc := range []struct {
		name   string
		limits Limits
		text   string
		status int
	}{
		{"head at its limit", Limits{Head: len(head)}, head, 0},
		{"head above", Limits{Head: len(head) - 1}, head, 431},
		{"request line without end", Limits{Head: 100}, strings.Repeat("x", 101), 431},
		{"field without end", Limits{Head: 100}, line + "X: " + strings.Repeat("x", 101), 431},
		{"name without end", Limits{Head: 100}, line + strings.Repeat("x", 101), 431},
		{"fields without end", Limits{Head: 100}, line + strings.Repeat("X: y\r\n", 100), 431},
		{"fields at their limit", Limits{Fields: 2}, head, 0},
		{"fields above", Limits{Fields: 1}, head, 431},
		{"target at its limit", Limits{Target: 4}, head, 0},
		{"target above", Limits{Target: 3}, head, 414},
		{"target without end", Limits{Target: 10}, "GET /" + strings.Repeat("x", 40), 414},
		{"length at its limit", Limits{Body: 5}, line + "Host: h\r\nContent-Length: 5\r\n\r\n", 0},
		{"length above", Limits{Body: 4}, line + "Host: h\r\nContent-Length: 5\r\n\r\n", 413},
	} {
		for _, step := range []int{len(tc.text), 1, 9} {
			h := RequestHead{Limits: tc.limits}
			n, err := parsed([]byte(tc.text), step, h.Parse)
			if statusOf(err) != tc.status || tc.status == 0 && n != len(tc.text) {
				t.Errorf("%s by %d: %d, %v", tc.name, step, n, err)
			}
			if e, ok := errors.AsType[*Error](err); ok && !e.TooLarge() {
				t.Errorf("%s: not too large: %v", tc.name, err)
			}
		}
	}
}

func TestBodyLimits(t *testing.T) {
	extended := strings.Repeat("1;"+strings.Repeat("x", 1000)+"\r\nx\r\n", 30)
	for _, tc := range []struct {
		name    string
		framing Framing
		text    string
		status  int
	}{
		{"chunks at the limit", Framing{Kind: Chunked}, "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", 0},
		{"chunks above", Framing{Kind: Chunked}, "3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n", 413},
		{"a chunk announced above", Framing{Kind: Chunked}, "6\r\n", 413},
		{"until close at the limit", Framing{Kind: UntilClose}, "abcde", 0},
		{"until close above", Framing{Kind: UntilClose}, "abcdef", 413},
		{"a size line without end", Framing{Kind: Chunked}, "1;" + strings.Repeat("x", 5000), 400},
		{"a size without end", Framing{Kind: Chunked}, strings.Repeat("0", 5000), 400},
		{"padding without end", Framing{Kind: Chunked}, "1" + strings.Repeat(" ", 5000), 400},
		{"extensions without end", Framing{Kind: Chunked}, extended, 400},
		{"a trailer without end", Framing{Kind: Chunked}, "0\r\n" + strings.Repeat("X: y\r\n", 1000), 431},
		{"a trailer line without end", Framing{Kind: Chunked}, "0\r\nX: " + strings.Repeat("y", 1000), 431},
	} {
		limit := int64(5)
		if strings.HasPrefix(tc.name, "extensions") {
			limit = 100
		}
		for _, step := range []int{len(tc.text), 1, 9} {
			b := Body{Limits: Limits{Body: limit, Head: 900}}
			b.Begin(tc.framing)
			err := follow(&b, tc.text, step)
			fatal.Same(t, statusOf(err), tc.status, "%s by %d: %v", tc.name, step, err)
		}
	}
}

func follow(b *Body, text string, step int) error {
	at := 0
	for end := 0; end < len(text) && !b.Done(); {
		end = min(end+step, len(text))
		for at < end && !b.Done() {
			_, n, err := b.Next([]byte(text[at:end]))
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
			at += n
		}
	}
	return nil
}

// TestBodyEnd finds that a body that is cut off anywhere is not taken for whole.
func TestBodyEnd(t *testing.T) {
	const chunks = "5;a\r\nhello\r\n0\r\nA: b\r\n\r\n"
	for n := range len(chunks) {
		var b Body
		b.Begin(Framing{Kind: Chunked})
		if err := follow(&b, chunks[:n], 3); err != nil || b.Done() || !errors.Is(b.End(), io.ErrUnexpectedEOF) {
			t.Errorf("%q: %v, done %v", chunks[:n], err, b.Done())
		}
	}
	var b Body
	if !b.Done() || b.End() != nil {
		t.Error("a body that was not begun has not ended")
	}
	b.Begin(Framing{Kind: UntilClose})
	if b.Done() || b.Rest() != -1 || b.End() != nil || !b.Done() {
		t.Error("a body until close does not end with the connection")
	}
	b.Begin(Framing{Length, 3})
	if content, n, err := b.Next([]byte("ab")); string(content) != "ab" || n != 2 || err != nil || b.Rest() != 1 || b.End() == nil {
		t.Errorf("%q %d %v, rest %d", content, n, err, b.Rest())
	}
	if content, n, err := b.Next([]byte("cGET")); string(content) != "c" || n != 1 || err != nil || b.Rest() != 0 || !b.Done() {
		t.Errorf("%q %d %v, rest %d", content, n, err, b.Rest())
	}
	b.Begin(Framing{Kind: Length})
	if !b.Done() {
		t.Error("a body of length 0 has not ended")
	}
}

// TestNothingIsAllocated finds that a head, a chunked body and a message that is
// written cost no memory once the memory of earlier ones is there.
func TestNothingIsAllocated(t *testing.T) {
	request, response := []byte(with50Fields()), []byte(benchResponse)
	chunks := EndHead(AppendLastChunk(AppendChunk(nil, make([]byte, 100))))
	trailer := bytes.Replace(chunks, []byte("\r\n0\r\n"), []byte("\r\n0\r\nX: y\r\n"), 1)
	refusedRequest := []byte("GET / HTTP/1.1\r\nHost: h\r\n X: y\r\n\r\n")
	var q RequestHead
	var p ResponseHead
	var b Body
	out := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() {
		_, _ = q.Parse(request[:100])
		_, _ = q.Parse(request)
		_, _ = q.Parse(refusedRequest)
		_, _ = p.Parse(response)
		_ = p.Framing("GET")
		for _, in := range [][]byte{chunks, trailer} {
			b.Begin(Framing{Kind: Chunked})
			for !b.Done() {
				_, n, _ := b.Next(in)
				in = in[n:]
			}
		}
		out, _ = AppendRequestLine(out[:0], "GET", "/")
		out, _ = AppendField(out, "A", "b")
		out = AppendChunk(EndHead(out), request)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	fatal.Same(t, b.Trailer().Len(), 1, "trailer fields")
}

// TestLongLinesAreSearchedOnce finds that a head of one long line that comes byte
// by byte costs time in proportion to its length: this one would take minutes
// otherwise.
func TestLongLinesAreSearchedOnce(t *testing.T) {
	const size = 1 << 20
	text := []byte("GET / HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("x", size) + "\r\n\r\n")
	h := RequestHead{Limits: Limits{Head: 2 * size}}
	for end := range text {
		if n, err := h.Parse(text[:end]); n != 0 || err != nil {
			t.Fatalf("after %d: %d, %v", end, n, err)
		}
	}
	if n, err := h.Parse(text); n != len(text) || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}
