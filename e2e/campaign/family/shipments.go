package family

import (
	"fmt"
	"math/rand/v2"
	"time"

	"whittle"
)

const shipmentsMove = time.Minute

func shipments() *Family {
	return &Family{
		Name:  "shipments", // enums, and a state that moves
		Route: "match: GET /shipments/{id}",
		Request: func(r *rand.Rand, user uint64) whittle.Request {
			return get("/shipments/%d", own(r, user))
		},
		Monolith: byID(shipmentsMonolith), Latency: 6 * time.Millisecond,
		Places: []Place{
			{Kind: Enum, Path: "state"},
			{Kind: Ref, Path: "id"},
			{Kind: Count, Path: "scans"},
			{Kind: Float, Path: "weight_kg"},
			{Kind: Text, Path: "city"},
			{Kind: Time, Path: "shipped_at"},
			{Kind: List, Path: "history"},
			{Kind: Nullable, Path: "signed_by"},
			{Kind: Flag, Path: "insured"},
			{Kind: Header, In: InHead, Path: "Cache-Control"},
		},
	}
}

type shipmentsBody struct {
	ID       uint64           `json:"id"`
	State    string           `json:"state"`
	Carrier  string           `json:"carrier"`
	City     string           `json:"city"`
	WeightKg float64          `json:"weight_kg"`
	Scans    uint64           `json:"scans"`
	Insured  bool             `json:"insured"`
	SignedBy *string          `json:"signed_by"`
	Shipped  string           `json:"shipped_at"`
	History  []shipmentsEvent `json:"history"`
}

type shipmentsEvent struct {
	State string `json:"state"`
	Depot string `json:"depot"`
}

func shipmentsMonolith(w *World, id uint64) whittle.Response {
	moved := version(id, w.Now, shipmentsMove)
	at := int(moved) % len(states)
	b := shipmentsBody{
		ID: id, State: states[at], Carrier: of(carriers, id, "carrier"), City: of(cities, id, "city"), WeightKg: float64(row(id, "weight", 30000)) / 1000,
		Scans: moved % 500, Insured: row(id, "insured", 2) > 0,
		Shipped: epoch.Add(time.Duration(row(id, "shipped", 50_000_000)) * time.Second).Format(time.RFC3339),
	}
	for i := 0; i <= at; i++ {
		b.History = append(b.History, shipmentsEvent{states[i], of(cities, id, fmt.Sprint("depot", i))})
	}
	if at == len(states)-1 {
		by := fullName(id)
		b.SignedBy = &by
	}
	return respondJSON(b, "Cache-Control", "private, max-age=5")
}
