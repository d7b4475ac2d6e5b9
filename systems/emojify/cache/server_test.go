package cache

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"whittle/internal/fatal"
	"whittle/systems/emojify/piece"
	"whittle/systems/emojify/rpc"
)

// served is a server on loopback and a client of it.
type served struct {
	store  *Store
	client rpc.CacheServiceClient
}

func serve(t testing.TB, o Options) *served {
	t.Helper()
	v := &served{store: open(t, t.TempDir(), o)}
	server := NewServer(v.store, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	fatal.If(t, err)
	v.client = rpc.NewCacheServiceClient(conn)
	t.Cleanup(func() {
		conn.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		server.Shutdown(ctx)
		fatal.If(t, <-ended)
	})
	return v
}

// put sends pieces of a size; the response's error is what counts.
func (v *served) put(ctx context.Context, key string, value []byte, size int) error {
	stream, err := v.client.Put(ctx)
	if err != nil {
		return err
	}
	m := &rpc.PutRequest{Key: key}
	for {
		n := min(size, len(value))
		m.Data, value = value[:n], value[n:]
		if err := stream.Send(m); err != nil || len(value) == 0 {
			break // what went wrong is in the response
		}
		m = &rpc.PutRequest{}
	}
	_, err = stream.CloseAndRecv()
	return err
}

func (v *served) get(ctx context.Context, key string) (value []byte, messages int, err error) {
	stream, err := v.client.Get(ctx, &rpc.GetRequest{Key: key})
	if err != nil {
		return nil, 0, err
	}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return value, messages, nil
		}
		if err != nil {
			return value, messages, err
		}
		if messages == 0 && (m.GetSize() == 0 || !m.GetModified().IsValid()) {
			return nil, 0, status.Errorf(codes.Internal, "first message: %d bytes, %v", m.GetSize(), m.GetModified())
		}
		messages++
		value = append(value, m.GetData()...)
	}
}

func TestCallsOverTheNetwork(t *testing.T) {
	v := serve(t, Options{MaxItem: 3 << 20})
	for _, size := range []int{1, 1000, piece.Size - 1, piece.Size, piece.Size + 1, 3 << 20} {
		key := keyOf(time.Duration(size).String()).String()
		value := bytes.Repeat([]byte("emojify "), size/8+1)[:size]
		if err := v.put(t.Context(), key, value, 100_000); err != nil {
			t.Fatalf("put %d bytes: %v", size, err)
		}
		there, err := v.client.Exists(t.Context(), &rpc.ExistsRequest{Key: key})
		if err != nil || !there.GetExists() {
			t.Errorf("exists %d bytes: %v, %v", size, there, err)
		}
		got, messages, err := v.get(t.Context(), key)
		if err != nil || !bytes.Equal(got, value) || messages != (size+piece.Size-1)/piece.Size {
			t.Errorf("get %d bytes: %d bytes in %d messages, %v", size, len(got), messages, err)
		}
	}
}

func TestRefusalsHaveACodeAndNoPath(t *testing.T) {
	v := serve(t, Options{MaxItem: 10})
	key := keyOf("a").String()
	put(t, v.store, "a", "before")
	_, _, unknown := v.get(t.Context(), keyOf("b").String())
	_, _, path := v.get(t.Context(), "../lock")
	_, exists := v.client.Exists(t.Context(), &rpc.ExistsRequest{})
	for what, c := range map[string]struct {
		err  error
		want codes.Code
	}{
		"unknown":        {unknown, codes.NotFound},
		"a path":         {path, codes.InvalidArgument},
		"no key":         {exists, codes.InvalidArgument},
		"put to a path":  {v.put(t.Context(), "../../x", []byte("x"), 1), codes.InvalidArgument},
		"put too much":   {v.put(t.Context(), key, []byte("eleven byte"), 4), codes.ResourceExhausted},
		"put no bytes":   {v.put(t.Context(), key, nil, 1), codes.InvalidArgument},
		"a giant piece":  {v.put(t.Context(), key, make([]byte, 2<<20), 2<<20), codes.ResourceExhausted},
		"key twice":      {v.putTwice(t.Context(), key), codes.InvalidArgument},
		"sender is gone": {v.putHalf(t, key), codes.Canceled},
	} {
		if status.Code(c.err) != c.want || strings.Contains(c.err.Error(), "/") {
			t.Errorf("%s: %v, want %v and no path", what, c.err, c.want)
		}
	}
	// Nothing is seen of a put that failed.
	if got := get(t, v.store, "a"); got != "before" || onDisk(t, v.store, partialFolder) != 0 {
		t.Errorf("after failed puts: %q, %d parts", got, onDisk(t, v.store, partialFolder))
	}
}

func (v *served) putTwice(ctx context.Context, key string) error {
	stream, err := v.client.Put(ctx)
	if err != nil {
		return err
	}
	for range 2 {
		if err := stream.Send(&rpc.PutRequest{Key: key, Data: []byte("x")}); err != nil {
			break
		}
	}
	_, err = stream.CloseAndRecv()
	return err
}

// putHalf goes away in the middle.
func (v *served) putHalf(t *testing.T, key string) error {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := v.client.Put(ctx)
	if err != nil {
		return err
	}
	if err := stream.Send(&rpc.PutRequest{Key: key, Data: []byte("half")}); err != nil {
		return err
	}
	cancel()
	_, err = stream.CloseAndRecv()
	return err
}
