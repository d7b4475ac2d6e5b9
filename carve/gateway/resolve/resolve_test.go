package resolve

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"whittle/carve/gateway/resolve/dnstest"
	"whittle/internal/fatal"
)

// TestLookup holds what comes of the responses that DNS servers give. Whoever reads that a name was
// not found reads where.
func TestLookup(t *testing.T) {
	s := dnstest.New(t)
	s.Set("one.example", 60, "127.0.0.1")
	s.Set("many.example", 5, "127.0.0.3", "127.0.0.1", "127.0.0.2", "127.0.0.1")
	s.Set("six.example", 60, "::1")
	s.Set("mapped.example", 60, "::ffff:127.0.0.1")
	s.Set("briefly.example", 0, "127.0.0.1")
	s.Set("eternal.example", 1<<31-1, "127.0.0.1")
	s.Set("empty.example", 60)
	s.Alias("alias.example", 7, "one.example")
	s.Alias("short.example", 70, "many.example")
	for _, tt := range []struct {
		name string
		want []string
	}{
		{"one.example", []string{"127.0.0.1:80"}},
		{"ONE.example.", []string{"127.0.0.1:80"}},
		{"many.example", []string{"127.0.0.1:80", "127.0.0.2:80", "127.0.0.3:80"}},
		{"six.example", []string{"[::1]:80"}},
		{"mapped.example", []string{"127.0.0.1:80"}},
		{"briefly.example", []string{"127.0.0.1:80"}},
		{"eternal.example", []string{"127.0.0.1:80"}},
		{"alias.example", []string{"127.0.0.1:80"}},
		{"short.example", []string{"127.0.0.1:80", "127.0.0.2:80", "127.0.0.3:80"}},
		{"127.0.0.9", []string{"127.0.0.9:80"}},
		{"empty.example", nil},
		{"gone.example", nil},
	} {
		n := Name{Host: tt.name, Port: "80", Server: s.Address}
		if got, err := n.Lookup(t.Context()); (err != nil) != (tt.want == nil) || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		} else if err != nil && !strings.Contains(err.Error(), " on "+s.Address) {
			t.Errorf("%v, want one on %s", err, s.Address)
		}
	}
}

// TestFamiliesWithoutARouteAreLeftOut: of a name's addresses those that this machine
// has no way to are not taken, unless there are no others.
func TestFamiliesWithoutARouteAreLeftOut(t *testing.T) {
	const away = "[2001:db8::1]:80" // for documentation: routed nowhere, but by a default route
	if c, err := net.Dial("udp", away); err == nil {
		c.Close()
		fatal.Same(t, len(reachable([]string{away, "127.0.0.1:80"})), 2, "reachable")
		return
	}
	if got := reachable([]string{away, "127.0.0.1:80"}); !slices.Equal(got, []string{"127.0.0.1:80"}) {
		t.Errorf("%q", got)
	}
	if got := reachable([]string{away}); !slices.Equal(got, []string{away}) {
		t.Errorf("%q", got)
	}
}

// TestAddressesAreBounded: a name with more is no way to fill the memory.
func TestAddressesAreBounded(t *testing.T) {
	s := dnstest.New(t)
	s.Fail(dnstest.Faults{Truncate: true})
	var many []string
	for i := range MaxAddresses + 10 {
		many = append(many, net.IPv4(127, 0, byte(i>>8), byte(i)).String())
	}
	s.Set("many.example", 33, many...)
	got, err := Name{Host: "many.example", Port: "80", Server: s.Address}.Lookup(t.Context())
	if err != nil || len(got) != MaxAddresses {
		t.Errorf("%d, %v", len(got), err)
	}
}

// TestFollow: each change is reported, a lookup that
// fails is reported as that and tried again, and the end ends it.
func TestFollow(t *testing.T) {
	s := dnstest.New(t)
	s.Set("app.example", 1, "127.0.0.1")
	ctx, cancel := context.WithCancel(t.Context())
	type found struct {
		addresses []string
		err       error
	}
	came, ended := make(chan found), make(chan struct{})
	go func() {
		defer close(ended)
		Name{Host: "app.example", Port: "80", Server: s.Address}.Follow(ctx, func(addresses []string, err error) {
			came <- found{addresses, err}
		})
	}()
	if f := <-came; !slices.Equal(f.addresses, []string{"127.0.0.1:80"}) || f.err != nil {
		t.Error(f)
	}
	s.Fail(dnstest.Faults{Code: dnsmessage.RCodeServerFailure})
	if f := <-came; f.err == nil {
		t.Error(f)
	}
	s.Fail(dnstest.Faults{})
	s.Set("app.example", 3600, "127.0.0.2", "127.0.0.1")
	if f := <-came; !slices.Equal(f.addresses, []string{"127.0.0.1:80", "127.0.0.2:80"}) || f.err != nil {
		t.Error(f)
	}
	cancel()
	<-ended
}

// TestASilentServerIsGivenUp: whoever waits for a lookup can end it.
func TestASilentServerIsGivenUp(t *testing.T) {
	s := dnstest.New(t)
	s.Fail(dnstest.Faults{Silent: true})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := Name{Host: "app.example", Port: "80", Server: s.Address}.Lookup(ctx)
		done <- err
	}()
	cancel()
	if err := <-done; err == nil {
		t.Error("found")
	}
	var failed *net.DNSError
	if _, err := (Name{Host: "app.example", Port: "80", Server: nowhere(t)}).Lookup(t.Context()); !errors.As(err, &failed) {
		t.Error(err)
	}
}

// nowhere is an address at which no DNS server listens.
func nowhere(t *testing.T) string {
	p, err := net.ListenPacket("udp", "127.0.0.1:0")
	fatal.If(t, err)
	defer p.Close()
	return p.LocalAddr().String()
}
