package run

import (
	"fmt"

	"whittle/e2e/soak/client"
	"whittle/e2e/soak/plan"
)

// kind is one kind of client, with as many users of it as a run has.
type kind struct {
	name string
	// gateway is whose users they are; empty: the monolith's own, for comparison.
	gateway string
	asks    plan.Client
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
)

// kinds are all kinds of a run; many scales their numbers of users.
func (r *soak) kinds(many int) []*kind {
	plain, secure := r.gateways[0], r.gateways[1]
	all := plan.Client{Ways: everyWay(plan.Expect), Largest: longest}
	streams := plan.Client{Ways: []plan.Way{plan.Events}}
	version2 := plan.Client{Ways: everyWay(), Largest: longest}

	http1 := func(u client.HTTP1) func(string) client.User {
		return func(name string) client.User { u := u; u.Name = name; return &u }
	}
	tls1 := client.HTTP1{Addr: secure.addr, TLS: r.trust}
	h2, prior := &client.HTTP2{Addr: secure.addr, TLS: r.trust}, &client.HTTP2{Addr: plain.addr}
	direct := client.HTTP1{Addr: r.monolith.addr, Direct: true}
	fresh, leaves, directFresh, tlsFresh := client.HTTP1{Addr: plain.addr, Fresh: true}, client.HTTP1{Addr: plain.addr, Leaves: true}, direct, tls1
	directFresh.Fresh, tlsFresh.Fresh = true, true

	var made []*kind
	add := func(name, gateway string, asks plan.Client, users int, user func(string) client.User) {
		k := &kind{name: name, gateway: gateway, asks: asks}
		for i := range users * many {
			k.users = append(k.users, user(fmt.Sprintf("%s %d", name, i)))
		}
		made = append(made, k)
	}
	add("HTTP/1.1 kept", plain.name, all, 6, http1(client.HTTP1{Addr: plain.addr}))
	add("HTTP/1.1 fresh", plain.name, all, 1, http1(fresh))
	add("HTTP/1.1 event streams", plain.name, streams, 2, http1(client.HTTP1{Addr: plain.addr}))
	add("HTTP/1.1 leaving", plain.name, all, 1, http1(leaves))
	add("HTTP/2 prior knowledge", plain.name, version2, 2, prior.User)
	add("HTTP/1.1 TLS kept", secure.name, all, 3, http1(tls1))
	add("HTTP/1.1 TLS fresh", secure.name, all, 1, http1(tlsFresh))
	add("HTTP/2 TLS", secure.name, version2, 3, h2.User)
	add("HTTP/2 event streams", secure.name, streams, 1, h2.User)
	add("direct kept", "", all, 1, http1(direct))
	add("direct fresh", "", all, 1, http1(directFresh))
	return made
}
