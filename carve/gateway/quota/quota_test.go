package quota

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"time"
)

func TestAddressesAreClients(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1", "192.0.2.1", true},
		{"192.0.2.1", "192.0.2.2", false},
		{"192.0.2.1", "::ffff:192.0.2.1", true},
		{"[2001:db8::1]", "2001:db8::1", true},
		{"2001:db8::1", "2001:db8:0:0:ffff::2", true},
		{"2001:db8:0:1::1", "2001:db8:0:2::1", false},
		{"[fe80::1%eth0]", "[fe80::1%eth1]", true},
		{"::1", "127.0.0.1", false},
		{"", "127.0.0.1", false},
		{"@", "@", true},
	} {
		if same := OfAddress(tt.a) == OfAddress(tt.b); same != tt.same {
			t.Errorf("%q and %q are one client: %v", tt.a, tt.b, same)
		}
	}
	if OfAddress("192.0.2.1") != OfIP(netip.MustParseAddr("::ffff:192.0.2.1")) {
		t.Error("an address that was read is another client")
	}
}

func TestCountIsExact(t *testing.T) {
	var c Count
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			k := Key(i % 4)
			for range 500 {
				if c.Enter(k, 3) {
					c.Leave(k)
				}
			}
		})
	}
	all.Wait()
	for k := range Key(4) {
		for i := range 4 {
			if c.Enter(k, 3) != (i < 3) {
				t.Errorf("client %d, entry %d", k, i)
			}
		}
		for range 3 {
			c.Leave(k)
		}
	}
	for i := range c.shards {
		if n := len(c.shards[i].n); n > 0 {
			t.Errorf("%d clients that have nothing are remembered", n)
		}
	}
}

// TestRateIsATokenBucket holds Take to a bucket that is counted token by token.
func TestRateIsATokenBucket(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		perSecond, burst := []float64{0.5, 1, 10, 1000}[rng.IntN(4)], 1+rng.IntN(5)
		r := NewRate(perSecond, burst)
		now := time.Unix(1, 0)
		tokens := float64(burst)
		for i := range 300 {
			gap := time.Duration(rng.ExpFloat64() / perSecond * float64(time.Second))
			now = now.Add(gap)
			tokens = min(tokens+gap.Seconds()*perSecond, float64(burst))
			wait, ok := r.Take(7, now)
			if want := tokens >= 1; ok != want && (tokens < .999 || tokens > 1.001) {
				t.Fatalf("seed %d, request %d: admitted %v with %v tokens", seed, i, ok, tokens)
			}
			if ok {
				tokens--
			} else if due := (1 - tokens) / perSecond; wait.Seconds() < due*.99 || wait.Seconds() > due*1.01+1e-6 {
				t.Fatalf("seed %d, request %d: to wait %v with %v tokens", seed, i, wait, tokens)
			}
			if _, ok := r.Take(Key(1000+i), now); !ok {
				t.Fatalf("seed %d: another client is refused", seed)
			}
		}
	}
}

// TestRateForgets: however many clients come, so many are remembered, and those
// that come again and again stay refused nearly always.
func TestRateForgets(t *testing.T) {
	r := NewRate(1, 1)
	now := time.Unix(1, 0)
	admitted := 0
	for i := range 3 * shards * maxClients {
		r.Take(OfName(fmt.Sprint(i)), now)
		if i%100 == 0 {
			if _, ok := r.Take(7, now); ok {
				admitted++
			}
		}
	}
	for i := range r.shards {
		if n := len(r.shards[i].full); n > maxClients {
			t.Errorf("%d clients are remembered", n)
		}
	}
	if admitted > 20 {
		t.Errorf("a client was forgotten %d times", admitted)
	}
}
