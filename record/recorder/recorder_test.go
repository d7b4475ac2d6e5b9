package recorder

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"whittle"
	"whittle/internal/fatal"
	"whittle/record/capture"
	"whittle/record/journal"
	"whittle/record/redact"
	"whittle/whittletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func redactor(t *testing.T) *redact.Redactor {
	t.Helper()
	r, err := redact.New(redact.Rules{}, redact.NewKey())
	fatal.If(t, err)
	return r
}

func exchange(target string) *whittle.Exchange {
	return &whittle.Exchange{
		Route: "GET /x", Conn: 7, At: time.Now(),
		Request:  whittle.Request{Method: "GET", Target: target, Header: whittle.Header{"Authorization": {"Bearer abc"}}},
		Monolith: whittle.Response{Status: 200, Header: whittle.Header{"Content-Type": {"application/json"}}, Body: []byte(`{"password":"hunter2","n":1}`)},
	}
}

// read gives all entries of a folder.
func read(t *testing.T, dir string) (list []*capture.Entry) {
	t.Helper()
	from, err := journal.Open(dir)
	fatal.If(t, err)
	defer from.Close()
	for {
		e, err := from.Next(t.Context(), journal.Filter{})
		if errors.Is(err, io.EOF) {
			return list
		}
		fatal.If(t, err)
		list = append(list, e.Clone())
	}
}

// records offers exchanges to a recorder, and closes it.
func records(t *testing.T, dir string, exchanges ...*whittle.Exchange) *Recorder {
	t.Helper()
	r, err := Open(Options{Dir: dir, Redactor: redactor(t)})
	fatal.If(t, err)
	for _, x := range exchanges {
		if !r.Offer(x) {
			t.Fatal("there was room")
		}
	}
	fatal.If(t, r.Close())
	return r
}

// TestRecord: what is offered is in the journal once the recorder is closed, in
// order, redacted, and the exchange itself is as it was. One without a response is counted: a
// log of a monolith that is not there is not taken for one of its traffic.
func TestRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	x := exchange("/1?token=no-hex-digits")
	candidate := exchange("/2")
	candidate.Served, candidate.Candidate = whittle.Candidate, whittle.Response{Status: 201, Body: []byte("\x00\x01binary")}
	broken := exchange("/3")
	broken.Monolith = whittle.Response{Failure: whittle.FailedConnect}
	r := records(t, dir, x, candidate, broken)
	if err := r.Close(); err != nil || r.Offer(x) {
		t.Errorf("closed twice: %v, or open still", err)
	}
	list := read(t, dir)
	if len(list) != 3 {
		t.Fatalf("%d entries", len(list))
	}
	e := list[0]
	if strings.Contains(e.Request.Target, "no-hex") || bytes.Contains(e.Response.Body, []byte("hunter2")) || e.Request.Header.Get("Authorization") == "Bearer abc" {
		t.Errorf("not redacted: %+v", e)
	}
	if e.Route != "GET /x" || e.Conn&(1<<32-1) != 7 || e.Response.Status != 200 || !bytes.HasSuffix(e.Response.Body, []byte(`","n":1}`)) {
		t.Errorf("%+v", e)
	}
	if e = list[1]; e.Served != whittle.Candidate || e.Response.Status != 201 || !e.Response.Truncated || e.Response.Body != nil {
		t.Errorf("%+v", e)
	}
	if x.Request.Target != "/1?token=no-hex-digits" || x.Request.Header.Get("Authorization") != "Bearer abc" || !bytes.Contains(x.Monolith.Body, []byte("hunter2")) {
		t.Error("the exchange that was offered has been changed")
	}
	if c := r.Counts(); c.Recorded != 3 || c.Failed != 1 || c.Bodiless != 1 || c.Shed != 1 {
		t.Errorf("%+v", c)
	}
	if l, err := journal.List(t.Context(), dir); err != nil || r.Counts().Bytes != l.Unpacked {
		t.Errorf("counted %d bytes, and the log has %d: %v", r.Counts().Bytes, l.Unpacked, err)
	}
}

// flaky is a journal on a disk that fails while failing is set.
type flaky struct {
	mu      sync.Mutex // guards the following
	full    bool
	waiting int
	written int
	lost    uint64
	gate    chan struct{} // a read lets one Append through; nil: all
	flushed chan struct{}
}

var errDisk = errors.New("no space left on device")

func (f *flaky) Append(e *capture.Entry) error {
	if f.gate != nil {
		<-f.gate
	}
	if e.Request.Target == "/impossible" {
		return whittle.Errorf(whittle.ResourceExhausted, "%w: no entry holds it", capture.ErrEntry)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting++
	if e.Request.Target == "/stuck" { // it is written, and the oldest segment cannot be removed
		return errDisk
	}
	return nil
}

func (f *flaky) Flush() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case f.flushed <- struct{}{}:
	default:
	}
	n := f.waiting
	f.waiting = 0
	if f.full && n > 0 {
		f.lost += uint64(n)
		return errDisk
	}
	f.written += n
	return nil
}

func (f *flaky) Describe([]byte) error { return nil }

func (f *flaky) Lost() uint64 { return f.lost }

func (f *flaky) Unpacked() int64 { return 0 }
func (f *flaky) Close() error    { return f.Flush() }

func onto(f *flaky) func(string, journal.Options) (sink, error) {
	return func(string, journal.Options) (sink, error) { return f, nil }
}

// TestDiskFails: a failing disk is said once, costs what it could not take, and
// recording goes on after it.
func TestDiskFails(t *testing.T) {
	disk := &flaky{full: true, flushed: make(chan struct{})}
	var said bytes.Buffer
	r, err := Open(Options{
		Redactor: redactor(t), Flush: time.Millisecond, create: onto(disk), Log: slog.New(slog.NewTextHandler(&said, nil)),
	})
	fatal.If(t, err)
	offer := func(target string) {
		t.Helper()
		if !r.Offer(exchange(target)) {
			t.Fatal("shed")
		}
	}
	settled := func(ok func(Counts) bool) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); !ok(r.Counts()); <-disk.flushed {
			if time.Now().After(end) {
				t.Fatalf("%+v", r.Counts())
			}
		}
	}
	for i := range 3 {
		offer("/a")
		settled(func(c Counts) bool { return c.Lost == int64(i+1) })
	}
	disk.mu.Lock()
	disk.full = false
	disk.mu.Unlock()
	offer("/impossible")
	offer("/b")
	settled(func(c Counts) bool {
		disk.mu.Lock()
		defer disk.mu.Unlock()
		return c.Recorded == 1 && c.Dropped == 1 && disk.written == 1
	})
	offer("/stuck")
	settled(func(c Counts) bool { return c.Recorded == 2 && c.Dropped == 1 })
	fatal.If(t, r.Close())
	if c := r.Counts(); c.Recorded != 2 || c.Lost != 3 || c.Failures != 4 || disk.written != 2 {
		t.Errorf("%+v, %d written", c, disk.written)
	}
	if n := strings.Count(said.String(), "cannot be recorded"); n != 2 || !strings.Contains(said.String(), "recorded again") {
		t.Errorf("said %d times:\n%s", n, &said)
	}
}

// TestBounds: a queue that is full sheds by number and by bytes, at once, and
// what was taken is written at the end.
func TestBounds(t *testing.T) {
	for name, o := range map[string]Options{"number": {Queue: 3}, "bytes": {QueueBytes: 3 * sizeOf(exchange("/x"))}} {
		t.Run(name, func(t *testing.T) {
			disk := &flaky{gate: make(chan struct{})}
			o.Redactor, o.create = redactor(t), onto(disk)
			r, err := Open(o)
			fatal.If(t, err)
			taken := int64(0)
			for range 50 {
				if r.Offer(exchange("/x")) {
					taken++
				}
			}
			if taken < 3 || taken > 4 { // one may be in hand
				t.Errorf("%d were taken", taken)
			}
			fatal.Same(t, testutil.CollectAndCount(r), 9, "metrics")
			close(disk.gate)
			fatal.If(t, r.Close())
			if c := r.Counts(); c.Recorded != taken || c.Shed != 50-taken || int64(disk.written) != taken || r.held.Load() != 0 {
				t.Errorf("%+v, %d written, %d bytes held", c, disk.written, r.held.Load())
			}
		})
	}
}

// TestConcurrent: offers, new rules and the end do not cross.
func TestConcurrent(t *testing.T) {
	disk := &flaky{}
	r, err := Open(Options{Redactor: redactor(t), create: onto(disk), Flush: time.Millisecond})
	fatal.If(t, err)
	other := redactor(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 500 {
				r.Offer(exchange("/x"))
				r.Redact(other)
			}
		})
	}
	fatal.If(t, r.Close())
	all.Wait()
	if c := r.Counts(); c.Recorded+c.Shed != 2000 || int64(disk.written) != c.Recorded {
		t.Errorf("%+v, %d written", c, disk.written)
	}
}

// TestTheRulesAreKept with what was written by them, and new ones from then on.
func TestTheRulesAreKept(t *testing.T) {
	dir := t.TempDir()
	first := redactor(t)
	second, err := redact.New(redact.Rules{Fields: []string{"n"}}, redact.NewKey())
	fatal.If(t, err)
	r, err := Open(Options{Dir: dir, Redactor: first})
	fatal.If(t, err)
	r.Offer(exchange("/1"))
	r.Offer(exchange("/2"))
	for r.Counts().Recorded < 2 { // written by the first rules
		runtime.Gosched()
	}
	r.Redact(second)
	r.Offer(exchange("/3"))
	fatal.If(t, r.Close())
	l, err := journal.List(t.Context(), dir)
	if err != nil || len(l.Parts) != 2 || l.Parts[0].Entries != 2 || l.Parts[1].Entries != 1 {
		t.Fatalf("%+v, %v", l, err)
	}
	for i, by := range []*redact.Redactor{first, second} {
		if got, ok := redact.ParseDescription(l.Parts[i].About); !ok || !got.SameRules(by.Describe()) {
			t.Errorf("part %d says %s", i, l.Parts[i].About)
		}
	}
}

// TestABodyThatIsTooLong costs itself, not its exchange.
func TestABodyThatIsTooLong(t *testing.T) {
	dir := t.TempDir()
	x := exchange("/long")
	x.Monolith.Header, x.Monolith.Body = nil, bytes.Repeat([]byte("a b "), capture.MaxBody/4+1)
	r := records(t, dir, x)
	if list := read(t, dir); len(list) != 1 || !list[0].Response.Truncated || list[0].Response.Body != nil {
		t.Errorf("%d entries, %+v", len(list), r.Counts())
	}
}

// TestTheKeyLiesNextToItsFolder wherever one stands.
func TestTheKeyLiesNextToItsFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	fatal.If(t, os.MkdirAll(filepath.Join(dir, "in"), 0o700))
	t.Chdir(filepath.Join(dir, "in"))
	if got := KeyPath(".."); filepath.Base(got) != "log.key" || filepath.Dir(got) == dir {
		t.Errorf("the key of .. is kept in %s", got)
	}
	t.Chdir(dir)
	if got := KeyPath("./"); filepath.Base(got) != "log.key" {
		t.Errorf("the key of . is kept in %s", got)
	}
}

func TestKey(t *testing.T) {
	path := KeyPath(filepath.Join(t.TempDir(), "log") + "/")
	if !strings.HasSuffix(path, "log.key") {
		t.Errorf("the key is kept in %s", path)
	}
	_, err := LoadKey(path)
	whittletest.Refused(t, err, whittle.NotFound, "no key")
	key, err := Key(path)
	if err != nil || len(key) < redact.KeyBytes {
		t.Fatal(key, err)
	}
	if again, err := Key(path); err != nil || !bytes.Equal(again, key) {
		t.Error("another key the second time", err)
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Error(st.Mode(), err)
	}
	fatal.If(t, os.Chmod(path, 0o640))
	_, err = Key(path)
	whittletest.Refused(t, err, whittle.PermissionDenied, "others may read it")
	bad := filepath.Join(t.TempDir(), "bad")
	fatal.If(t, os.WriteFile(bad, []byte("abcd"), 0o600))
	_, err = Key(bad)
	whittletest.Refused(t, err, whittle.Invalid, "a short key")
}
