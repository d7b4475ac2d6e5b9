package kinesis

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/internal/needs"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/kinesis/kinesistest"
	"whittle/systems/ingest/stream/streamtest"
)

// api is the one Kinesis API of the package's tests; nil where none can run.
var api *kinesistest.API

func TestMain(m *testing.M) {
	process.Main(m, func() (err error) {
		_ = os.Setenv("AWS_ACCESS_KEY_ID", "local")
		_ = os.Setenv("AWS_SECRET_ACCESS_KEY", "local")
		api, err = kinesistest.Start(context.Background())
		if whittle.CodeOf(err) == whittle.Unsupported {
			err = nil // each test says so that needs one
		}
		return err
	}, func() {
		if api != nil {
			api.Close()
		}
	})
}

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
	name := "s-" + rand.Text()
	fatal.If(t, api.CreateStream(t.Context(), name, shards))
	return name
}

// open opens a Stream on the API, or on o.Endpoint.
func open(t *testing.T, o Options) *Stream {
	t.Helper()
	o.Region = kinesistest.Region
	if o.Endpoint == "" {
		o.Endpoint = needAPI(t).URL
	}
	o.CallTimeout = cmp.Or(o.CallTimeout, longer(5*time.Second))
	o.Budget = cmp.Or(o.Budget, longer(20*time.Second))
	s, err := Open(t.Context(), o)
	fatal.If(t, err)
	t.Cleanup(func() {
		fatal.If(t, s.Close(context.Background()))
	})
	return s
}

func TestOpenNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	api := needAPI(t)
	ok := Options{Stream: "s", Region: "us-east-1", Endpoint: api.URL}
	for name, c := range map[string]struct {
		change func(*Options)
		want   whittle.Code
	}{
		"no name":       {func(o *Options) { o.Stream = "" }, whittle.Invalid},
		"endpoint":      {func(o *Options) { o.Endpoint = "localhost" }, whittle.Invalid},
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

// TestConformance holds a Kinesis API to what every stream must do.
func TestConformance(t *testing.T) {
	streamtest.Run(t, streamtest.Suite{
		Open: func(t *testing.T) stream.Stream { return open(t, Options{Stream: newStream(t, 3)}) },
		Reopen: func(t *testing.T, closed stream.Stream) stream.Stream {
			return open(t, Options{Stream: closed.(*Stream).o.Stream})
		},
		Read: readShards, Scale: fewer(1000),
	})
}

// TestABareBodyIsAllThatThereIs on a raw stream.
func TestABareBodyIsAllThatThereIs(t *testing.T) {
	raw := open(t, Options{Stream: newStream(t, 1), Raw: true})
	res := raw.Append(t.Context(), []stream.Record{streamtest.Record("id", "k", "foreign")})
	got := readShards(t, raw)[res[0].Position.Partition]
	if len(got) != 1 || string(got[0].Value) != "foreign" || got[0].Key != "k" {
		t.Errorf("raw: %+v", got)
	}
}

func TestOutageLetsSomeThrough(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	var o outage
	down := outcome{disposition: refused, cause: whittle.Errorf(whittle.Unavailable, "refused")}
	for range outageAfter {
		if o.err(now) != nil {
			t.Fatal("an outage too soon")
		}
		o.add(down, now)
	}
	if whittle.CodeOf(o.err(now)) != whittle.Unavailable || o.err(now) == nil {
		t.Fatal("no outage")
	}
	if err := o.err(now.Add(outagePause + 1)); err != nil {
		t.Fatal("nothing is let through, so nobody will see its end:", err)
	}
	var throttled outage
	for range 10 {
		throttled.add(outcome{disposition: refused, cause: whittle.Errorf(whittle.ResourceExhausted, "slow down")}, now)
	}
	if throttled.err(now) != nil {
		t.Fatal("throttling is no outage")
	}
}

// TestEnvelopes: whatever a record is, it comes back as it was; and an envelope is one line that any JSON reader reads.
func TestEnvelopes(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 600_000_001, time.UTC)
	for _, c := range []struct {
		r    stream.Record
		want string // what the envelope has
	}{
		{stream.Record{ID: "m1", Key: "u1", Time: at, Header: []stream.Header{{Name: "kind", Value: "track"}}, Value: []byte(`{"a":1, "b":1e400,"b":[2]}`)}, `"event":{"a":1, "b":1e400,"b":[2]}}`},
		{stream.Record{Time: at, Value: []byte("anything at all")}, `"text":"anything at all"`},
		{stream.Record{Time: at, Value: []byte("{\n}")}, `"text":"{\n}"`},
		{stream.Record{Time: at, Value: []byte(" {}")}, `"text":" {}"`},
		{stream.Record{Time: at, Value: []byte("{} ")}, `"text":"{} "`},
		{stream.Record{Time: at}, `"text":""`},
		{stream.Record{Time: at, Value: []byte("null")}, `"event":null`},
		{stream.Record{Time: at, Value: []byte{0xff, 0}}, `"base64":"/wA="`},
		{stream.Record{Time: at, Value: []byte("\u2028\x00<&>")}, `"text":`},
		{stream.Record{Time: at, ID: "käse\x00\"", Value: []byte("1")}, `"event":1`},
		{stream.Record{Time: at, ID: "a\xffb", Header: []stream.Header{{Name: "a", Value: "\xff"}}, Value: []byte("1")}, `"id":{"base64":"Yf9i"}`},
		{stream.Record{Time: at, Value: bytes.Repeat([]byte{1}, 5000)}, `"base64":"AQEB`}, // six bytes each, as text
	} {
		c.r.Seal()
		b := appendEnvelope(nil, &c.r)
		if !strings.Contains(string(b), c.want) || !json.Valid(b) || bytes.Count(b, []byte("\n")) != 1 || b[len(b)-1] != '\n' {
			t.Errorf("%q became %q", c.r.Value, b)
		}
		if back := parseData(b); !back.Intact() || streamtest.Differ(&back, &c.r) != "" {
			t.Errorf("%+v came back as %+v", c.r, back)
		}
	}
}
