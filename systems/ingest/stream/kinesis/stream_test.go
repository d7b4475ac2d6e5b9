package kinesis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/time/rate"

	"whittle"
	"whittle/internal/needs"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/kinesis/kinesistest"
)

// api is the one Kinesis API of the package's tests, KINESIS_API where that
// names a program; nil where none can run.
var api *kinesistest.API

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	var err error
	api, err = kinesistest.Start(context.Background(), kinesistest.Options{Program: os.Getenv("KINESIS_API")})
	switch {
	case whittle.CodeOf(err) == whittle.Unsupported:
		// Each test says so that needs one.
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1
	default:
		defer api.Close()
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(goleak.IgnoreTopFunction("os/exec.(*Cmd).Wait"),
			goleak.IgnoreAnyFunction("os/exec.(*Cmd).Wait"), goleak.IgnoreAnyFunction("os/exec.(*Cmd).writerDescriptor.func1")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

var streams atomic.Int64

// slow says that the API responds in tens of milliseconds, so that tests do less
// and wait longer. kinesis-local does.
func slow() bool { return api != nil && api.Program == kinesistest.KinesisLocal }

// fewer is how much of n a test does.
func fewer(n int) int {
	if slow() {
		return max(n/8, 1)
	}
	return n
}

// longer is how long a test lets one thing take.
func longer(d time.Duration) time.Duration {
	if slow() {
		return 10 * d
	}
	return d
}

// needAPI gives the API, and ends the test where the machine has none.
func needAPI(t testing.TB) *kinesistest.API {
	t.Helper()
	if api == nil {
		needs.Missing(t, "a Kinesis API", kinesistest.Install)
	}
	return api
}

// newStream makes a data stream in the API, and gives its name.
func newStream(t *testing.T, shards int) string {
	t.Helper()
	api := needAPI(t)
	name := fmt.Sprintf("s%d-%d", os.Getpid(), streams.Add(1))
	if err := api.CreateStream(t.Context(), name, shards); err != nil {
		t.Fatal(err)
	}
	return name
}

// open opens a Stream on the API, or on o.Endpoint, that polls as fast as a
// test wants.
func open(t *testing.T, o Options) *Stream {
	t.Helper()
	o.Region, o.AccessKeyID, o.SecretAccessKey = kinesistest.Region, "local", "local"
	if o.Endpoint == "" {
		o.Endpoint = needAPI(t).URL
	}
	o.PollEvery = cmp.Or(o.PollEvery, longer(2*time.Millisecond))
	o.CallTimeout = cmp.Or(o.CallTimeout, longer(5*time.Second))
	o.Budget = cmp.Or(o.Budget, longer(20*time.Second))
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func record(key, id, value string) stream.Record {
	r := stream.Record{ID: id, Key: key, Time: time.Unix(1_700_000_000, 7).UTC(), Value: []byte(value), Header: []stream.Header{{Name: "A", Value: "b"}}}
	r.Seal()
	return r
}

// readAll reads every shard until want records are there.
func readAll(t *testing.T, s *Stream, want int) []stream.Entry {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longer(20*time.Second))
	defer cancel()
	parts, err := s.Partitions(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var (
		mu  sync.Mutex
		all []stream.Entry // guarded by mu
		wg  sync.WaitGroup
	)
	for _, p := range parts {
		wg.Go(func() {
			r, err := s.Read(ctx, p.First)
			if err != nil {
				if ctx.Err() == nil {
					t.Error(err)
				}
				return
			}
			defer r.Close()
			into := make([]stream.Entry, 100)
			for {
				n, err := r.Next(ctx, into)
				mu.Lock()
				all = append(all, into[:n]...)
				if len(all) >= want {
					cancel()
				}
				mu.Unlock()
				if err != nil {
					if ctx.Err() == nil {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	wg.Wait()
	if len(all) < want {
		t.Fatalf("read %d records, want %d", len(all), want)
	}
	return all
}

func TestRecordSurvives(t *testing.T) {
	for _, aggregate := range []int{0, 50 << 10} {
		t.Run(fmt.Sprint(aggregate), func(t *testing.T) {
			s := open(t, Options{Stream: newStream(t, 2), Aggregate: aggregate})
			want := []stream.Record{record("u1", "a", "one"), record("u1", "b", "two"), record("", "c", "three"), record("\xff\x00", "d", "")}
			where := map[string]stream.Position{}
			for i, r := range s.Append(t.Context(), want) {
				if r.Err != nil {
					t.Fatal(r.Err)
				}
				where[want[i].ID] = r.Position
			}
			got := readAll(t, s, len(want))
			if len(got) != len(want) {
				t.Fatalf("read %d, want %d", len(got), len(want))
			}
			for _, w := range want {
				found := false
				for _, g := range got {
					if g.ID != w.ID {
						continue
					}
					found = true
					if g.Key != w.Key || string(g.Value) != string(w.Value) || g.Sum != w.Sum || !g.Time.Equal(w.Time) || fmt.Sprint(g.Header) != fmt.Sprint(w.Header) {
						t.Errorf("got %+v, want %+v", g, w)
					}
					if g.Position != where[w.ID] {
						t.Errorf("%s is at %v, Append said %v", w.ID, g.Position, where[w.ID])
					}
				}
				if !found {
					t.Errorf("%s is not there", w.ID)
				}
			}
		})
	}
}

func TestOpenNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	api := needAPI(t)
	ok := Options{Stream: "s", Region: "us-east-1", Endpoint: api.URL, AccessKeyID: "a", SecretAccessKey: "b"}
	for name, c := range map[string]struct {
		change func(*Options)
		want   whittle.Code
	}{
		"no name":       {func(o *Options) { o.Stream = "" }, whittle.Invalid},
		"endpoint":      {func(o *Options) { o.Endpoint = "localhost" }, whittle.Invalid},
		"half a key":    {func(o *Options) { o.SecretAccessKey = "" }, whittle.Invalid},
		"record size":   {func(o *Options) { o.MaxRecord = 11 << 20 }, whittle.Invalid},
		"aggregate":     {func(o *Options) { o.Aggregate = 5 }, whittle.Invalid},
		"negative":      {func(o *Options) { o.Budget = -1 }, whittle.Invalid},
		"no stream":     {func(o *Options) { o.Stream = "nowhere" }, whittle.NotFound},
		"no connection": {func(o *Options) { o.Endpoint = "http://127.0.0.1:1" }, whittle.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // the SDK takes its time before it gives a connection up
			o := ok
			c.change(&o)
			s, err := Open(t.Context(), o)
			if err == nil {
				s.Close(t.Context())
			}
			if whittle.CodeOf(err) != c.want || err == nil {
				t.Fatalf("got %v (%v), want %v", err, whittle.CodeOf(err), c.want)
			}
		})
	}
}

func TestTrimIsUnsupported(t *testing.T) {
	s := open(t, Options{Stream: newStream(t, 1)})
	if err := s.Trim(t.Context(), stream.Position{}); whittle.CodeOf(err) != whittle.Unsupported {
		t.Fatal(err)
	}
}

func TestCloseRefusesWhatComesAfter(t *testing.T) {
	s := open(t, Options{Stream: newStream(t, 1)})
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	res := s.Append(t.Context(), []stream.Record{record("k", "", "v")})
	if whittle.CodeOf(res[0].Err) != whittle.Unavailable || s.Capacity().Err == nil {
		t.Fatal(res, s.Capacity())
	}
}

func TestReadFromBehindARecord(t *testing.T) {
	s := open(t, Options{Stream: newStream(t, 1), Aggregate: 2 << 10})
	var recs []stream.Record
	for i := range 20 {
		recs = append(recs, record("k", fmt.Sprint(i), "v"))
	}
	results := s.Append(t.Context(), recs)
	ctx, cancel := context.WithTimeout(t.Context(), longer(10*time.Second))
	defer cancel()
	for i, res := range results {
		if res.Err != nil {
			t.Fatal(res.Err)
		}
		r, err := s.Read(ctx, res.Position)
		if err != nil {
			t.Fatal(err)
		}
		into := make([]stream.Entry, 1)
		if _, err := r.Next(ctx, into); err != nil || into[0].ID != fmt.Sprint(i) {
			t.Fatalf("at %v: %v %v", res.Position, into[0].ID, err)
		}
		r.Close()
	}
}

// TestADroppedConnectionIsNotTheEnd of a shard, though its error has io.EOF as
// its cause.
func TestADroppedConnectionIsNotTheEnd(t *testing.T) {
	dropping := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	}))
	defer dropping.Close()
	s := &Stream{o: Options{
		Stream: "s", Endpoint: dropping.URL, Region: kinesistest.Region, AccessKeyID: "local", SecretAccessKey: "local",
		CallTimeout: 30 * time.Second,
	}}
	if err := s.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer s.transport.CloseIdleConnections()
	r := &reader{s: s, shard: "shardId-0", iterator: "i", limiter: rate.NewLimiter(rate.Inf, 1)}
	_, err := r.Next(t.Context(), make([]stream.Entry, 1))
	if whittle.CodeOf(err) != whittle.Unavailable || !errors.Is(err, io.EOF) || errors.Is(err, stream.ErrEnded) {
		t.Error(err)
	}
}

// TestAReadThatHangsIsNotTheEnd: only a response which says so is.
func TestAReadThatHangsIsNotTheEnd(t *testing.T) {
	for behind, want := range map[int]error{0: stream.ErrIdle, 5000: nil} {
		var asked atomic.Int64
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if asked.Add(1) > 1 && behind > 0 {
				<-r.Context().Done()
				return
			}
			w.Header().Set("Content-Type", "application/x-amz-json-1.1")
			_, _ = fmt.Fprintf(w, `{"Records":[],"NextShardIterator":"i","MillisBehindLatest":%d}`, behind)
		}))
		s := &Stream{o: Options{
			Stream: "s", Endpoint: api.URL, Region: kinesistest.Region, AccessKeyID: "local", SecretAccessKey: "local",
			CallTimeout: time.Minute,
		}}
		if err := s.connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := &reader{s: s, shard: "shardId-0", iterator: "i", limiter: rate.NewLimiter(rate.Inf, 1)}
		_, err := stream.NextBefore(t.Context(), r, make([]stream.Entry, 1), 300*time.Millisecond)
		if want != nil && !errors.Is(err, want) || want == nil && (whittle.CodeOf(err) != whittle.Unavailable || errors.Is(err, stream.ErrIdle)) {
			t.Errorf("%d ms behind, then nothing: %v", behind, err)
		}
		s.transport.CloseIdleConnections()
		api.Close()
	}
}

func TestCorruptRecordIsNamedAndPassed(t *testing.T) {
	name := newStream(t, 1)
	s := open(t, Options{Stream: name})
	raw := open(t, Options{Stream: name, Raw: true})
	bad := record("k", "2", "value")
	bad.Sum++
	s.Append(t.Context(), []stream.Record{record("k", "1", "value")})
	res := s.Append(t.Context(), []stream.Record{bad})
	raw.Append(t.Context(), []stream.Record{record("k", "", "foreign")})
	s.Append(t.Context(), []stream.Record{record("k", "3", "value")})

	ctx, cancel := context.WithTimeout(t.Context(), longer(10*time.Second))
	defer cancel()
	r, err := s.Read(ctx, stream.Position{Partition: res[0].Position.Partition})
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for len(seen) < 4 {
		into := make([]stream.Entry, 10)
		n, err := r.Next(ctx, into)
		for _, e := range into[:n] {
			seen = append(seen, e.ID)
		}
		if corrupt, ok := errors.AsType[*stream.CorruptError](err); ok {
			if len(seen) == 1 && corrupt.Position != res[0].Position {
				t.Errorf("corrupt at %v, want %v", corrupt.Position, res[0].Position)
			}
			seen = append(seen, "corrupt")
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(seen) != "[1 corrupt corrupt 3]" {
		t.Fatal(seen)
	}
	// The same stream as a raw one: the value is all that there is.
	got := readAll(t, raw, 4)
	if e := got[2]; string(e.Value) != "foreign" || e.Key != "k" || !e.Intact() || e.Time.IsZero() {
		t.Errorf("raw: %+v", e)
	}
}
