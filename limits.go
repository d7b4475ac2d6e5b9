package whittle

import (
	"cmp"
	"time"
)

// Limits bound what clients can make the gateway hold. A zero field takes its default.
type Limits struct {
	// Connections is how many client connections are open at once; further ones wait in the
	// kernel's queue until one ends. Default 16,384.
	Connections int
	// HeaderBytes bounds a request's line and header; above it the response is 431.
	// Default 64 KiB.
	HeaderBytes int
	// BodyBytes bounds a request's body; above it the response is 413. Negative: no bound.
	// Default: no bound, since bodies pass in constant memory.
	BodyBytes int64
	// CopyBytes bounds the bytes that the copies of all routes hold together (each route has
	// its own bound as well). Above it mirroring sheds, and users notice nothing. Default
	// 96 MiB: with as much garbage again the process stays below 256 MiB.
	CopyBytes int64
	// BufferBytes bounds what is read of one response while its client is slow to take it,
	// and the body of a request that is read before an upstream is turned to; BuffersBytes,
	// what is held so of all. Negative: nothing is buffered. Default 256 KiB and 64 MiB.
	BufferBytes, BuffersBytes int64
	// Streams is how many HTTP/2 streams one connection has at once. Default 250.
	Streams int
	// HeaderTimeout is how long a client may take to send a request's header, or to finish a
	// TLS handshake. Default 10 s.
	HeaderTimeout time.Duration
	// IdleTimeout is how long a connection that is kept waits for its next request. Default
	// 2 min.
	IdleTimeout time.Duration
	// StallTimeout is how long a client may send nothing of a body that is being read, or
	// take nothing of a response that is being written. It never cuts a stream that is
	// merely silent. Default 1 min.
	StallTimeout time.Duration
	// UpgradeIdle is how long an upgraded connection (WebSocket) may be silent in both
	// directions. Default 1 h.
	UpgradeIdle time.Duration
	// Grace is how long requests under way may take to finish when the gateway is asked to
	// end. Default 30 s.
	Grace time.Duration
}

// WithDefaults fills in the fields that are zero.
func (l Limits) WithDefaults() Limits {
	l.Connections = cmp.Or(l.Connections, 16_384)
	l.HeaderBytes = cmp.Or(l.HeaderBytes, 64<<10)
	l.BodyBytes = cmp.Or(l.BodyBytes, -1)
	l.CopyBytes = cmp.Or(l.CopyBytes, 96<<20)
	l.BufferBytes = cmp.Or(l.BufferBytes, 256<<10)
	l.BuffersBytes = cmp.Or(l.BuffersBytes, 64<<20)
	l.Streams = cmp.Or(l.Streams, 250)
	l.HeaderTimeout = cmp.Or(l.HeaderTimeout, 10*time.Second)
	l.IdleTimeout = cmp.Or(l.IdleTimeout, 2*time.Minute)
	l.StallTimeout = cmp.Or(l.StallTimeout, time.Minute)
	l.UpgradeIdle = cmp.Or(l.UpgradeIdle, time.Hour)
	l.Grace = cmp.Or(l.Grace, 30*time.Second)
	return l
}
