package family

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"whittle"
)

// taxRates are in thousandths.
var taxRates = map[string]int64{"EUR": 190, "USD": 85, "SEK": 250}

func money() *Family {
	return &Family{
		Name:  "money", // amounts, with tax rounded half to even
		Route: "match: POST /cart/total\n    safe: true",
		Request: func(r *rand.Rand, user uint64) whittle.Request {
			lines := make([]cartLine, 1+r.IntN(3))
			for i := range lines {
				lines[i] = cartLine{SKU: uint64(r.IntN(200)), Quantity: int64(1 + r.IntN(4))}
			}
			currency := of(currencies, user, "currency")
			body, _ := json.Marshal(cartRequest{currency, user%5 == 0, lines}) // plain fields cannot fail
			return post("/cart/total", JSONType, string(body))
		},
		Monolith: moneyMonolith, Latency: 12 * time.Millisecond,
		Places: []Place{
			{Kind: Money, Path: "total"},
			{Kind: Count, Path: "pieces"},
			{Kind: Float, Path: "tax_rate"},
			{Kind: Enum, Path: "currency"},
			{Kind: Ref, Path: "lines.*.sku"},
			{Kind: List, Path: "lines"},
			{Kind: Nullable, Path: "discount"},
			{Kind: Flag, Path: "free_shipping"},
			{Kind: Header, In: InHead, Path: "Cache-Control"},
		},
	}
}

type cartRequest struct {
	Currency string     `json:"currency"`
	Member   bool       `json:"member"`
	Lines    []cartLine `json:"lines"`
}

type cartLine struct {
	SKU      uint64      `json:"sku"`
	Quantity int64       `json:"quantity"`
	Amount   json.Number `json:"amount,omitempty"`
}

func moneyMonolith(_ *World, q *whittle.Request) whittle.Response {
	var in cartRequest
	if json.Unmarshal(q.Body, &in) != nil || taxRates[in.Currency] == 0 || len(in.Lines) == 0 {
		return respond(422, JSONType, `{"error":"no such cart"}`)
	}
	var sum, pieces int64
	for i := range in.Lines {
		line := &in.Lines[i]
		amount := cents(line.SKU) * line.Quantity
		line.Amount = fixed(amount, 2)
		pieces += line.Quantity
		sum += amount
	}
	subtotal, off := sum, halfEven(sum*5, 100)
	hasDiscount := in.Member && sum > 10000
	if hasDiscount {
		sum -= off
	}
	tax := halfEven(sum*taxRates[in.Currency], 1000)
	return respondJSON(200, object{
		"currency": in.Currency, "lines": in.Lines, "pieces": pieces, "subtotal": fixed(subtotal, 2), "discount": nullable(hasDiscount, fixed(off, 2)),
		"tax_rate": decimal(taxRates[in.Currency], 3), "tax": fixed(tax, 2), "total": fixed(sum+tax, 2), "free_shipping": sum >= 5000,
	}, "Cache-Control", "no-store")
}

// halfEven is n/d rounded to the nearest, and to the even one of two.
func halfEven(n, d int64) int64 {
	q, r := n/d, n%d
	if 2*r > d || (2*r == d && q%2 == 1) {
		q++
	}
	return q
}

// uuid draws a random UUID.
func uuid(r *rand.Rand) string {
	hi, lo := r.Uint64(), r.Uint64()
	hi = hi&^0xf000 | 0x4000
	lo = lo&^(3<<62) | 2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xffff, lo>>48, lo&0xffffffffffff)
}
