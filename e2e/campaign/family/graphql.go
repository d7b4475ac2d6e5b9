package family

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"whittle"
)

const (
	queryViewer = `query Viewer($id: ID!, $note: String) { viewer(id: $id, note: $note) { id name orders { id total } } }`
	querySearch = `query Find($id: ID!) { node(id: $id) { id title price } }`
)

func graphql() *Family {
	return &Family{
		Name:  "graphql", // two operations at one path, nulls, errors with status 200
		Route: "match: POST /graphql\n    safe: true",
		Request: func(r *rand.Rand, user uint64) whittle.Request {
			in := object{"query": queryViewer, "variables": object{"id": fmt.Sprint(user), "note": nil}}
			switch r.IntN(10) {
			case 0:
				in = object{"query": querySearch, "variables": object{"id": "none"}}
			case 1, 2, 3:
				in = object{"query": querySearch, "variables": object{"id": fmt.Sprint(r.IntN(300))}}
			}
			body, _ := json.Marshal(in) // strings cannot fail
			return post("/graphql", JSONType, string(body))
		},
		Monolith: graphqlMonolith, Latency: 25 * time.Millisecond,
		Places: []Place{
			{Kind: Text, Path: "data.viewer.name"},
			{Kind: Ref, Path: "data.viewer.id"},
			{Kind: Money, Path: "data.viewer.orders.*.total"},
			{Kind: List, Path: "data.viewer.orders"},
			{Kind: Count, Path: "data.viewer.visits"},
			{Kind: Enum, Path: "data.viewer.plan"},
			{Kind: Nullable, Path: "data.viewer.phone"},
			{Kind: Time, Path: "data.viewer.since"},
			{Kind: Flag, Path: "data.viewer.verified"},
			{Kind: Header, In: InHead, Path: "X-Query-Cost"},
		},
	}
}

func graphqlMonolith(w *World, q *whittle.Request) whittle.Response {
	var in struct {
		Query     string `json:"query"`
		Variables struct {
			ID string `json:"id"`
		} `json:"variables"`
	}
	if json.Unmarshal(q.Body, &in) != nil {
		return respond(400, JSONType, `{"errors":[{"message":"not JSON"}]}`)
	}
	id, ok := number(in.Variables.ID)
	switch {
	case in.Query == queryViewer && ok:
		return respondJSON(200, object{"data": object{"viewer": viewer(id)}}, "X-Query-Cost", "12")
	case in.Query == querySearch && ok:
		node := object{"id": in.Variables.ID, "title": title(id), "price": fixed(cents(id), 2)}
		return respondJSON(200, object{"data": object{"node": node}}, "X-Query-Cost", "3")
	}
	missing := object{"message": "no such node", "path": []string{"node"}}
	return respondJSON(200, object{"data": object{"node": nil}, "errors": []object{missing}}, "X-Query-Cost", "3")
}

func viewer(id uint64) object {
	orders := []object{}
	for i := range row(id, "orders", 5) {
		key := id<<4 + uint64(i)
		orders = append(orders, object{"id": fmt.Sprint("o", key), "total": fixed(cents(key), 2)})
	}
	return object{
		"id": fmt.Sprint(id), "name": fullName(id), "plan": of(plans, id, "plan"), "visits": row(id, "visits", 5000), "verified": row(id, "verified", 4) > 0,
		"phone": nullable(row(id, "has phone", 2) == 1, fmt.Sprintf("+46 70 %07d", row(id, "phone", 1e7))),
		"since": epoch.Add(time.Duration(row(id, "since", 40_000_000)) * time.Second), "orders": orders,
	}
}
