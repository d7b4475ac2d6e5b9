package passthrough

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"whittle"
)

// soakFor, where it is set, is how long TestMixedClientsGetTheirOwn goes on.
const soakFor = "WHITTLE_SOAK"

// own is the body that belongs to an id, of a length that the id says.
func own(id uint64) []byte {
	n := []int{0, 1, 60, 1500, 5000, 70_000, 200_000}[id%7]
	return bytes.Repeat([]byte(fmt.Sprintf("%d;", id)), n/(len(strconv.FormatUint(id, 10))+1)+1)
}

// echoing responds with what belongs to the request's id, in one of several ways, and
// says so where the request's body was not the id's.
func echoing(w http.ResponseWriter, r *http.Request) {
	id, _ := strconv.ParseUint(strings.TrimPrefix(r.URL.Path, "/"), 10, 64)
	body, err := io.ReadAll(r.Body)
	if r.Method == http.MethodPost && (err != nil || !bytes.Equal(body, own(id))) || r.Header.Get("X-Id") != strconv.FormatUint(id, 10) {
		w.WriteHeader(http.StatusTeapot)
		return
	}
	w.Header().Set("X-Id", strconv.FormatUint(id, 10))
	text := own(id)
	switch id / 7 % 5 {
	case 0:
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	case 1:
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("X-Id", strconv.FormatUint(id, 10))
	case 2:
		_, _ = w.Write(text[:len(text)/2])
		w.(http.Flusher).Flush()
		text = text[len(text)/2:]
	case 3:
		w.Header().Set("Connection", "close")
	case 4:
		w.Header().Set("Trailer", "X-End")
		defer w.Header().Set("X-End", strconv.FormatUint(id, 10))
	}
	_, _ = w.Write(text)
}

// TestMixedClientsGetTheirOwn: clients of many kinds, some of which break off, send
// through one gateway, whose route mirrors and splits, and every response is checked
// for being the request's own, whole. WHITTLE_SOAK=10m lets it go on.
func TestMixedClientsGetTheirOwn(t *testing.T) {
	long := 2 * time.Second
	if text := os.Getenv(soakFor); text != "" {
		var err error
		if long, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	monolith, candidate := upstream(t, echoing), upstream(t, echoing)
	route := func(o *options) {
		to := whittle.Upstream{URL: candidate.URL, Timeout: patience}
		o.Routes = []whittle.Route{{
			Name: "/{id}", Match: whittle.Match{Pattern: "/{id}", HeaderName: "X-Route", HeaderValue: "yes"}, Candidate: &to,
			Mirror:  whittle.Mirror{Sample: whittle.All, Watch: whittle.All, Queue: 64, Concurrency: 8, MaxBody: 1 << 20, MaxMemory: 64 << 20},
			Rollout: whittle.Rollout{Sticky: whittle.Sticky{By: "header", Name: "X-Id"}},
			Guard:   whittle.Guard{Consecutive: 1000, Exposure: 1000},
		}}
		o.Observe = func(x *whittle.Exchange) whittle.Observation {
			if m, c := &x.Monolith, &x.Candidate; m.Failure == whittle.NoFailure && c.Failure == whittle.NoFailure && !bytes.Equal(m.Body, c.Body) {
				t.Errorf("a copy of %s: %d and %d bytes", x.Request.Target, len(m.Body), len(c.Body))
			}
			return whittle.Observation{}
		}
	}
	files, _ := certificate(t, t.TempDir(), "one")
	encrypted := func(o *options) { o.TLS = &files }
	a, b := through(t, monolith.URL, route), through(t, monolith.URL, route, encrypted)
	for _, g := range []gate{a, b} {
		g.Apply("/{id}", whittle.Position{Generation: 1, Share: whittle.All / 2, Phase: whittle.PhaseShift})
	}
	ctx, cancel := context.WithTimeout(context.Background(), long)
	defer cancel()
	m := mixed{t: t, ctx: ctx}
	var running sync.WaitGroup
	for i := range 24 {
		dial := func() (net.Conn, error) { return net.Dial("tcp", a.addr) }
		if i%3 == 2 {
			dial = func() (net.Conn, error) {
				return tls.Dial("tcp", b.addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
			}
		}
		running.Go(func() { m.client(i, dial) })
	}
	running.Wait()
	t.Logf("%d responses, %d connections broken off", m.whole.Load(), m.broken.Load())
	if m.whole.Load() == 0 {
		t.Error("there was no response")
	}
}

// mixed is what the clients have in common.
type mixed struct {
	t             *testing.T
	ctx           context.Context
	ids           atomic.Uint64
	whole, broken atomic.Int64
}

// client opens one connection after the other.
func (m *mixed) client(i int, dial func() (net.Conn, error)) {
	random := rand.New(rand.NewPCG(uint64(i), 1))
	for m.ctx.Err() == nil {
		c, err := dial()
		if err != nil {
			m.t.Error(err)
			return
		}
		_ = c.SetDeadline(time.Now().Add(patience))
		if err := m.converse(c, random); err != nil {
			m.t.Error(err)
		}
		_ = c.Close()
	}
}

var errDone = errors.New("the connection has ended, as it may")

// converse sends bursts of pipelined requests until the connection ends.
func (m *mixed) converse(c net.Conn, random *rand.Rand) error {
	r := bufio.NewReader(c)
	for range 20 {
		ids := make([]uint64, 1+random.IntN(3))
		var out bytes.Buffer
		methods := make([]string, len(ids))
		for i := range ids {
			ids[i], methods[i] = m.ids.Add(1), []string{"GET", "GET", "HEAD", "POST", "POST"}[random.IntN(5)]
			compose(&out, methods[i], ids[i], random)
		}
		if random.IntN(40) == 0 { // gone in the middle of something
			_, _ = c.Write(out.Bytes()[:random.IntN(out.Len())])
			m.broken.Add(1)
			return nil
		}
		sent := make(chan error, 1)
		go func() {
			_, err := c.Write(out.Bytes())
			sent <- err
		}()
		for i, id := range ids {
			if err := m.read(r, methods[i], id); errors.Is(err, errDone) {
				_ = c.Close()
				<-sent
				return nil
			} else if err != nil {
				_ = c.Close()
				return fmt.Errorf("%s of id %d: %w", methods[i], id, errors.Join(err, <-sent))
			}
		}
		if err := <-sent; err != nil {
			return err
		}
	}
	return nil
}

// compose writes a request of one kind or another.
func compose(out *bytes.Buffer, method string, id uint64, random *rand.Rand) {
	fmt.Fprintf(out, "%s /%d?%d HTTP/1.1\r\nHost: h\r\nx-id: %d\r\n", method, id, id, id)
	if random.IntN(2) == 0 {
		out.WriteString("X-Route: yes\r\n")
	}
	if random.IntN(30) == 0 {
		fmt.Fprintf(out, "X-Long: %s\r\n", strings.Repeat("x", 10_000)) // net/http's from here on
	}
	body := own(id)
	switch {
	case method != "POST":
		out.WriteString("\r\n")
	case random.IntN(2) == 0:
		fmt.Fprintf(out, "Content-Length: %d\r\n\r\n%s", len(body), body)
	default:
		half := len(body) / 2
		out.WriteString("Transfer-Encoding: chunked\r\n\r\n")
		for _, part := range [][]byte{body[:half], body[half:]} {
			if len(part) > 0 {
				fmt.Fprintf(out, "%x\r\n%s\r\n", len(part), part)
			}
		}
		out.WriteString("0\r\n\r\n")
	}
}

// read reads one response and holds it against its request.
func (m *mixed) read(r *bufio.Reader, method string, id uint64) error {
	var resp *http.Response
	for resp == nil || resp.StatusCode == http.StatusEarlyHints {
		var err error
		if resp, err = http.ReadResponse(r, &http.Request{Method: method}); err != nil {
			return err
		}
	}
	body, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode != http.StatusOK, resp.Header.Get("X-Id") != strconv.FormatUint(id, 10):
		return fmt.Errorf("%d for id %q, %.100q", resp.StatusCode, resp.Header.Get("X-Id"), body)
	case method == "HEAD" && len(body) > 0, method != "HEAD" && !bytes.Equal(body, own(id)):
		return fmt.Errorf("a body of %d bytes", len(body))
	case method != "HEAD" && id/7%5 == 4 && resp.Trailer.Get("X-End") != strconv.FormatUint(id, 10):
		return fmt.Errorf("the trailer is %v", resp.Trailer)
	}
	m.whole.Add(1)
	if resp.Close {
		return errDone
	}
	return nil
}
