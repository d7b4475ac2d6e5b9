package inbound

import (
	"bufio"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"whittle/internal/http1"
)

// TestRawFieldsAreTheSame holds what goes upstream in bytes to what goes upstream by
// name, but for the case of names and their order.
func TestRawFieldsAreTheSame(t *testing.T) {
	for _, fields := range []string{
		"", "x-a: 1\r\nX-A: 2\r\nAccept: */*\r\n", "X_Forwarded_For: 1\r\nX_A: 2\r\n", "Content-Length: 3\r\n", "Content-Length: 0\r\n",
		"Forwarded: for=1\r\nx-forwarded-for: 2\r\nX-Forwarded-Port: 3\r\nX-Real-IP: 4\r\n", "Cdn-Loop: other\r\nX: \r\n",
		"Connection: keep-alive, x-b\r\nX-B: 1\r\nKeep-Alive: 5\r\nProxy-Authorization: x\r\nX-C: 2\r\n", "Connection: close\r\n",
	} {
		for _, d := range []Reader{{Mark: "m"}, {Mark: "m", KeepUnderscores: true}} {
			for host, peer := range map[string]string{"h": "192.0.2.1", "h:80": "[2001:db8::1]", `[::1]:80`: "192.0.2.2"} {
				text := "POST /p HTTP/1.1\r\nHost: " + host + "\r\n" + fields + "\r\n"
				var h http1.RequestHead
				if n, err := h.Parse([]byte(text)); n == 0 || err != nil {
					t.Fatalf("%q: %v", text, err)
				}
				b, ok := d.AppendRaw(nil, &h, peer, true)
				if !ok {
					t.Fatalf("%q is not for bytes", text)
				}
				r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
				if err != nil {
					t.Fatal(err)
				}
				r.RemoteAddr = peer + ":1"
				q := d.Read(r)
				q.HTTPS = true
				var want []string
				q.EachOutbound(func(name, value string) { want = append(want, strings.ToLower(name)+": "+value) })
				if r.Header["Content-Length"] != nil {
					want = append(want, "content-length: "+strconv.FormatInt(r.ContentLength, 10))
				}
				var got []string
				for line := range strings.SplitSeq(strings.TrimSuffix(string(b), "\r\n"), "\r\n") {
					name, value, _ := strings.Cut(line, ":")
					got = append(got, strings.ToLower(name)+":"+value)
				}
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("%q goes on with\n%q in bytes, and\n%q by name", text, got, want)
				}
			}
		}
	}
	for _, odd := range []string{"Te: trailers\r\n", "Cdn-Loop: a, m\r\n", "Connection: cdn-loop\r\nCdn-Loop: a\r\n"} {
		var h http1.RequestHead
		_, _ = h.Parse([]byte("GET / HTTP/1.1\r\nHost: h\r\n" + odd + "\r\n"))
		if _, ok := (&Reader{Mark: "m"}).AppendRaw(nil, &h, "192.0.2.1", false); ok {
			t.Errorf("%q went on in bytes", odd)
		}
	}
}
