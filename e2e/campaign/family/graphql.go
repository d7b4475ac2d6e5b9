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
			in := map[string]any{"query": queryViewer, "variables": map[string]any{"id": fmt.Sprint(user), "note": nil}}
			switch r.IntN(10) {
			case 0:
				in = map[string]any{"query": querySearch, "variables": map[string]any{"id": "none"}}
			case 1, 2, 3:
				in = map[string]any{"query": querySearch, "variables": map[string]any{"id": fmt.Sprint(r.IntN(300))}}
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

type graphqlRequest struct {
	Query     string `json:"query"`
	Variables struct {
		ID string `json:"id"`
	} `json:"variables"`
}

func graphqlMonolith(w *World, q *whittle.Request) whittle.Response {
	var in graphqlRequest
	if json.Unmarshal(q.Body, &in) != nil {
		return respond(400, JSONType, `{"errors":[{"message":"not JSON"}]}`)
	}
	id, ok := number(in.Variables.ID)
	out := map[string]any{}
	cost := "3"
	switch {
	case in.Query == queryViewer && ok:
		out["data"], cost = map[string]any{"viewer": viewer(id)}, "12"
	case in.Query == querySearch && ok:
		out["data"] = map[string]any{"node": map[string]any{"id": in.Variables.ID, "title": title(id), "price": json.Number(fixed(cents(id), 2))}}
	default:
		out["data"] = map[string]any{"node": nil}
		out["errors"] = []any{map[string]any{"message": "no such node", "path": []string{"node"}}}
	}
	text, err := json.Marshal(out)
	if err != nil {
		return respond(500, JSONType, `{"errors":[{"message":"internal"}]}`)
	}
	return respond(200, JSONType, string(text), "X-Query-Cost", cost)
}

type viewerBody struct {
	ID       string       `json:"id"`
	Name     string       `json:"name"`
	Plan     string       `json:"plan"`
	Phone    *string      `json:"phone"`
	Visits   int          `json:"visits"`
	Verified bool         `json:"verified"`
	Since    time.Time    `json:"since"`
	Orders   []viewerItem `json:"orders"`
}

type viewerItem struct {
	ID    string      `json:"id"`
	Total json.Number `json:"total"`
}

func viewer(id uint64) viewerBody {
	v := viewerBody{
		ID: fmt.Sprint(id), Name: fullName(id), Plan: of(plans, id, "plan"), Visits: row(id, "visits", 5000), Verified: row(id, "verified", 4) > 0,
		Since: epoch.Add(time.Duration(row(id, "since", 40_000_000)) * time.Second), Orders: []viewerItem{},
	}
	if row(id, "has phone", 2) == 1 {
		phone := fmt.Sprintf("+46 70 %07d", row(id, "phone", 1e7))
		v.Phone = &phone
	}
	for i := range row(id, "orders", 5) {
		key := id<<4 + uint64(i)
		v.Orders = append(v.Orders, viewerItem{fmt.Sprint("o", key), json.Number(fixed(cents(key), 2))})
	}
	return v
}
