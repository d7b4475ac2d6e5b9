package gateway

import (
	"fmt"
	"math"
	"net/http"
	"testing"

	"whittle"
	"whittle/carve/gateway/inbound"
)

// noProxy is a reader that believes no proxy.
var noProxy inbound.Reader

func request(remote string, header ...string) *http.Request {
	r := &http.Request{Method: "GET", RemoteAddr: remote, Header: http.Header{}}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

func TestPlaceReadsTheKey(t *testing.T) {
	byUser := newSplit("GET /a", whittle.Sticky{By: "header", Name: "x-user"})
	byCookie := newSplit("GET /a", whittle.Sticky{By: "cookie", Name: "sid"})
	byAddress := newSplit("GET /a", whittle.Sticky{By: "address"})
	tests := []struct {
		name  string
		s     split
		a, b  *http.Request
		same  bool
		keyed bool
	}{
		{"one user from two places", byUser, request("10.0.0.1:1", "X-User", "ann"), request("10.0.0.2:9", "X-User", "ann"), true, true},
		{"two users from one place", byUser, request("10.0.0.1:1", "X-User", "ann"), request("10.0.0.1:1", "X-User", "bob"), false, true},
		{"no header: by address", byUser, request("10.0.0.1:1"), request("10.0.0.1:2"), true, false},
		{"empty header: by address", byUser, request("10.0.0.1:1", "X-User", ""), request("10.0.0.2:1", "X-User", ""), false, false},
		{"cookie among others", byCookie, request("10.0.0.1:1", "Cookie", "a=1; sid=7; b=2"), request("10.0.0.2:1", "Cookie", `sid="7"`), true, true},
		{"cookie in a second line", byCookie, request("10.0.0.1:1", "Cookie", "a=1", "Cookie", "sid=7"), request("10.0.0.2:1", "Cookie", "sid=7"), true, true},
		{"cookie whose name only ends alike", byCookie, request("10.0.0.1:1", "Cookie", "xsid=7"), request("10.0.0.1:8", "Cookie", "xsid=8"), true, false},
		{"address of IPv6", byAddress, request("[::1]:80"), request("[::1]:81"), true, true},
		{"two addresses", byAddress, request("[::1]:80"), request("[::2]:80"), false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, keyed := placeAt(&noProxy, &tt.s, tt.a)
			b, _ := placeAt(&noProxy, &tt.s, tt.b)
			if (a == b) != tt.same || keyed != tt.keyed {
				t.Errorf("same place: %v, want %v; keyed: %v, want %v", a == b, tt.same, keyed, tt.keyed)
			}
		})
	}
}

func TestShareGrowsWithoutFlips(t *testing.T) {
	s := newSplit("GET /a", whittle.Sticky{By: "header", Name: "X-User"})
	shares := []whittle.Share{0, 1, 100, 500, 2500, 5000, 9999, whittle.All}
	const users = 50_000
	counts := make([]int, len(shares))
	for u := range users {
		p, _ := placeAt(&noProxy, &s, request("", "X-User", fmt.Sprintf("user-%d", u)))
		was := false
		for i, share := range shares {
			in := p.in(share, forShare)
			if was && !in {
				t.Fatalf("user %d left the candidate when the share rose to %d", u, share)
			}
			if was = in; in {
				counts[i]++
			}
		}
	}
	for i, share := range shares {
		want := float64(share) / 10_000
		got := float64(counts[i]) / users
		if sd := math.Sqrt(want * (1 - want) / users); math.Abs(got-want) > 5*sd {
			t.Errorf("share %d: %.4f of the users, want %.4f", share, got, want)
		}
	}
}

func TestPurposesAndRoutesAreIndependent(t *testing.T) {
	a := newSplit("GET /a", whittle.Sticky{By: "header", Name: "X-User"})
	b := newSplit("GET /b", whittle.Sticky{By: "header", Name: "X-User"})
	const users = 40_000
	var sampled, other int
	for u := range users {
		r := request("", "X-User", fmt.Sprint(u))
		p, _ := placeAt(&noProxy, &a, r)
		if !p.in(5000, forShare) {
			continue
		}
		if p.in(5000, forSample) {
			sampled++
		}
		if q, _ := placeAt(&noProxy, &b, r); q.in(5000, forShare) {
			other++
		}
	}
	for name, n := range map[string]int{"sample": sampled, "other route": other} {
		if math.Abs(float64(n)-users/4) > 5*math.Sqrt(users*0.25*0.75) {
			t.Errorf("%s: %d of %d users are in both halves, want about a quarter", name, n, users)
		}
	}
}

func TestEvenlySpreadsAShare(t *testing.T) {
	for _, share := range []whittle.Share{0, 1, 100, 2500, 9999, whittle.All} {
		n := 0
		for i := range uint64(100_000) {
			if evenly(i, share) {
				n++
			}
		}
		if want := int(share) * 10; n < want-12 || n > want+12 {
			t.Errorf("share %d: %d of 100,000 requests, want %d", share, n, want)
		}
	}
}
