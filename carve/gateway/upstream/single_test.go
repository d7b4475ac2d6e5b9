package upstream

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// parts is a connection on which one part after another arrives.
type parts struct {
	net.Conn
	in [][]byte
}

func (c *parts) Write(p []byte) (int, error) { return len(p), nil }

func (c *parts) Read(p []byte) (int, error) {
	if len(c.in) == 0 {
		return 0, errors.New("nothing more has come")
	}
	n := copy(p, c.in[0])
	if c.in[0] = c.in[0][n:]; len(c.in[0]) == 0 {
		c.in = c.in[1:]
	}
	return n, nil
}

// inParts cuts a text into pieces of so many bytes.
func inParts(text string, size int) [][]byte { return slices.Collect(slices.Chunk([]byte(text), size)) }

// TestSingle gives net/http what is of a response, in whatever pieces it comes, and the
// connection's end in place of what is behind it in one piece with it.
func TestSingle(t *testing.T) {
	long := strings.Repeat("x", 70_000)
	for name, tt := range map[string]struct {
		method, response, behind string
		passed                   bool // what is behind is given as well
	}{
		"length":             {"POST", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 200 OK\r\n\r\n", false},
		"no body":            {"POST", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "x", false},
		"204":                {"POST", "HTTP/1.1 204 No Content\r\n\r\n", "\r\n", false},
		"304 with a length":  {"PUT", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "x", false},
		"long":               {"POST", "HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n" + long, "x", false},
		"chunks":             {"POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "0\r\n\r\n", false},
		"trailer":            {"POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 7\r\nX-More: 8\r\n\r\n", "\n", false},
		"informational":      {"POST", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", "HTTP/1.1 200 OK\r\n\r\n", false},
		"bare newlines":      {"POST", "HTTP/1.1 200 OK\nContent-Length: 3\n\nabc", "x", false},
		"to its close":       {"POST", "HTTP/1.1 200 OK\r\n\r\nabc", "def", true},
		"no HTTP":            {"POST", "220 smtp ready\r\n\r\n", "250 ok\r\n\r\n", true},
		"a chunk of no size": {"POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "abc", true},
		"upgraded":           {"POST", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "frames", true},
		"HEAD":               {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "x", true},
	} {
		for _, size := range []int{1, 2, 7, 4096, 1 << 20} {
			if size == 1 && len(tt.response) > 1000 {
				continue
			}
			// Twice in a row without anything behind, and then with it.
			c := &parts{}
			s := newSingle(c, false)
			for range 2 {
				c.in = inParts(tt.response, size)
				if got, err := askedOf(s, tt.method, len(tt.response)); got != tt.response || err != nil {
					t.Fatalf("%s in pieces of %d: %q, %v", name, size, got, err)
				}
				if tt.passed {
					break
				}
			}
			c.in = inParts(tt.response, size)
			last := len(c.in) - 1
			c.in[last] = append(bytes.Clone(c.in[last]), tt.behind...)
			want := tt.response
			if tt.passed {
				want += tt.behind
			}
			got, err := askedOf(s, tt.method, len(want)+1)
			if got != want || errors.Is(err, io.EOF) == tt.passed {
				t.Errorf("%s in pieces of %d, with more behind: %q, %v", name, size, got, err)
			}
			if n, err := s.Read(make([]byte, 9)); !tt.passed && (n > 0 || !errors.Is(err, io.EOF)) {
				t.Errorf("%s in pieces of %d: its end is %d bytes, %v", name, size, n, err)
			}
		}
	}
	// What comes while nobody has asked ends the connection.
	s := newSingle(&parts{in: inParts("HTTP/1.1 200 OK\r\n\r\n", 100)}, false)
	if n, err := s.Read(make([]byte, 100)); n > 0 || !errors.Is(err, io.EOF) {
		t.Errorf("unasked: %d bytes, %v", n, err)
	}
}

// askedOf writes a request in two parts and reads up to so many bytes.
func askedOf(s *single, method string, most int) (string, error) {
	_, _ = s.Write([]byte(method + " / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"))
	_, _ = s.Write([]byte("0\r\n\r\n"))
	var got []byte
	buf := make([]byte, 4096)
	for len(got) < most {
		n, err := s.Read(buf[:min(len(buf), most-len(got))])
		if got = append(got, buf[:n]...); err != nil {
			return string(got), err
		}
	}
	return string(got), nil
}

// TestSingleTakesNothingAfterALongTime: what can be sent once only is not written to a
// connection whose last request was written long ago, whenever its response was read.
func TestSingleTakesNothingAfterALongTime(t *testing.T) {
	const response = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"
	for _, tt := range []struct {
		once  bool
		idle  time.Duration
		taken bool
	}{{true, -time.Minute, true}, {true, 2 * trusted, false}, {false, 2 * trusted, true}} { // the first: however long the machine stands
		c := &parts{in: inParts(response, 100)}
		s := newSingle(c, tt.once)
		if got, err := askedOf(s, "POST", len(response)); got != response || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
		s.wroteLast = time.Now().Add(-tt.idle)
		c.in = inParts(response, 100)
		before := s.written()
		if got, err := askedOf(s, "POST", len(response)); (got == response) != tt.taken || (s.written() > before) != tt.taken {
			t.Errorf("%+v: %q, %v, %d bytes written", tt, got, err, s.written()-before)
		}
		ended := false
		select {
		case <-s.ended:
			ended = true
		default:
		}
		if ended == tt.taken {
			t.Errorf("%+v: it has ended: %v", tt, ended)
		}
	}
}
