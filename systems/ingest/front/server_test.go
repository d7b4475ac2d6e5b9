package front

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"whittle"
	"whittle/internal/fatal"
	"whittle/systems/ingest/stream"
)

// TestPanicsAreErrors has the stream panic below the handler: an operator who
// logs errors alone reads where, the client has no response that could be false,
// and nothing stays held.
func TestPanicsAreErrors(t *testing.T) {
	// A file, since nothing that the test waits for comes behind the line.
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	fatal.If(t, err)
	defer log.Close()
	s := serve(t, func(o *Options) {
		o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelError}))
	})
	s.stream.fate = func(n int, _ *stream.Record) error {
		if n == 0 {
			panic("as the test wants it")
		}
		return nil
	}
	const request = "POST /import HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\nContent-Length: 2\r\n\r\nhi"
	fatal.Same(t, s.wire(request), "", "acknowledged")
	said := []byte(fatal.Read(t, log.Name()))
	for _, want := range []string{"level=ERROR", "panic serving 127.0.0.1:", "as the test wants it", "front.(*call).append"} {
		if !bytes.Contains(said, []byte(want)) {
			t.Errorf("the log has no %q:\n%s", want, said)
		}
	}
	if held, underWay := s.front.appendBytes.Load(), s.front.activeRequests.Load(); held != 0 || underWay != 0 {
		t.Errorf("%d bytes and %d requests are held", held, underWay)
	}
	if a := s.post("/import", "hi", "Idempotency-Key: k"); a.Status != "accepted" {
		t.Errorf("the same event afterwards: %d %s", a.code, a.text)
	}
}

// TestStalledBodiesHoldLittle has more bodies stall than memory could hold whole: a client
// that sends is not refused.
func TestStalledBodiesHoldLittle(t *testing.T) {
	s := serve(t, nil)
	for range 40 {
		c, err := net.Dial("tcp", s.addr)
		fatal.If(t, err)
		defer c.Close()
		if _, err := io.WriteString(c, "POST /v1/batch HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 400000\r\n\r\n{\"batch\":["); err != nil {
			t.Fatal(err)
		}
	}
	for s.front.activeRequests.Load() < 40 {
		if a := s.post("/import", "x"); a.code != 200 {
			t.Fatalf("%d %s", a.code, a.text)
		}
	}
	for i := range 20 {
		body := batchOf(eventOf(fmt.Sprint(i)), strings.Repeat(" ", 400_000)+eventOf(fmt.Sprint("b", i)))
		if a := s.post("/v1/batch", body); a.code != 200 || a.Accepted != 2 {
			t.Fatalf("%d %s", a.code, a.text)
		}
	}
}

// reading tells when it is read.
type reading struct {
	io.Reader
	started func()
}

func (r reading) Read(b []byte) (int, error) {
	r.started()
	return r.Reader.Read(b)
}

// TestSlowBodyHasTheWholeTimeToAppend has a request begin soon after another
// one, and its body come long after: the other one's time is not its own.
func TestSlowBodyHasTheWholeTimeToAppend(t *testing.T) {
	now := time.Now()
	d := newDouble()
	f, err := New(Options{Stream: d, Now: func() time.Time { return now }})
	fatal.If(t, err)
	post := func(body io.Reader) {
		f.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/track", body))
	}
	post(strings.NewReader(track))
	now = now.Add(time.Second)
	post(strings.NewReader(track))
	late := now.Add(f.limits.Append)
	post(reading{strings.NewReader(track), func() { now = late }})
	if given := d.contexts; len(given) != 3 || given[1] != given[0] || given[2] == given[0] {
		t.Errorf("contexts of %d appends: %v", len(given), given)
	}
}

// TestAnOutageIsTwoLines: however many requests meet it, whether the stream says
// so beforehand or fails.
func TestAnOutageIsTwoLines(t *testing.T) {
	var log bytes.Buffer
	var now atomic.Int64
	now.Store(time.Now().UnixNano())
	s := serve(t, func(o *Options) {
		o.Log, o.Seen = slog.New(slog.NewTextHandler(&log, nil)), nil
		o.Now = func() time.Time { return time.Unix(0, now.Load()) }
	})
	down := stream.Capacity{Err: whittle.Errorf(whittle.Unavailable, "kafka does not respond")}
	up := s.stream.Capacity()
	send := func(want int) {
		t.Helper()
		now.Add(int64(time.Second))
		if a := s.post("/v1/track", track); a.code != want {
			t.Errorf("%d %s, want %d", a.code, a.text, want)
		}
	}
	send(200)
	for range 2 {
		s.stream.setCapacity(down)
		for range 60 {
			send(503)
		}
		s.stream.setCapacity(up)
		s.stream.setFate(func(int, *stream.Record) error { return fails(whittle.DeadlineExceeded) })
		for range 60 {
			send(504)
		}
		s.stream.setFate(nil)
		for range 20 {
			send(200)
		}
	}
	const begins, ends = "keeps no events", "keeps events again"
	if text := log.String(); strings.Count(text, begins) != 2 || strings.Count(text, ends) != 2 || strings.Count(text, "\n") != 4 || !strings.Contains(text, "after=2m0s refused=120") {
		t.Errorf("%s", text)
	}
}

// TestAnIDThatIsNoneIsVisible: events that share what their program sends for no id are
// duplicates, and that shows.
func TestAnIDThatIsNoneIsVisible(t *testing.T) {
	for id, none := range map[string]bool{
		"null": true, "undefined": true, "NaN": true, "[object Object]": true, "00000000-0000-0000-0000-000000000000": true, "0": true, "-": true,
		"m1": false, "order-0": false, "b7e2a1f0-0000-4000-8000-000000000000": false,
	} {
		var said bytes.Buffer
		s := serve(t, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&said, nil)) })
		for range 3 {
			s.post("/v1/track", strings.ReplaceAll(track, "m1", id))
		}
		want := map[bool]float64{true: 2}[none]
		fatal.Same(t, testutil.ToFloat64(s.front.metrics.noID.WithLabelValues(anySource)), want, "%s: counted", id)
		if (s.front.Warning() != "") != none || strings.Contains(said.String(), "messageId that is none") != none {
			t.Errorf("%s: warning %q, log %s", id, s.front.Warning(), &said)
		}
	}
}

// TestWhoseFaultItIs: what is not the event's fault is for the client to send again, and says
// what the sink calls it; the server is not ready while it lasts.
func TestWhoseFaultItIs(t *testing.T) {
	for code, want := range map[whittle.Code]int{whittle.Unavailable: 503, whittle.Invalid: 400} {
		s := serve(t, nil)
		refusal := &stream.Refusal{Name: "INVALID_TIMESTAMP", Err: errors.New("of 10.0.0.1")}
		s.stream.fate = func(int, *stream.Record) error { return whittle.Errorf(code, "append: %w", refusal) }
		a := s.post("/v1/track", track)
		if a.code != want || !strings.Contains(a.text, ": INVALID_TIMESTAMP") || strings.Contains(a.text, "10.0.0.1") {
			t.Errorf("%v: %d %s", code, a.code, a.text)
		}
		s.stream.setCapacity(stream.Capacity{Free: 1 << 30, Failing: refusal})
		if s.front.Ready() == nil {
			t.Error("ready while the sink refuses everything")
		}
		s.stream.fate = nil
		if a := s.post("/v1/track", track); a.code != 200 {
			t.Errorf("afterwards: %d %s", a.code, a.text)
		}
	}
}
