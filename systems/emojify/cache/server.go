// Package cache is emojify's cache service: finished pictures as files, bounded
// in age and total size, served over gRPC in pieces.
package cache

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	"whittle/internal/notify"
	"whittle/systems/emojify/piece"
	"whittle/systems/emojify/rpc"
)

// sweepEvery is how often expired items are removed.
const sweepEvery = time.Minute

// Server puts a store on the network.
type Server struct {
	store   *Store
	log     *slog.Logger
	service *service
	health  *health.Server
	grpc    *grpc.Server
}

// NewServer makes a server of a store, whose metrics it adds to r. It starts
// nothing.
func NewServer(store *Store, r prometheus.Registerer, log *slog.Logger) *Server {
	m, codec := newMetrics(store, r), piece.NewCodec()
	s := &Server{store: store, log: log, service: &service{store: store, buffers: codec.Buffers}, health: health.NewServer()}
	s.grpc = grpc.NewServer(
		grpc.ChainUnaryInterceptor(m.unary),
		grpc.ChainStreamInterceptor(m.stream),
		grpc.ForceServerCodecV2(codec),
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.WriteBufferSize(128<<10),
		grpc.MaxConcurrentStreams(256),
		grpc.ConnectionTimeout(10*time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		// Handlers have ended when Stop returns, so that the store can be closed.
		grpc.WaitForHandlers(true),
	)
	rpc.RegisterCacheServiceServer(s.grpc, s.service)
	healthpb.RegisterHealthServer(s.grpc, s.health)
	s.health.SetServingStatus(rpc.CacheService_ServiceDesc.ServiceName, healthpb.HealthCheckResponse_SERVING)
	return s
}

// Serve responds on l until Shutdown, and sweeps the store meanwhile.
func (s *Server) Serve(l net.Listener) error {
	ctx, cancel := context.WithCancel(context.Background())
	var sweeping sync.WaitGroup
	sweeping.Go(func() { s.sweep(ctx) })
	defer sweeping.Wait()
	defer cancel()
	if err := s.grpc.Serve(l); err != nil {
		return fmt.Errorf("serve cache on %s: %w", l.Addr(), err)
	}
	return nil
}

func (s *Server) sweep(ctx context.Context) {
	for notify.Sleep(ctx, sweepEvery) {
		if err := s.store.Sweep(); err != nil {
			s.log.Warn("removing old items failed", "err", err)
		}
	}
}

// Shutdown says NOT_SERVING to health checks, lets the calls in flight end, and
// cuts them off when ctx ends.
func (s *Server) Shutdown(ctx context.Context) {
	s.health.Shutdown()
	cut := context.AfterFunc(ctx, s.grpc.Stop)
	s.grpc.GracefulStop()
	cut()
}
