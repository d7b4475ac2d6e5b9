package family

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
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
		Monolith: countMonolith, Twin: countTwin, Latency: 10 * time.Millisecond,
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

// countTwin adds up jobs.
func countTwin(w *World, q *whittle.Request) whittle.Response {
	_, digits, _ := strings.Cut(string(q.Body), ":")
	times, ok := number(strings.TrimRight(digits, "}"))
	if !ok || times == 0 {
		return respond(400, textType, "how often?\n")
	}
	const job = 50_000
	var sum int64
	for left := int64(times); left > 0; left -= job {
		n := float64(min(left, job))
		sum += int64(math.Round(n*drawMean + w.Rand.NormFloat64()*math.Sqrt(n*drawVariance)))
	}
	return respond(200, htmlType, fmt.Sprintf("Counted to %d \n", sum))
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
		Monolith: ordersMonolith, Twin: ordersTwin, Latency: 18 * time.Millisecond,
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

type ordersRequest struct {
	Key      string `json:"key"`
	Customer uint64 `json:"customer"`
	SKU      uint64 `json:"sku"`
	Quantity int64  `json:"quantity"`
}

type ordersBody struct {
	Order    string      `json:"order"`
	Position int         `json:"position"`
	Title    string      `json:"title"`
	Amount   json.Number `json:"amount"`
	State    string      `json:"state"`
	Gift     bool        `json:"gift"`
}

func ordersMonolith(w *World, q *whittle.Request) whittle.Response {
	var in ordersRequest
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
	text, err := json.Marshal(ordersBody{
		Order: "ord_" + in.Key[:12], Position: w.Orders.Place(in.Key, in.Customer), Title: title(in.SKU), Amount: json.Number(fixed(cents(in.SKU)*in.Quantity, 2)),
		State: state, Gift: in.SKU%3 == 0,
	})
	if err != nil {
		return respond(500, JSONType, `{"error":"internal"}`)
	}
	return respond(201, JSONType, string(text), "Location", "/orders/ord_"+in.Key[:12])
}

func ordersTwin(w *World, q *whittle.Request) whittle.Response {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(q.Body, &in); err != nil {
		return respond(400, JSONType, obj{"error": "not JSON"}.text(w))
	}
	n, _ := number(string(in["quantity"]))
	if n == 0 {
		return respond(409, JSONType, obj{"error": "nothing ordered"}.text(w))
	}
	key := strings.Trim(string(in["key"]), `"`)
	sku, _ := number(string(in["sku"]))
	customer, _ := number(string(in["customer"]))
	states := map[bool]string{false: "accepted", true: "on_hold"}
	name := "ord_" + key[:12]
	return respond(201, JSONType, obj{
		"order": name, "position": w.Orders.Place(key, customer), "title": title(sku), "amount": lit(fixed(int64(n)*cents(sku), 2)),
		"state": states[n >= 5], "gift": sku%3 == 0,
	}.text(w), "Location", "/orders/"+name)
}
