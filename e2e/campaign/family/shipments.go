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

func shipmentsMonolith(w *World, id uint64) whittle.Response {
	moved := version(id, w.Now, shipmentsMove)
	at := int(moved) % len(states)
	var history []object
	for i := 0; i <= at; i++ {
		history = append(history, object{"state": states[i], "depot": of(cities, id, fmt.Sprint("depot", i))})
	}
	return respondJSON(200, object{
		"id": id, "state": states[at], "carrier": of(carriers, id, "carrier"), "city": of(cities, id, "city"),
		"weight_kg": float64(row(id, "weight", 30000)) / 1000, "scans": moved % 500, "insured": row(id, "insured", 2) > 0,
		"shipped_at": epoch.Add(time.Duration(row(id, "shipped", 50_000_000)) * time.Second).Format(time.RFC3339),
		"history":    history, "signed_by": nullable(at == len(states)-1, fullName(id)),
	}, "Cache-Control", "private, max-age=5")
}
