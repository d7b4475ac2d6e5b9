package mesh

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"whittle"
	"whittle/systems/emojify/api"
	"whittle/systems/emojify/cache"
	"whittle/systems/emojify/rpc"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func dial(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// sound is a cache as it is.
func sound(t *testing.T) (address string) {
	t.Helper()
	store, err := cache.Open(t.TempDir(), cache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := cache.NewServer(store, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	l := listen(t)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		s.Shutdown(ctx)
		if err := <-ended; err != nil && !errors.Is(err, grpc.ErrServerStopped) { // it ended before it began
			t.Error(err)
		}
		store.Close()
	})
	return l.Addr().String()
}

// sick is the second cache, which has what the first one has, and responds
// UNAVAILABLE to every call while it is ill.
type sick struct {
	rpc.UnimplementedCacheServiceServer
	first rpc.CacheServiceClient
	ill   atomic.Bool
	calls atomic.Int64
}

func (s *sick) Exists(ctx context.Context, in *rpc.ExistsRequest) (*rpc.ExistsResponse, error) {
	s.calls.Add(1)
	if s.ill.Load() {
		return nil, status.Error(codes.Unavailable, "an error that was asked for")
	}
	return s.first.Exists(ctx, in)
}

func (s *sick) Get(in *rpc.GetRequest, out grpc.ServerStreamingServer[rpc.GetResponse]) error {
	s.calls.Add(1)
	if s.ill.Load() {
		return status.Error(codes.Unavailable, "an error that was asked for")
	}
	from, err := s.first.Get(out.Context(), in)
	if err != nil {
		return err
	}
	for {
		m, err := from.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := out.Send(m); err != nil {
			return err
		}
	}
}

func sickFirst(t *testing.T, first string) (*sick, string) {
	t.Helper()
	s := &sick{first: rpc.NewCacheServiceClient(dial(t, first))}
	s.ill.Store(true)
	server := grpc.NewServer()
	rpc.RegisterCacheServiceServer(server, s)
	l := listen(t)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	})
	return s, l.Addr().String()
}

// put keeps an item in a cache and gives its key.
func put(t *testing.T, address string, item []byte) string {
	t.Helper()
	sum := sha256.Sum256(item)
	key := hex.EncodeToString(sum[:])
	stream, err := rpc.NewCacheServiceClient(dial(t, address)).Put(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for first := true; len(item) > 0; first = false {
		m := &rpc.PutRequest{Data: item[:min(len(item), 128<<10)]}
		if first {
			m.Key = key
		}
		item = item[len(m.GetData()):]
		if err := stream.Send(m); err != nil {
			break // what went wrong is in the response
		}
	}
	if _, err := stream.CloseAndRecv(); err != nil {
		t.Fatal(err)
	}
	return key
}

// idle means the parts of the api that serving from the cache does not use.
type idle struct{}

func (idle) Fetch(context.Context, string) ([]byte, error) {
	return nil, whittle.Errorf(whittle.Unavailable, "not here")
}
func (idle) Find(context.Context, []byte) ([]image.Rectangle, error) { return nil, nil }
func (idle) Ready(context.Context) error                             { return nil }
func (idle) Paint(_ context.Context, p []byte, _ []image.Rectangle) ([]byte, error) {
	return p, nil
}

// serveAPI serves an api that never repeats a call to the cache itself, so that
// what is repeated is Envoy's doing.
func serveAPI(t *testing.T, cacheAt string) (url string) {
	t.Helper()
	a, err := api.New(api.Options{
		Cache: dial(t, cacheAt), Fetcher: idle{}, Finder: idle{}, Painter: idle{},
		Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
		CacheCalls: api.Calls{Attempts: 1, Timeout: 20 * time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		a.Close(ctx)
	})
	srv := httptest.NewServer(a)
	t.Cleanup(srv.Close)
	return srv.URL
}

// item is the nth of many pictures, for all that the api knows.
func item(n int) []byte {
	return append(fmt.Appendf(nil, "\x89PNG\r\n\x1a\n%d", n), bytes.Repeat([]byte("emoji"), 40_000)...)
}

// items are enough that each cache has some of them.
const items = 40

// fill puts all items into a cache and gives their keys.
func fill(t *testing.T, address string) (keys []string) {
	t.Helper()
	for n := range items {
		keys = append(keys, put(t, address, item(n)))
	}
	return keys
}

// ask gets each picture so often, by four users at once, and says how many of
// the responses were not the picture.
func ask(t *testing.T, url string, keys []string, times int) (wrong int) {
	t.Helper()
	var bad atomic.Int64
	var users sync.WaitGroup
	for user := range 4 {
		users.Go(func() {
			for n := user; n < times*len(keys); n += 4 {
				if err := same(url+"/cache/"+keys[n%len(keys)], item(n%len(keys))); err != nil {
					bad.Add(1)
					t.Log(err)
				}
			}
		})
	}
	users.Wait()
	return int(bad.Load())
}

func same(url string, want []byte) error {
	resp, err := http.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != http.StatusOK || !bytes.Equal(got, want)) {
		err = fmt.Errorf("%s, %d bytes", resp.Status, len(got))
	}
	return err
}

// One of two caches fails every call. Users notice nothing, because Envoy asks
// the other one; after a few failures it asks the sick one no more, and when
// that is well, it is taken back.
func TestRetriesHideASickCache(t *testing.T) {
	first := sound(t)
	second, at := sickFirst(t, first)
	e := start(t, [2]string{first, at}, settings{"base_ejection_time: 5s": "base_ejection_time: 0.5s", "    interval: 1s": "    interval: 0.1s"})
	url, keys := serveAPI(t, e.hop), fill(t, first)

	const times = 5 * items
	if wrong := ask(t, url, keys, 5); wrong != 0 {
		t.Errorf("users saw %d of %d responses fail", wrong, times)
	}
	s := e.stats()
	if s["upstream_rq_retry"] < 5 || s["upstream_rq_retry_success"] != s["upstream_rq_retry"] {
		t.Errorf("%d retries, of which %d went well", s["upstream_rq_retry"], s["upstream_rq_retry_success"])
	}
	if s["outlier_detection.ejections_enforced_total"] < 1 {
		t.Errorf("the sick cache was never ejected: %v", s)
	}
	if failed := int(second.calls.Load()); failed != s["upstream_rq_retry"] {
		t.Errorf("%d calls failed, %d were repeated", failed, s["upstream_rq_retry"])
	}
	if got := s["grpc.emojify.cache.v1.CacheService.Get.total"]; got < times {
		t.Errorf("%d calls of Get are counted, of %d: %v", got, times, s)
	}
	t.Logf("%d retries, %d ejections in %d requests", s["upstream_rq_retry"], s["outlier_detection.ejections_enforced_total"], times)

	second.ill.Store(false)
	e.until("the second cache, well again, is asked", func() bool {
		before := second.calls.Load()
		if wrong := ask(t, url, keys, 1); wrong != 0 {
			t.Fatalf("%d responses fail although both caches are well", wrong)
		}
		return e.stats()["outlier_detection.ejections_active"] == 0 && second.calls.Load() > before
	})
}

// The same without retries: what the ejection alone is worth. The failures that
// lead to it are seen, and none after it.
func TestWithoutRetriesTheFailuresShow(t *testing.T) {
	first := sound(t)
	second, at := sickFirst(t, first)
	e := start(t, [2]string{first, at}, settings{"num_retries: 2": "num_retries: 0", "base_ejection_time: 5s": "base_ejection_time: 300s"})
	client := rpc.NewCacheServiceClient(dial(t, e.hop))
	failed := 0
	keys := fill(t, first)
	for range 3 {
		for _, key := range keys {
			ctx := metadata.AppendToOutgoingContext(t.Context(), "emojify-key", key)
			out, err := client.Exists(ctx, &rpc.ExistsRequest{Key: key})
			switch {
			case status.Code(err) == codes.Unavailable:
				failed++
			case err != nil || !out.GetExists():
				t.Fatalf("%v, %v", out, err)
			}
		}
	}
	// Five, and those that were on their way to it before all of Envoy knew.
	if failed < 5 || failed > 15 || int(second.calls.Load()) != failed {
		t.Errorf("%d calls failed, the sick cache had %d", failed, second.calls.Load())
	}
	s := e.stats()
	if s["outlier_detection.ejections_active"] != 1 || s["upstream_rq_retry"] != 0 {
		t.Errorf("%d ejected, %d retries", s["outlier_detection.ejections_active"], s["upstream_rq_retry"])
	}
}

// A cache whose port nobody listens on is as good as one that fails.
func TestACacheThatIsNotThere(t *testing.T) {
	first := sound(t)
	l := listen(t)
	gone := l.Addr().String()
	l.Close()
	e := start(t, [2]string{first, gone}, settings{"base_ejection_time: 5s": "base_ejection_time: 300s"})
	url, keys := serveAPI(t, e.hop), fill(t, first)
	if wrong := ask(t, url, keys, 2); wrong != 0 {
		t.Errorf("users saw %d responses fail", wrong)
	}
	if s := e.stats(); s["upstream_cx_connect_fail"] < 1 || s["outlier_detection.ejections_active"] != 1 {
		t.Errorf("%d connections failed, %d ejected", s["upstream_cx_connect_fail"], s["outlier_detection.ejections_active"])
	}
}

// Two caches that know nothing of each other are one: each picture is put into
// the one where it is looked for.
func TestEachPictureHasItsCache(t *testing.T) {
	caches := [2]string{sound(t), sound(t)}
	e := start(t, caches, nil)
	client := rpc.NewCacheServiceClient(dial(t, e.hop))
	in := [2]int{}
	var keys []string
	for n := range items {
		sum := sha256.Sum256(item(n))
		key := hex.EncodeToString(sum[:])
		keys = append(keys, key)
		ctx := metadata.AppendToOutgoingContext(t.Context(), "emojify-key", key)
		stream, err := client.Put(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(&rpc.PutRequest{Key: key, Data: item(n)}); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if _, err := stream.CloseAndRecv(); err != nil {
			t.Fatal(err)
		}
		if out, err := client.Exists(ctx, &rpc.ExistsRequest{Key: key}); err != nil || !out.GetExists() {
			t.Errorf("%d is not where it was put: %v", n, err)
		}
		for i, address := range caches {
			if out, err := rpc.NewCacheServiceClient(dial(t, address)).Exists(t.Context(), &rpc.ExistsRequest{Key: key}); err == nil && out.GetExists() {
				in[i]++
			}
		}
	}
	if in[0]+in[1] != items || in[0] == 0 || in[1] == 0 {
		t.Errorf("of %d pictures, one cache has %d and the other %d", items, in[0], in[1])
	}
	if wrong := ask(t, serveAPI(t, e.hop), keys, 1); wrong != 0 {
		t.Errorf("the api found %d of %d pictures elsewhere", wrong, items)
	}
}
