package forward

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/carve/gateway/upstream"
	"whittle/internal/conns"
	"whittle/internal/httpfield"
)

// Upgrades is how many upgraded connections are open. net/http's Shutdown does not know
// them, so the gateway waits for them itself.
func (p *Forwarder) Upgrades() int64 { return int64(p.upgrades.Len()) }

// EndUpgrades closes all upgraded connections, and any that comes later.
func (p *Forwarder) EndUpgrades() { p.upgrades.Close((*tunnel).close) }

// AwaitUpgrades waits until no upgraded connection is open, for as long as limit at
// most.
func (p *Forwarder) AwaitUpgrades(limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_ = p.upgrades.Wait(ctx, nil) // it is over either way
}

// upgrade asks for another protocol. Where the upstream agrees, the two
// connections are joined until one side is done with both directions; where it
// answers otherwise, the response is passed on like any.
func (f *forwarding) upgrade() {
	a, err := f.send(true)
	if err != nil {
		f.failed(err)
		return
	}
	defer a.Close()
	if a.Status != http.StatusSwitchingProtocols {
		// What the client sent behind its request was not checked for framing,
		// since it might have been another protocol's.
		f.w.Header()["Connection"] = []string{"close"}
		f.writeResponse(a)
		return
	}
	f.res.Status, f.res.Streamed, f.res.Upstream = a.Status, true, a.Address()
	up, protocol, ok := a.Upgraded()
	if !ok || !offered(f.r.Upgrade, protocol) {
		f.failed(upstream.ErrMalformed)
		return
	}
	if f.Accept != nil && !f.Accept(a.Status) {
		f.res.Refused = true
		return
	}
	if f.Tap != nil {
		f.Tap.ResponseHead(a.Status, a.Header())
	}
	f.join(a, up, protocol)
	f.res.Latency = time.Since(f.started)
}

// offered reports whether each protocol that an upstream changes to is one that the client
// has named (RFC 9110, section 7.8).
func offered(named string, to []string) bool {
	for _, list := range to {
		for protocol := range strings.SplitSeq(list, ",") {
			if !httpfield.HasToken([]string{named}, strings.Trim(protocol, " \t")) {
				return false
			}
		}
	}
	return len(to) > 0
}

func (f *forwarding) join(a *upstream.Response, up io.ReadWriteCloser, protocol []string) {
	client, brw, err := http.NewResponseController(f.w).Hijack()
	if err != nil {
		f.failed(errors.Join(errors.New("take over the client's connection"), err))
		return
	}
	defer client.Close()
	f.res.Wrote, f.res.Sent = true, a.Status
	if err := client.SetDeadline(time.Time{}); err != nil {
		f.res.Failure, f.res.Detail = whittle.FailedCanceled, err.Error()
		return
	}
	h := http.Header(a.Header())
	h["Connection"] = []string{"Upgrade"}
	h["Upgrade"] = protocol
	resp := http.Response{StatusCode: a.Status, ProtoMajor: 1, ProtoMinor: 1, Header: h}
	if err := resp.Write(client); err != nil {
		f.res.Failure, f.res.Detail = whittle.FailedCanceled, err.Error()
		return
	}
	t := &tunnel{client: client, up: up, idle: f.p.UpgradeIdle}
	if !f.p.upgrades.Add(t) {
		return
	}
	defer f.p.upgrades.Remove(t)
	t.run(brw)
	f.res.In, f.res.Out = t.in.Load(), t.out.Load()
}

// buffers are for what goes through a tunnel.
var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// tunnel joins two connections byte by byte.
type tunnel struct {
	client net.Conn
	up     io.ReadWriteCloser
	idle   time.Duration
	last   atomic.Int64 // when either side last said something, in Unix ns
	once   sync.Once
	// in and out are bytes from the client and to it.
	in, out atomic.Int64

	mu    sync.Mutex
	watch *time.Timer // guarded by mu: its first run may precede run's keeping it
}

func (t *tunnel) close() {
	t.once.Do(func() {
		_ = t.client.Close() // both copies see it
		_ = t.up.Close()
	})
}

// run returns when both directions have ended. early may hold what the client
// sent behind its request.
func (t *tunnel) run(early io.Reader) {
	defer t.close()
	t.last.Store(time.Now().UnixNano())
	watch := time.AfterFunc(t.idle, t.check)
	t.mu.Lock()
	t.watch = watch
	t.mu.Unlock()
	defer watch.Stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.copy(t.up, early, &t.in)
	}()
	t.copy(t.client, t.up, &t.out)
	<-done
}

// check closes a tunnel that was silent for too long, or looks again when it
// will have been.
func (t *tunnel) check() {
	left := t.idle - time.Since(time.Unix(0, t.last.Load()))
	if left <= 0 {
		t.close()
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watch.Reset(left)
}

// copy moves one direction until its end, which it passes to the other side by
// closing only that direction.
func (t *tunnel) copy(dst io.Writer, src io.Reader, count *atomic.Int64) {
	buf := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buf)
	for {
		n, err := src.Read(buf[:])
		if n > 0 {
			t.last.Store(time.Now().UnixNano())
			count.Add(int64(n))
			if _, werr := dst.Write(buf[:n]); werr != nil {
				t.close()
				return
			}
		}
		if err == nil {
			continue
		}
		if err != io.EOF || conns.CloseWrite(dst) != nil {
			t.close()
		}
		return
	}
}
