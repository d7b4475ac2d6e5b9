package family

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"whittle"
)

func count() *Family {
	return &Family{
		Name:  "count", // random by nature: the sum of n draws
		Route: "match: POST /Count\n    safe: true\n    compare: {kind: statistical, value: number in the body, per: request.times}",
		Request: func(r *rand.Rand, _ uint64) whittle.Request {
			times := []int{1_000, 10_000, 100_000, 150_000, 250_000, 1_000_000}[r.IntN(6)]
			return post("/Count", JSONType, fmt.Sprintf(`{"times":%d}`, times))
		},
		Monolith: countMonolith, Latency: 10 * time.Millisecond,
		Places: []Place{{Kind: Count, In: Line, Path: "Counted to "}},
	}
}

// The draws are Math.round(Math.random()*100): 0 to 100, the two ends half as
// likely as the others. A sum of many is drawn as a normal number, whose error
// is far below the margin at 1,000 draws.
const (
	drawMean     = 50.0
	drawVariance = 100*100/12.0 + 1/6.0
)

func countMonolith(w *World, q *whittle.Request) whittle.Response {
	var in struct {
		Times float64 `json:"times"`
	}
	if json.Unmarshal(q.Body, &in) != nil || in.Times < 1 {
		return respond(400, textType, "how often?\n")
	}
	sum := math.Round(in.Times*drawMean + math.Sqrt(in.Times*drawVariance)*w.Rand.NormFloat64())
	return respond(200, htmlType, "Counted to "+strconv.FormatFloat(sum, 'f', 0, 64)+" \n")
}

// Orders is a table that both sides write to.
type Orders struct {
	mu sync.Mutex // guards the following
	// at is a key's position among its customer's orders.
	at map[string]int
	of map[uint64]int
}

// NewOrders makes an empty table.
func NewOrders() *Orders { return &Orders{at: map[string]int{}, of: map[uint64]int{}} }

// Place keeps an order under its key and gives its position among the
// customer's. A key that is there already has the position that it had.
func (o *Orders) Place(key string, customer uint64) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n, ok := o.at[key]; ok {
		return n
	}
	o.of[customer]++
	o.at[key] = o.of[customer]
	return o.at[key]
}

// Insert is Place by a program that does not look for the key.
func (o *Orders) Insert(customer uint64) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.of[customer]++
	return o.of[customer]
}

func orders() *Family {
	return &Family{
		Name:  "orders", // writes that are idempotent by their key
		Route: "match: POST /orders\n    safe: true",
		Request: func(r *rand.Rand, user uint64) whittle.Request {
			return post("/orders", JSONType, fmt.Sprintf(`{"key":"%016x","customer":%d,"sku":%d,"quantity":%d}`, r.Uint64(), user, r.IntN(150), r.IntN(6)))
		},
		Monolith: ordersMonolith, Latency: 18 * time.Millisecond,
		Places: []Place{
			{Kind: Count, Path: "position"},
			{Kind: Money, Path: "amount"},
			{Kind: Ref, Path: "order"},
			{Kind: Enum, Path: "state"},
			{Kind: Text, Path: "title"},
			{Kind: Flag, Path: "gift"},
			{Kind: Header, In: InHead, Path: "Location"},
		},
	}
}

func ordersMonolith(w *World, q *whittle.Request) whittle.Response {
	var in struct {
		Key      string `json:"key"`
		Customer uint64 `json:"customer"`
		SKU      uint64 `json:"sku"`
		Quantity int64  `json:"quantity"`
	}
	switch {
	case json.Unmarshal(q.Body, &in) != nil:
		return respond(400, JSONType, `{"error":"not JSON"}`)
	case in.Quantity == 0:
		return respond(409, JSONType, `{"error":"nothing ordered"}`)
	}
	state := "accepted"
	if in.Quantity > 4 {
		state = "on_hold"
	}
	return respondJSON(201, object{
		"order": "ord_" + in.Key[:12], "position": w.Orders.Place(in.Key, in.Customer), "title": title(in.SKU), "amount": fixed(cents(in.SKU)*in.Quantity, 2),
		"state": state, "gift": in.SKU%3 == 0,
	}, "Location", "/orders/ord_"+in.Key[:12])
}
