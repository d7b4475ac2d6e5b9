package http1

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"testing"

	"whittle/internal/http1/smugglingtest"
)

// anyway reports errors of net/http for what this package accepts on purpose:
// escapes in targets, which it does not look at; a blank between a chunk's size
// and its extension; an empty line before a request.
func anyway(err error) bool {
	_, ok := errors.AsType[*url.Error](err)
	_, escape := errors.AsType[url.EscapeError](err)
	return ok || escape
}

// FuzzRequest holds requests to net/http's reading: whatever request this package
// accepts with its whole body, http.ReadRequest reads as the same method, target,
// fields, framing, body and trailer, and finds the next message at the same place.
// The result does not depend on the pieces in which the bytes arrive.
func FuzzRequest(f *testing.F) {
	for _, c := range smugglingtest.Cases("request") {
		f.Add([]byte(c.Message))
	}
	f.Add([]byte("POST /a?b HTTP/1.1\r\nHost: h:80\r\nConnection: close, X\r\nX: 1\r\nx: 2\r\nContent-Length: 3\r\n\r\nabcGET"))
	f.Add([]byte("OPTIONS * HTTP/1.1\r\nHost: [::1]:80\r\nExpect: 100-continue\r\n\r\n"))
	f.Add([]byte("CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got := readRequest(b, len(b)+1, 0)
		for _, step := range []int{1, 3, 16} {
			if again := readRequest(b, step, 0); again.whole() != got.whole() || (again.err == nil) != (got.err == nil) || got.err == nil && again.String() != got.String() {
				t.Fatalf("%q is %v whole, and %v by %d", b, got, again, step)
			}
		}
		if !got.whole() {
			return
		}
		in := bytes.TrimPrefix(b, []byte("\r\n"))
		skipped := len(b) - len(in)
		r := bufio.NewReaderSize(bytes.NewReader(in), max(16, len(in)+1))
		want, err := http.ReadRequest(r)
		if anyway(err) {
			return
		}
		if err != nil {
			t.Fatalf("net/http refuses %q: %v", b, err)
		}
		length := map[FramingKind]int64{Length: got.framing.Length, Chunked: -1}[got.framing.Kind]
		if want.Method+" "+want.RequestURI != got.first || want.ContentLength != length {
			t.Fatalf("%q is %s %s with length %d to net/http, and %v here", b, want.Method, want.RequestURI, want.ContentLength, got)
		}
		sameFields(t, want.Header, got.fields)
		body, err := io.ReadAll(want.Body)
		if err != nil && bytes.Contains(b, []byte(" ;")) || err != nil && bytes.Contains(b, []byte("\t;")) {
			return
		}
		if err != nil || !bytes.Equal(body, got.body) || len(in)-r.Buffered() != got.used-skipped {
			t.Fatalf("%q has the body %q to net/http and %d used: %v; %v here", b, body, len(in)-r.Buffered(), err, got)
		}
		sameFields(t, want.Trailer, got.trailer)
	})
}

// sameFields holds net/http's fields to ours, apart from those that it takes out
// or adds.
func sameFields(t *testing.T, want http.Header, lines []string) {
	t.Helper()
	ours := http.Header{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		name = textproto.CanonicalMIMEHeaderKey(name)
		ours[name] = append(ours[name], value)
	}
	for _, name := range []string{"Host", "Transfer-Encoding", "Content-Length", "Trailer", "Cache-Control"} {
		delete(ours, name)
		delete(want, name)
	}
	for name, values := range ours {
		if !equalStrings(want[name], values) {
			t.Fatalf("the field %s is %q to net/http, and %q here", name, want[name], values)
		}
	}
	for name, values := range want {
		if values != nil && ours[name] == nil {
			t.Fatalf("net/http has the field %s as well", name)
		}
	}
}

func equalStrings(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if strings.Join(strings.Fields(a[i]), " ") != strings.Join(strings.Fields(b[i]), " ") {
			return false // folded lines are joined with other blanks
		}
	}
	return true
}

// FuzzResponse does the same for responses to GET, under any tolerance.
func FuzzResponse(f *testing.F) {
	for _, c := range smugglingtest.Cases("response") {
		f.Add([]byte(c.Message), uint8(0))
		f.Add([]byte(c.Message), uint8(0xff))
	}
	f.Add([]byte("HTTP/1.1 200 OK\nA: 1\n 2\n\t3\nContent-Length: 1\nTransfer-Encoding: chunked\n\n0\r\n\r\n"), uint8(0xff))
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\nuntil the end"), uint8(0))
	f.Fuzz(func(t *testing.T, b []byte, tolerance uint8) {
		tol := Tolerance(tolerance)
		got := readResponse(b, len(b)+1, tol)
		for _, step := range []int{1, 3, 16} {
			if again := readResponse(b, step, tol); again.whole() != got.whole() || (again.err == nil) != (got.err == nil) || got.err == nil && again.String() != got.String() {
				t.Fatalf("%q is %v whole, and %v by %d", b, got, again, step)
			}
		}
		if !got.whole() {
			return
		}
		r := bufio.NewReaderSize(bytes.NewReader(b), max(16, len(b)+1))
		want, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("net/http refuses %q: %v", b, err)
		}
		reason := strings.TrimPrefix(strings.TrimPrefix(got.first, want.Status[:min(3, len(want.Status))]), " ")
		status := strings.TrimSpace(want.Status)
		if !strings.HasPrefix(got.first, status[:3]) || strings.TrimSpace(status[3:]) != strings.TrimSpace(reason) {
			t.Fatalf("%q has the status %q to net/http, and %q here", b, want.Status, got.first)
		}
		sameFields(t, want.Header, got.fields)
		body, err := io.ReadAll(want.Body)
		if err != nil && (bytes.Contains(b, []byte(" ;")) || bytes.Contains(b, []byte("\t;"))) {
			return
		}
		if tol&FramingInTrailer != 0 && err != nil {
			return // net/http refuses these
		}
		if err != nil || !bytes.Equal(body, got.body) || len(b)-r.Buffered() != got.used {
			t.Fatalf("%q has the body %q to net/http and %d used: %v; %v here", b, body, len(b)-r.Buffered(), err, got)
		}
	})
}

// FuzzRoundTrip finds that what the writers write is read as what they were
// given, and that what they refuse would have been read as something else or
// refused.
func FuzzRoundTrip(f *testing.F) {
	f.Add("GET", "/a?b", "X-A", " v\t", []byte("body"))
	f.Add("G T", "/a b", "X A", "v\r\nY: z", []byte{})
	f.Fuzz(func(t *testing.T, method, target, name, value string, content []byte) {
		head, ok := AppendRequestLine(nil, method, target)
		if ok != (IsToken(method) && IsTarget(target)) || !ok && len(head) > 0 {
			t.Fatalf("%q %q: %v, %q", method, target, ok, head)
		}
		if !ok {
			head, _ = AppendRequestLine(head, "POST", "/")
			method, target = "POST", "/"
		}
		head, _ = AppendField(head, "host", "h")
		before := len(head)
		head, ok = AppendField(head, name, value)
		if !ok && len(head) != before {
			t.Fatalf("a field that was refused left %q", head[before:])
		}
		if !ok && (IsToken(name) && IsValue(value)) {
			t.Fatalf("%q: %q was refused", name, value)
		}
		kind := kindOf([]byte(name))
		if kind.framing() || len(target) > 0 && target[0] != '/' || method == "CONNECT" {
			return
		}
		wrote := ok
		body := AppendChunk(nil, content[:len(content)/2])
		body = AppendChunk(body, content[len(content)/2:])
		body = AppendLastChunk(body)
		if wrote {
			body, _ = AppendField(body, name, value)
		}
		chunked := append(EndHead(AppendChunked(bytes.Clone(head))), EndHead(body)...)
		plain := append(EndHead(AppendContentLength(bytes.Clone(head), int64(len(content)))), content...)
		for _, message := range [][]byte{chunked, plain} {
			got := readRequest(message, 5, 0)
			if got.err != nil || got.partial || got.first != method+" "+target || !bytes.Equal(got.body, content) || got.used != len(message) {
				t.Fatalf("%q is read as %v", message, got)
			}
			if want := name + ": " + strings.Trim(value, " \t"); wrote && got.fields[1] != want {
				t.Fatalf("%q is read as %q", want, got.fields[1])
			}
		}
		line, ok := AppendStatusLine(nil, 100+len(value)%900, value)
		if ok != IsValue(value) {
			t.Fatalf("reason %q: %v", value, ok)
		}
		if got := readResponse(EndHead(line), 3, 0); ok && (got.err != nil || got.used == 0) {
			t.Fatalf("%q is read as %v", line, got)
		}
	})
}
