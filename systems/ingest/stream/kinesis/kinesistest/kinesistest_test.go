package kinesistest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whittle/internal/needs"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"whittle"
)

func start(t *testing.T, o Options) *API {
	t.Helper()
	a, err := Start(t.Context(), o)
	if whittle.CodeOf(err) == whittle.Unsupported {
		needs.Missing(t, "a Kinesis API", Install)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// put makes one call with a record for each of the keys.
func put(ctx context.Context, t *testing.T, a *API, stream string, keys ...string) (*kinesis.PutRecordsOutput, error) {
	t.Helper()
	client, end := a.Client()
	defer end()
	in := &kinesis.PutRecordsInput{StreamName: &stream}
	for _, k := range keys {
		in.Records = append(in.Records, types.PutRecordsRequestEntry{PartitionKey: aws.String(k), Data: []byte("value of " + k)})
	}
	return client.PutRecords(ctx, in, once)
}

// kept counts the records of a stream with one shard.
func kept(t *testing.T, a *API, stream string) int {
	t.Helper()
	client, end := a.Client()
	defer end()
	at, err := client.GetShardIterator(t.Context(), &kinesis.GetShardIteratorInput{
		StreamName: &stream, ShardId: aws.String("shardId-000000000000"), ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := client.GetRecords(t.Context(), &kinesis.GetRecordsInput{ShardIterator: at.ShardIterator})
	if err != nil {
		t.Fatal(err)
	}
	return len(out.Records)
}

func TestEachProgramIsAKinesisAPI(t *testing.T) {
	for _, program := range []string{Ferrokinesis, KinesisLocal} {
		t.Run(program, func(t *testing.T) {
			a := start(t, Options{Program: program})
			if a.Program != program {
				t.Fatalf("%s was started", a.Program)
			}
			if err := a.CreateStream(t.Context(), "s", 1); err != nil {
				t.Fatal(err)
			}
			out, err := put(t.Context(), t, a, "s", "a", "b")
			if err != nil || len(out.Records) != 2 || aws.ToInt32(out.FailedRecordCount) != 0 {
				t.Fatal(out, err)
			}
			if n := kept(t, a, "s"); n != 2 {
				t.Fatalf("%d records are kept, want 2", n)
			}
		})
	}
}

func TestStateSurvivesARestart(t *testing.T) {
	o := Options{Program: Ferrokinesis, StateDir: t.TempDir()}
	a := start(t, o)
	if err := a.CreateStream(t.Context(), "s", 1); err != nil {
		t.Fatal(err)
	}
	if _, err := put(t.Context(), t, a, "s", "a"); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if n := kept(t, start(t, o), "s"); n != 1 {
		t.Fatalf("%d records after a restart, want 1", n)
	}
}

// TestEachFaultIsWhatItSays holds each fault to what the caller sees and to
// what is kept.
func TestEachFaultIsWhatItSays(t *testing.T) {
	a := start(t, Options{Program: Ferrokinesis})
	for i, c := range []struct {
		fault  string
		faults Faults
		code   string // of the API's error; "": none, and no response
		kept   int
	}{
		{"throttle", Faults{Throttle: 1}, throughputExceeded, 0},
		{"internal", Faults{Internal: 1}, "InternalFailure", 0},
		{"lost", Faults{Lost: 1}, "InternalFailure", 2},
		{"hang", Faults{Hang: 1}, "", 0},
		{"hang kept", Faults{HangKept: 1}, "", 2},
		{"cut", Faults{Cut: 1}, "", 2},
	} {
		t.Run(c.fault, func(t *testing.T) {
			p, stream := proxied(t, a, i)
			p.Set(c.faults)
			hung := strings.HasPrefix(c.fault, "hang")
			timeout := 10 * time.Second
			if hung {
				timeout = 200 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			_, err := put(ctx, t, &API{URL: p.URL}, stream, "a", "b")
			if err == nil {
				t.Fatal("the call succeeded")
			}
			if c.code != "" && !strings.Contains(err.Error(), c.code) {
				t.Errorf("got %v, want %s", err, c.code)
			}
			if c.code == "" && hung != errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			p.Close() // a hung call has taken effect by then, or never will
			if n := kept(t, a, stream); n != c.kept {
				t.Errorf("%d records are kept, want %d", n, c.kept)
			}
			if got := p.Counts(); got[c.fault] != 1 || got["calls"] != 1 {
				t.Errorf("counts %v", got)
			}
		})
	}
}

func proxied(t *testing.T, a *API, n int) (p *Proxy, stream string) {
	t.Helper()
	stream = fmt.Sprint("proxied", n)
	if err := a.CreateStream(t.Context(), stream, 1); err != nil {
		t.Fatal(err)
	}
	p, err := NewProxy(t.Context(), a.URL, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p, stream
}

func TestPartialFailuresAreMergedInOrder(t *testing.T) {
	a := start(t, Options{Program: Ferrokinesis})
	p, stream := proxied(t, a, 100)
	p.Set(Faults{Refuse: func(key string) bool { return key == "b" || key == "d" }})
	out, err := put(t.Context(), t, &API{URL: p.URL}, stream, "a", "b", "c", "d")
	if err != nil || aws.ToInt32(out.FailedRecordCount) != 2 || len(out.Records) != 4 {
		t.Fatal(out, err)
	}
	for i, r := range out.Records {
		if failed := i%2 == 1; failed != (aws.ToString(r.ErrorCode) == throughputExceeded) || failed == (r.SequenceNumber != nil) {
			t.Errorf("record %d: %+v", i, r)
		}
	}
	if n := kept(t, a, stream); n != 2 {
		t.Errorf("%d records are kept, want 2", n)
	}
	p.Set(Faults{Partial: 1, PartialOf: 1})
	if out, err = put(t.Context(), t, &API{URL: p.URL}, stream, "a", "b"); err != nil || aws.ToInt32(out.FailedRecordCount) != 2 {
		t.Errorf("all records failed: %v, %v", out, err)
	}
	p.Set(Faults{})
	if out, err = put(t.Context(), t, &API{URL: p.URL}, stream, "b"); err != nil || aws.ToInt32(out.FailedRecordCount) != 0 {
		t.Errorf("without faults: %v, %v", out, err)
	}
	if got := p.Counts(); got["records"] != 4 || got["partial"] != 2 {
		t.Errorf("counts %v", got)
	}
}

func TestProxyPassesOnWhatIsNoCall(t *testing.T) {
	a := start(t, Options{Program: Ferrokinesis})
	p, _ := proxied(t, a, 200)
	p.Set(Faults{Partial: 1, PartialOf: 1})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL, strings.NewReader("{not JSON"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Amz-Target", "Kinesis_20131202.PutRecords")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 4 {
		t.Errorf("the API's own refusal is %s", resp.Status)
	}
}

// TestANamedProgramIsMeant has the environment name what is not there.
func TestANamedProgramIsMeant(t *testing.T) {
	t.Setenv("FERROKINESIS", filepath.Join(t.TempDir(), "none"))
	_, err := Start(t.Context(), Options{})
	if whittle.CodeOf(err) != whittle.Invalid || !strings.Contains(err.Error(), "FERROKINESIS") {
		t.Errorf("another program was taken: %v", err)
	}
}
