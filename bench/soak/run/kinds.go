package run

import (
	"fmt"
	"path/filepath"

	"whittle/bench/soak/client"
	"whittle/bench/soak/plan"
)

// kind is one kind of client, with as many users of it as a run has.
type kind struct {
	name string
	// gateway is whose users they are; empty: the monolith's own, for comparison.
	gateway string
	asks    plan.Client
	// batch is how many requests a user has under way at once over one connection.
	batch int
	// users of the kind, made once.
	users []client.User
}

// everyWay is what a client over HTTP/1.1 asks, mostly short reads.
func everyWay(more ...plan.Way) []plan.Way {
	ways := []plan.Way{plan.Head, plan.Post, plan.Post, plan.Post, plan.Chunked}
	for range 14 {
		ways = append(ways, plan.Get)
	}
	return append(ways, more...)
}

const (
	longest = 10 << 20
	// batched is the depth of a pipeline.
	batched = 6
)

// kinds are all kinds of a run; many scales their numbers of users.
func (r *soak) kinds(many int) []*kind {
	plain, secure, calls := r.gateways[0], r.gateways[1], r.gateways[2]
	all := plan.Client{Ways: everyWay(plan.Expect), Largest: longest}
	streams := plan.Client{Ways: []plan.Way{plan.Events}}
	short := plan.Client{Ways: []plan.Way{plan.Get, plan.Get, plan.Get, plan.Head, plan.Post}, Calm: true, Largest: 2000}
	version2 := plan.Client{Ways: everyWay(), Largest: longest}
	sockets := plan.Client{Ways: []plan.Way{plan.Upgrade}}
	called := plan.Client{Ways: []plan.Way{plan.Call, plan.Call, plan.CallStream}, Largest: 8 << 10}

	http1 := func(u client.HTTP1) func(string) client.User {
		return func(name string) client.User { u := u; u.Name = name; return &u }
	}
	tls1 := client.HTTP1{Addr: secure.addr, TLS: r.trust}
	h2, prior := &client.HTTP2{Addr: secure.addr, TLS: r.trust}, &client.HTTP2{Addr: plain.addr}
	channel := &client.Calls{Addr: calls.addr}
	direct := client.HTTP1{Addr: r.monolith.addr, Direct: true}
	fresh, leaves, directFresh, tlsFresh := client.HTTP1{Addr: plain.addr, Fresh: true}, client.HTTP1{Addr: plain.addr, Leaves: true}, direct, tls1
	directFresh.Fresh, tlsFresh.Fresh = true, true

	var made []*kind
	add := func(name, gateway string, asks plan.Client, batch, users int, user func(string) client.User) {
		asks.Abrupt = r.o.Abrupt
		k := &kind{name: name, gateway: gateway, asks: asks, batch: batch}
		for i := range users * many {
			k.users = append(k.users, user(fmt.Sprintf("%s %d", name, i)))
		}
		made = append(made, k)
	}
	add("HTTP/1.1 kept", plain.name, all, 1, 6, http1(client.HTTP1{Addr: plain.addr}))
	add("HTTP/1.1 fresh", plain.name, all, 1, 1, http1(fresh))
	add("HTTP/1.1 pipelined", plain.name, short, batched, 1, http1(client.HTTP1{Addr: plain.addr}))
	add("HTTP/1.1 event streams", plain.name, streams, 1, 2, http1(client.HTTP1{Addr: plain.addr}))
	add("HTTP/1.1 leaving", plain.name, all, 1, 1, http1(leaves))
	add("HTTP/2 prior knowledge", plain.name, version2, 1, 2, prior.User)
	add("WebSocket", plain.name, sockets, 1, 1, func(name string) client.User { return &client.WebSocket{Addr: plain.addr, Name: name} })
	add("HTTP/1.1 TLS kept", secure.name, all, 1, 3, http1(tls1))
	add("HTTP/1.1 TLS fresh", secure.name, all, 1, 1, http1(tlsFresh))
	add("HTTP/2 TLS", secure.name, version2, 1, 3, h2.User)
	add("HTTP/2 event streams", secure.name, streams, 1, 1, h2.User)
	add("WebSocket TLS", secure.name, sockets, 1, 1, func(name string) client.User {
		return &client.WebSocket{Addr: secure.addr, Name: name, TLS: r.trust}
	})
	others := plan.Client{Ways: []plan.Way{plan.Get, plan.Get, plan.Get, plan.Head, plan.Post}, Largest: 64 << 10}
	if r.curl {
		ca := filepath.Join(r.dir, "cert.pem")
		add("curl HTTP/1.1", plain.name, others, 1, 1, func(name string) client.User {
			return &client.Curl{URL: "http://" + plain.addr, Name: name, Version: "--http1.1"}
		})
		add("curl HTTP/2 TLS", secure.name, others, 1, 1, func(name string) client.User {
			return &client.Curl{URL: "https://" + secure.addr, Name: name, Version: "--http2", CA: ca}
		})
	}
	if len(r.nodes) > 0 {
		add("Node HTTP/1.1", plain.name, others, 1, 1, r.nodes[0].User)
		add("Node HTTP/2 TLS", secure.name, others, 1, 1, r.nodes[1].User)
	}
	add("gRPC", calls.name, called, 1, 1, channel.User)
	add("direct kept", "", all, 1, 1, http1(direct))
	add("direct fresh", "", all, 1, 1, http1(directFresh))
	return made
}
