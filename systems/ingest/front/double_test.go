package front

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"whittle"
	"whittle/carve/gateway/listener"
	"whittle/internal/fatal"
	"whittle/systems/ingest/dedup"
	"whittle/systems/ingest/stream"
)

func TestMain(m *testing.M) {
	// net/http keeps a connection of which it refused the body for half a second more.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// double is a stream in memory that does as a test tells it.
type double struct {
	mu   sync.Mutex // guards the following
	kept []stream.Record
	// fate says what becomes of the n-th record of all; nil: it is kept.
	fate     func(n int, r *stream.Record) error
	seen     int
	contexts []context.Context // of the appends
	capacity stream.Capacity

	// gate, where it is not nil, is received from before an append goes on.
	gate  chan struct{}
	limit int
	// holds says that it copies no records before it has kept them.
	holds bool
}

func newDouble() *double {
	return &double{capacity: stream.Capacity{Free: 1 << 40}, limit: 1 << 20}
}

func (d *double) Durability() stream.Durability { return stream.LocalFsync }
func (d *double) Limit() int                    { return d.limit }

func (d *double) Append(ctx context.Context, records []stream.Record) []stream.Result {
	d.wait(ctx)
	return d.keep(records, d.decide(records))
}

func (d *double) wait(ctx context.Context) {
	d.mu.Lock()
	d.contexts = append(d.contexts, ctx)
	d.mu.Unlock()
	if d.gate != nil {
		select {
		case <-d.gate:
		case <-ctx.Done():
		}
	}
}

// decide says what becomes of each record.
func (d *double) decide(records []stream.Record) []error {
	d.mu.Lock()
	defer d.mu.Unlock()
	fates := make([]error, len(records))
	for i := range records {
		n := d.seen
		d.seen++
		if d.fate != nil {
			fates[i] = d.fate(n, &records[i])
		}
	}
	return fates
}

func (d *double) keep(records []stream.Record, fates []error) []stream.Result {
	d.mu.Lock()
	defer d.mu.Unlock()
	results := make([]stream.Result, len(records))
	for i, r := range records {
		if results[i].Err = fates[i]; fates[i] == nil {
			results[i].Position = stream.Position{Partition: "0", Offset: strconv.Itoa(len(d.kept))}
			d.kept = append(d.kept, own(r))
		}
	}
	return results
}

func own(r stream.Record) stream.Record {
	r.Value = bytes.Clone(r.Value)
	r.Header = slices.Clone(r.Header)
	return r
}

// copying is a double that copies what it is to keep, as the embedded log does.
type copying struct{ *double }

func (d copying) AppendCopy(ctx context.Context, records []stream.Record, copied func()) []stream.Result {
	mine := make([]stream.Record, len(records))
	for i := range records {
		mine[i] = own(records[i])
	}
	fates := d.decide(mine)
	if !slices.ContainsFunc(fates, func(err error) bool { return whittle.CodeOf(err) == whittle.Invalid }) {
		copied()
	}
	d.wait(ctx)
	return d.keep(mine, fates)
}

func (d *double) Close(context.Context) error { return nil }

func (d *double) Capacity() stream.Capacity {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.capacity
}

// decided is of how many records it is settled what becomes of them.
func (d *double) decided() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen
}

func (d *double) setFate(fate func(n int, r *stream.Record) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fate = fate
}

func (d *double) setCapacity(r stream.Capacity) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.capacity = r
}

func (d *double) records() []stream.Record {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.kept)
}

// testFront is a front on a real socket with its stream.
type testFront struct {
	*testing.T
	stream *double
	front  *Front
	url    string
	addr   string
	client *http.Client
}

func serve(t *testing.T, change func(*Options)) *testFront {
	t.Helper()
	d := newDouble()
	o := Options{Stream: d, Seen: dedup.New(dedup.Options{})}
	if change != nil {
		change(&o)
	}
	d = o.Stream.(*double)
	if !d.holds {
		o.Stream = copying{d}
	}
	f, err := New(o)
	fatal.If(t, err)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	fatal.If(t, err)
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- f.Server(time.Nanosecond).Serve(ctx, listener.Listener{Listener: l}) }()
	t.Cleanup(func() {
		end()
		fatal.If(t, <-ended)
	})
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &testFront{
		T: t, stream: d, front: f, url: "http://" + l.Addr().String(), addr: l.Addr().String(),
		client: &http.Client{Transport: transport},
	}
}

// result is a response of the front.
type result struct {
	code   int
	header http.Header
	text   string

	V           int
	Success     bool
	Status      string
	Reason      string
	Durability  string
	Position    string
	MessageID   string `json:"messageId"`
	RequestID   string `json:"requestId"`
	Events      int
	Accepted    int
	Duplicate   int
	Rejected    int
	Unavailable int
	Unknown     int
	DeadLetter  string `json:"deadLetter"`
	Results     []struct {
		Status, Position, Reason, MessageID, DeadLetter string
		Index, Offset                                   int
	}
}

// send makes a request with header lines "Name: value". It may be called from
// any goroutine.
func (s *testFront) send(method, path string, body io.Reader, lines ...string) result {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), method, s.url+path, body)
	if err != nil {
		s.Error(err)
		return result{}
	}
	for _, l := range lines {
		name, value, _ := strings.Cut(l, ": ")
		req.Header.Add(name, value)
	}
	res, err := s.client.Do(req)
	var text []byte
	if err == nil {
		text, err = io.ReadAll(res.Body)
		res.Body.Close()
	}
	if err != nil {
		s.Error(err)
		return result{}
	}
	a := result{code: res.StatusCode, header: res.Header, text: string(text)}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &a); err != nil {
			s.Errorf("the response is not JSON: %v\n%s", err, text)
		}
	}
	return a
}

func (s *testFront) post(path, body string, lines ...string) result {
	s.Helper()
	return s.send(http.MethodPost, path, strings.NewReader(body), lines...)
}

// wire sends bytes as they are, says that no more comes, and gives what comes back.
func (s *testFront) wire(text string) string { return s.raw(text, true) }

// hang sends bytes, leaves the connection open, and gives what comes back.
func (s *testFront) hang(text string) string { return s.raw(text, false) }

// raw may be called from any goroutine.
func (s *testFront) raw(text string, whole bool) string {
	s.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.Error(err)
		return ""
	}
	defer conn.Close()
	var sending sync.WaitGroup
	defer sending.Wait()
	sending.Go(func() {
		_, _ = io.WriteString(conn, text) // a server that has refused it may have closed
		if whole {
			_ = conn.(*net.TCPConn).CloseWrite()
		}
	})
	back, _ := io.ReadAll(conn)
	return string(back)
}

const track = `{"type":"track","userId":"u1","event":"Bought","messageId":"m1","timestamp":"2026-01-02T03:04:05Z"}`
