package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/kafka/kafkatest"
	"whittle/systems/ingest/stream/streamtest"
)

// fake is a cluster in this process, with three brokers and the topic "t".
func fake(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(3), kfake.SeedTopics(6, "t")}, opts...)...)
	fatal.If(t, err)
	t.Cleanup(c.Close)
	return c
}

// everyThird is true for one request in three.
func everyThird() func(kmsg.Request) bool {
	var n atomic.Int64
	return func(kmsg.Request) bool { return n.Add(1)%3 == 0 }
}

// Whatever the brokers respond, and however often, what was acknowledged is there
// once and in order.
func TestFaultsLoseNothing(t *testing.T) {
	t.Parallel()
	produce := []kmsg.Key{kmsg.Produce}
	for name, faults := range map[string][]kfake.Fault{
		"not leader":         {{Keys: produce, Err: kerr.NotLeaderForPartition, Count: 30, When: everyThird()}},
		"one partition":      {{Keys: produce, Err: kerr.LeaderNotAvailable, Partitions: []int32{2}, Count: 20}},
		"too few replicas":   {{Keys: produce, Err: kerr.NotEnoughReplicas, Count: 30, When: everyThird()}},
		"kept but timed out": {{Keys: produce, Err: kerr.RequestTimedOut, Count: 20, When: everyThird()}},
		"kept in too few":    {{Keys: produce, Err: kerr.NotEnoughReplicasAfterAppend, Count: 20, When: everyThird()}},
		"refused for ever":   {{Keys: produce, Err: kerr.TopicAuthorizationFailed, Count: 50, When: everyThird()}},
		"unknown error":      {{Keys: produce, Err: kerr.UnknownServerError, Count: 50, When: everyThird()}},
		"all of them": {
			{Keys: produce, Err: kerr.NotLeaderForPartition, Partitions: []int32{0, 1}, Count: 10, When: everyThird()},
			{Keys: produce, Err: kerr.RequestTimedOut, Partitions: []int32{1, 2, 3}, Count: 10, When: everyThird()},
			{Keys: produce, Err: kerr.UnknownServerError, Partitions: []int32{3, 4}, Count: 10, When: everyThird()},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := fake(t)
			handle := c.Fault(faults...)
			l := openAt(t, Options{Brokers: c.ListenAddrs(), Topic: "t"})
			audit(t, l, func(ctx context.Context) error { return handle.Wait(ctx, 5) })
		})
	}
}

// audit has producers at work until what is to happen has happened and 200 more
// records have been acknowledged after it.
func audit(t *testing.T, l *Log, happen func(context.Context) error) {
	t.Helper()
	book := streamtest.NewLedger(2)
	book.During(t, l, 4, 20*time.Second, func() {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := happen(ctx); err != nil {
			t.Fatalf("%v: %+v", err, book.Counts())
		}
		book.Reach(t, 200)
	})
	book.Audit(t, readAll(t, l))
}

// What a failure says about the record must be what became of it.
func TestCodes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  *kerr.Error
		want whittle.Code
	}{
		"not authorized":      {kerr.TopicAuthorizationFailed, whittle.Unavailable},
		"no such topic":       {kerr.UnknownTopicOrPartition, whittle.Internal},
		"too large":           {kerr.MessageTooLarge, whittle.Invalid},
		"who knows":           {kerr.UnknownServerError, whittle.Internal},
		"invalid":             {kerr.InvalidRecord, whittle.Invalid},
		"timed out, and kept": {kerr.RequestTimedOut, whittle.DeadlineExceeded},
		"never in sync":       {kerr.NotEnoughReplicas, whittle.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := fake(t)
			l := openAt(t, Options{Brokers: cluster.ListenAddrs(), Topic: "t", DeliveryTimeout: 2 * time.Second})
			handle := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: c.err, Count: -1})
			r := l.Append(t.Context(), []stream.Record{streamtest.Record("1", "k", "v"), streamtest.Record("2", "k", "v")})
			for i := range r {
				code := whittle.CodeOf(r[i].Err)
				behind := i > 0 && code == whittle.Unavailable // the first failed, and this is of its key
				if r[i].Err == nil || code != c.want && !behind {
					t.Errorf("record %d: %v (%v), want %v", i, r[i].Err, whittle.CodeOf(r[i].Err), c.want)
				}
			}
			handle.Remove()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			fatal.If(t, l.Close(ctx))
			count := len(kafkatest.Records(t, "t", cluster.ListenAddrs()...))
			surely := whittle.CodeOf(r[0].Err) == whittle.Unavailable || whittle.CodeOf(r[0].Err) == whittle.Invalid
			if count > 0 && surely {
				t.Errorf("%d records kept that were surely not: %v", count, r[0].Err)
			}
		})
	}
}

// A batch that is refused as too large halves what goes into one, however many records
// it had: the limit on a record falls with it.
func TestARefusedBatchHalvesTheLimit(t *testing.T) {
	t.Parallel()
	cluster := fake(t)
	l := openAt(t, Options{Brokers: cluster.ListenAddrs(), Topic: "t"})
	before := l.batch.Load()
	cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.MessageTooLarge, Count: 1})
	records := make([]stream.Record, 20)
	for i := range records {
		records[i] = streamtest.Record(strconv.Itoa(i), "k", "v")
	}
	for i, r := range l.Append(t.Context(), records) {
		if r.Err != nil {
			t.Errorf("record %d, sent alone: %v", i, r.Err)
		}
	}
	fatal.Same(t, l.batch.Load(), before/2, "bytes of a batch")
}

// What is no record's fault shows until a record is kept.
func TestWhatIsNoRecordsFaultShows(t *testing.T) {
	t.Parallel()
	cluster := fake(t)
	l := openAt(t, Options{Brokers: cluster.ListenAddrs(), Topic: "t"})
	for _, fault := range []*kerr.Error{kerr.InvalidTimestamp, kerr.TopicAuthorizationFailed, kerr.PolicyViolation, kerr.UnsupportedCompressionType, kerr.InvalidRequiredAcks} {
		handle := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: fault, Count: -1})
		r := l.Append(t.Context(), []stream.Record{streamtest.Record("1", "k", "v")})
		named, ok := errors.AsType[*stream.Refusal](r[0].Err)
		if whittle.CodeOf(r[0].Err) != whittle.Unavailable || !ok || named.Name != fault.Message || l.Capacity().Failing == nil || l.Capacity().Err != nil {
			t.Errorf("%v: %v, %+v", fault, r[0].Err, l.Capacity())
		}
		handle.Remove()
		if r := l.Append(t.Context(), []stream.Record{streamtest.Record("2", "k", "v")}); r[0].Err != nil || l.Capacity().Failing != nil {
			t.Errorf("after %v: %v, %+v", fault, r[0].Err, l.Capacity())
		}
	}
}

func TestCloseGivesUp(t *testing.T) {
	t.Parallel()
	c := fake(t)
	l := openAt(t, Options{Brokers: c.ListenAddrs(), Topic: "t"})
	handle := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicas, Count: -1})
	streamtest.CloseGivesUp(t, l, func() { fatal.If(t, handle.Wait(t.Context(), 1)) })
}

func TestCapacityKnowsThatBrokersAreGone(t *testing.T) {
	t.Parallel()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	fatal.If(t, err)
	l := openAt(t, Options{Brokers: c.ListenAddrs(), Topic: "t"})
	c.Close()
	process.Until(t, "an error", func() bool { return l.Capacity().Err != nil })
	fatal.Same(t, whittle.CodeOf(l.Capacity().Err), whittle.Unavailable, "")
}

func TestSecurity(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	for _, mechanism := range []string{"plain", "scram-sha-256", "scram-sha-512"} {
		t.Run(mechanism, func(t *testing.T) {
			c := fake(t, kfake.TLS(server.TLS), kfake.EnableSASL(), kfake.Superuser(strings.ToUpper(mechanism), "u", "secret"))
			o := Options{Brokers: c.ListenAddrs(), Topic: "t", SASL: SASL{Mechanism: mechanism, User: "u", Password: "secret"}}
			o.TLS = &tls.Config{RootCAs: roots, ServerName: "example.com"} // the test certificate's name
			l := openAt(t, o)
			if r := l.Append(t.Context(), []stream.Record{streamtest.Record("", "", "v")}); r[0].Err != nil {
				t.Fatal(r[0].Err)
			}
			if mechanism != "plain" {
				return // a refusal takes the client more than a second
			}
			o.SASL.Password = "wrong"
			if l, err := Open(t.Context(), o); err == nil {
				l.Close(t.Context())
				t.Error("opened with the wrong password")
			}
		})
	}
}
