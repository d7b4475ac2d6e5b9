package gateway

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"

	"whittle"
)

// as is a client with an address of its own on this machine, over HTTP/1.1 or HTTP/2.
func as(t *testing.T, address string, http2 bool) *http.Client {
	t.Helper()
	var p http.Protocols
	p.SetHTTP1(!http2)
	p.SetUnencryptedHTTP2(http2)
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	tr := &http.Transport{DialContext: d.DialContext, Protocols: &p, MaxConnsPerHost: 1}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: time.Minute}
}

// TestARefusedRequestTakesNothing: what a route's rate refuses leaves the client all that
// it may have of other routes.
func TestARefusedRequestTakesNothing(t *testing.T) {
	u := upstreamAt(hanging(t, false, func(http.ResponseWriter, *http.Request, <-chan struct{}) {}).URL)
	for _, nethttp := range []bool{false, true} {
		ls, urls := facing(t, 1)
		behind(t, ls[0], Options{
			Monolith: u, NetHTTP: nethttp, Clients: whittle.Clients{Rate: whittle.Rate{PerSecond: 0.001, Burst: 5}},
			Routes: []whittle.Route{{Name: "/a", Match: whittle.Match{Pattern: "/a"}, Rate: whittle.Rate{PerSecond: 0.001, Burst: 1}}},
		})
		var got []int
		for _, path := range []string{"/a", "/a", "/a", "/b", "/b", "/b", "/b", "/b"} {
			status, _ := ask(t, http.MethodGet, urls[0]+path, "")
			got = append(got, status)
		}
		if want := []int{200, 429, 429, 200, 200, 200, 200, 429}; !slices.Equal(got, want) {
			t.Errorf("by net/http %v: got %v, want %v", nethttp, got, want)
		}
	}
}

// TestRates: above its rate a client gets 429 and when to come again, others are served;
// a dry run only counts; a reload keeps what was counted.
func TestRates(t *testing.T) {
	u := upstreamAt(hanging(t, false, func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
		_, _ = io.WriteString(w, "served")
	}).URL)
	slow := whittle.Rate{PerSecond: 0.001, Burst: 3}
	dry := slow
	dry.DryRun = true
	route := func(r whittle.Rate) whittle.Route {
		return whittle.Route{Name: "/a", Match: whittle.Match{Pattern: "/a"}, Rate: r}
	}
	for _, tt := range []struct {
		name    string
		clients whittle.Clients
		route   whittle.Rate
		// other is what makes a request another client's: a header and its value, or an
		// address.
		other  [2]string
		trust  bool
		served int // of five
		counts string
	}{
		{name: "of all routes", clients: whittle.Clients{Rate: slow}, other: [2]string{"", "127.0.0.2"}, served: 3, counts: `whittle_client_limit_total{bound="rate",dry_run="false",route=""} 2`},
		{name: "of one route", route: slow, other: [2]string{"", "127.0.0.2"}, served: 3, counts: `whittle_client_limit_total{bound="rate",dry_run="false",route="/a"} 2`},
		{name: "of both", clients: whittle.Clients{Rate: whittle.Rate{PerSecond: 0.001, Burst: 2}}, route: slow, other: [2]string{"", "127.0.0.2"}, served: 2},
		{name: "dry run", clients: whittle.Clients{Rate: dry}, other: [2]string{"", "127.0.0.2"}, served: 5, counts: `whittle_client_limit_total{bound="rate",dry_run="true",route=""} 2`},
		{name: "by a header", clients: whittle.Clients{By: whittle.Sticky{By: "header", Name: "x-key"}, Rate: slow}, other: [2]string{"X-Key", "b"}, served: 3},
		{name: "by a cookie", clients: whittle.Clients{By: whittle.Sticky{By: "cookie", Name: "sid"}, Rate: slow}, other: [2]string{"Cookie", "sid=b"}, served: 3},
		{name: "behind a proxy", clients: whittle.Clients{Rate: slow}, trust: true, other: [2]string{"X-Forwarded-For", "192.0.2.9"}, served: 3},
		{name: "behind a proxy that is not named", clients: whittle.Clients{Rate: slow}, other: [2]string{"", "127.0.0.2"}, served: 3},
	} {
		for _, way := range []string{"fast path", "net/http", "HTTP/2"} {
			t.Run(tt.name+", "+way, func(t *testing.T) {
				o := Options{Monolith: u, NetHTTP: way == "net/http", Clients: tt.clients, Routes: []whittle.Route{route(tt.route)}}
				if tt.trust {
					o.Trusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
				}
				ls, urls := facing(t, 1)
				g := behind(t, ls[0], o)
				send := func(c *http.Client, n int, header ...string) (statuses []int) {
					for range n {
						req, _ := http.NewRequest(http.MethodGet, urls[0]+"/a", http.NoBody)
						if len(header) > 1 && header[0] != "" {
							req.Header.Set(header[0], header[1])
						} else if tt.name == "behind a proxy that is not named" {
							req.Header.Set("X-Forwarded-For", fmt.Sprint("192.0.2.", len(statuses))) // made up
						}
						resp, err := c.Do(req)
						if err != nil {
							t.Fatal(err)
						}
						_, _ = io.Copy(io.Discard, resp.Body)
						_ = resp.Body.Close()
						if again := resp.Header.Get("Retry-After"); (resp.StatusCode == http.StatusTooManyRequests) != (again != "" && again != "0") {
							t.Errorf("%d with Retry-After %q", resp.StatusCode, again)
						}
						statuses = append(statuses, resp.StatusCode)
					}
					return statuses
				}
				c := as(t, "127.0.0.1", way == "HTTP/2")
				got := send(c, 3)
				if err := g.Reload(u, []whittle.Route{route(tt.route)}); err != nil {
					t.Fatal(err)
				}
				g.Limit(tt.clients)
				got = append(got, send(c, 2)...)
				want := slices.Repeat([]int{200}, tt.served)
				want = append(want, slices.Repeat([]int{429}, 5-tt.served)...)
				if !slices.Equal(got, want) {
					t.Errorf("got %v", got)
				}
				other := "127.0.0.1"
				if tt.other[0] == "" {
					other = tt.other[1]
				}
				if got := send(as(t, other, way == "HTTP/2"), 1, tt.other[0], tt.other[1]); got[0] != 200 {
					t.Errorf("another client got %v", got)
				}
				if tt.counts != "" {
					text, err := testutil.CollectAndFormat(g, expfmt.TypeTextPlain, "whittle_client_limit_total")
					if err != nil || !strings.Contains(string(text), tt.counts) {
						t.Errorf("%v, the metrics say\n%s", err, text)
					}
				}
				g.Limit(whittle.Clients{})
				if err := g.Reload(u, nil); err != nil {
					t.Fatal(err)
				}
				if got := send(c, 1); got[0] != 200 {
					t.Errorf("without bounds the client got %v", got)
				}
			})
		}
	}
}

// TestRequestsOfOneClient: a client has as many requests under way as it may have, by
// whichever protocol, and a slot again when one has ended.
func TestRequestsOfOneClient(t *testing.T) {
	for _, way := range []string{"fast path", "net/http", "HTTP/2"} {
		t.Run(way, func(t *testing.T) {
			entered, release := make(chan struct{}, 10), make(chan struct{})
			u := hanging(t, false, func(w http.ResponseWriter, r *http.Request, end <-chan struct{}) {
				if r.URL.Path == "/hang" {
					entered <- struct{}{}
					select {
					case <-release:
					case <-end:
					}
				}
			})
			ls, urls := facing(t, 1)
			behind(t, ls[0], Options{Monolith: upstreamAt(u.URL), NetHTTP: way == "net/http", Clients: whittle.Clients{Connections: 100, Requests: 3}})
			get := func(address, path string) int {
				resp, err := as(t, address, way == "HTTP/2").Get(urls[0] + path)
				if err != nil {
					t.Error(err)
					return 0
				}
				_ = resp.Body.Close()
				return resp.StatusCode
			}
			ends := make(chan int)
			for range 3 {
				go func() { ends <- get("127.0.0.1", "/hang") }()
				<-entered
			}
			if got := get("127.0.0.1", "/"); got != 429 {
				t.Errorf("a fourth request got %d", got)
			}
			if got := get("127.0.0.2", "/"); got != 200 {
				t.Errorf("another client got %d", got)
			}
			release <- struct{}{}
			if got := <-ends; got != 200 {
				t.Errorf("the first that ended got %d", got)
			}
			waits(t, time.Minute, func() bool { return get("127.0.0.1", "/") == 200 })
			close(release)
			for range 2 {
				<-ends
			}
		})
	}
}

// TestConnectionsOfOneClient: one address has as many connections as it may have;
// further ones are closed, those of others are not, and a proxy that is trusted has any
// number.
func TestConnectionsOfOneClient(t *testing.T) {
	u := upstreamAt(hanging(t, false, func(http.ResponseWriter, *http.Request, <-chan struct{}) {}).URL)
	for _, trusted := range []bool{false, true} {
		t.Run(fmt.Sprintf("trusted %v", trusted), func(t *testing.T) {
			o := Options{Monolith: u, Clients: whittle.Clients{Connections: 3}}
			if trusted {
				o.Trusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
			}
			ls, urls := facing(t, 1)
			g := behind(t, ls[0], o)
			// open reports whether a new connection is served, and keeps it.
			open := func(address string) (c net.Conn, served bool) {
				d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
				c, err := d.Dial("tcp", strings.TrimPrefix(urls[0], "http://"))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { c.Close() })
				_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
				n, _ := c.Read(make([]byte, 1))
				return c, n == 1
			}
			var first net.Conn
			for i := range 5 {
				c, served := open("127.0.0.1")
				if served != (i < 3 || trusted) {
					t.Errorf("connection %d is served: %v", i, served)
				}
				if i == 0 {
					first = c
				}
			}
			if _, served := open("127.0.0.2"); !served {
				t.Error("another client is not served")
			}
			if n := g.clients.Crowded(); trusted != (n == 0) {
				t.Errorf("%d were closed", n)
			}
			_ = first.Close()
			waits(t, time.Minute, func() bool {
				_, served := open("127.0.0.1")
				return served
			})
		})
	}
}
