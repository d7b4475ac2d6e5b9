package part

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
)

// link is a way to a server that can keep what goes along it, and lose it.
type link struct {
	address, to string
	work        sync.WaitGroup

	mu          sync.Mutex // guards the following
	there, back bool       // what goes to the server, and what comes back, is kept
	open        []net.Conn
}

func newLink(t *testing.T, url string) *link {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k := &link{address: l.Addr().String(), to: strings.TrimPrefix(url, "nats://")}
	k.work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			k.pass(c)
		}
	})
	t.Cleanup(func() { l.Close(); k.lose(); k.work.Wait() })
	return k
}

func (k *link) pass(client net.Conn) {
	server, err := net.Dial("tcp", k.to)
	if err != nil {
		client.Close()
		return
	}
	k.mu.Lock()
	k.open = append(k.open, client, server)
	k.mu.Unlock()
	k.work.Go(func() { k.copy(server, client, &k.there) })
	k.work.Go(func() { k.copy(client, server, &k.back) })
}

// copy passes on what comes, unless it is kept.
func (k *link) copy(to, from net.Conn, kept *bool) {
	defer to.Close()
	b := make([]byte, 1<<16)
	for {
		n, err := from.Read(b)
		k.mu.Lock()
		keep := *kept
		k.mu.Unlock()
		if err == nil && keep {
			_, err = io.Copy(io.Discard, from) // until it is closed
		}
		if err != nil {
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

// keep has what goes along it go no further.
func (k *link) keep(there, back bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.there, k.back = there, back
}

// lose ends every connection, with what was kept.
func (k *link) lose() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.there, k.back = false, false
	for _, c := range k.open {
		c.Close()
	}
	k.open = nil
}

// TestUnacknowledged: an exchange of which the servers do not say whether they have it is
// sent again until they do, and counts once, whether they had it or not.
func TestUnacknowledged(t *testing.T) {
	url := serve(t)
	a := join(t, url, "a", routes("http://c"))
	until(t, "a leads", func() bool { return leads(a) })
	k := newLink(t, url)
	b := join(t, "nats://"+k.address, "b", routes("http://c"))
	b.ask(t, 1)
	until(t, "one is judged", func() bool { return ledger(a).Compared == 1 })
	b.sender.patience = 200 * time.Millisecond
	for i, lost := range []struct{ there, back bool }{{there: true}, {back: true}} {
		until(t, "b is connected", b.member.IsConnected)
		k.keep(lost.there, lost.back)
		b.mu.Lock()
		b.counts.Ledger.Total++
		b.counts.Ledger.Pending++
		b.counts.Sent++
		b.mu.Unlock()
		x := b.exchange(i + 1)
		o := b.publish(b.table.Load().routes[name], b.counts.Run, x)
		if !o.Counted || o.Ask {
			t.Fatalf("%+v: %+v", lost, o)
		}
		k.lose()
		n := int64(i + 2)
		until(t, "it is judged", func() bool { l := ledger(a); return l.Compared == n && l.Total == n && l.Unknown == 0 })
	}
	until(t, "none is to be sent again", func() bool {
		b.settling.mu.Lock()
		defer b.settling.mu.Unlock()
		_, ok := b.settling.of.Next(b.member.Instant(time.Now()))
		return !ok
	})
	if n := stored(t, url); n != 3 {
		t.Errorf("the stream has %d messages of 3 exchanges", n)
	}
}

// stored is how many messages the stream of exchanges has.
func stored(t *testing.T, url string) uint64 {
	t.Helper()
	s, err := jetStream(t, url).Stream(t.Context(), "whittle_test_evidence")
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.Msgs
}

// jetStream is a client of its own, until the test ends.
func jetStream(t *testing.T, url string) natsjs.JetStream {
	t.Helper()
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := natsjs.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}
