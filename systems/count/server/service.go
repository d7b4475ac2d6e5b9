// Package server serves a Counter over the network: Twirp, Connect, gRPC and
// gRPC-Web on one port, and health, metrics and profiles on a second port that
// is bound to loopback.
package server

import (
	"context"
	"time"

	"whittle/systems/count/rpc"
)

// Counter adds up random numbers.
type Counter interface {
	// Count makes times draws and gives their sum. It ends early with ctx. Its
	// errors are *whittle.Error; any other is shown as an internal one. It is
	// called concurrently.
	Count(ctx context.Context, times int32) (int64, error)
}

// service is the contract in terms of a Counter: the same for every protocol,
// whose own errors its interceptor makes.
type service struct {
	counter  Counter
	deadline time.Duration
}

// Count has the signature that both generated packages ask for.
func (s *service) Count(ctx context.Context, in *rpc.Times) (*rpc.Sum, error) {
	ctx, cancel := context.WithTimeout(ctx, s.deadline)
	defer cancel()
	sum, err := s.counter.Count(ctx, in.GetTimes())
	if err != nil {
		return nil, err
	}
	return &rpc.Sum{Sum: sum}, nil
}
