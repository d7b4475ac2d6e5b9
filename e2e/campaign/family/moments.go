package family

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"whittle"
)

// timeFormat has milliseconds and a zone, as JavaScript has.
const timeFormat = "2006-01-02T15:04:05.000Z07:00"

// berlin is a fixed zone, so that no database of zones is needed.
var berlin = time.FixedZone("+02:00", 2*60*60)

func bookings() *Family {
	return &Family{
		Name:  "bookings", // timestamps: fixed, now, and a quarter of an hour ahead
		Route: "match: GET /bookings/{id}",
		Request: func(r *rand.Rand, user uint64) whittle.Request {
			return get("/bookings/%d", own(r, user))
		},
		Monolith: byID(bookingsMonolith), Latency: 9 * time.Millisecond,
		Places: []Place{
			{Kind: Time, Path: "starts_at"},
			{Kind: Expiry, Path: "hold_until"},
			{Kind: Count, Path: "nights"},
			{Kind: Text, Path: "guest"},
			{Kind: Ref, Path: "id"},
			{Kind: Enum, Path: "room"},
			{Kind: Nullable, Path: "cancelled_at"},
			{Kind: Flag, Path: "paid"},
			{Kind: Header, In: InHead, Path: "Cache-Control"},
		},
	}
}

func bookingsMonolith(w *World, id uint64) whittle.Response {
	start := epoch.AddDate(0, 0, row(id, "start", 900)).Add(6 * time.Hour).In(berlin)
	nights := 1 + row(id, "nights", 14)
	return respondJSON(200, object{
		"id": id, "guest": fullName(id), "room": []string{"single", "double", "suite"}[row(id, "room", 3)], "nights": nights, "paid": row(id, "paid", 3) > 0,
		"starts_at": start.Format(time.RFC3339), "ends_at": start.AddDate(0, 0, nights).Format(time.RFC3339),
		"booked_ms":    start.Add(-time.Duration(row(id, "ahead", 5_000_000)) * time.Second).UnixMilli(),
		"cancelled_at": nullable(row(id, "cancelled", 4) == 0, start.Add(-36*time.Hour).UTC().Format(time.RFC3339)),
		"server_time":  w.Now.UTC().Format(timeFormat), "hold_until": w.Now.Add(15 * time.Minute).UTC().Format(timeFormat),
	}, "Cache-Control", "no-store")
}

func quotes() *Family {
	return &Family{
		Name:  "quotes", // new ids in every response
		Route: "match: POST /quotes\n    safe: true",
		Request: func(r *rand.Rand, user uint64) whittle.Request {
			return post("/quotes", JSONType, fmt.Sprintf(`{"customer":%d,"product":%q,"age":%d}`, user, []string{"home", "car", "bike"}[r.IntN(3)], 18+r.IntN(60)))
		},
		Monolith: quotesMonolith, Latency: 20 * time.Millisecond,
		Places: []Place{
			{Kind: ID, Path: "quote_id"},
			{Kind: Expiry, Path: "valid_until"},
			{Kind: Money, Path: "premium"},
			{Kind: Float, Path: "risk"},
			{Kind: Count, Path: "term_months"},
			{Kind: Enum, Path: "product"},
			{Kind: Ref, Path: "customer"},
			{Kind: Flag, Path: "needs_review"},
			{Kind: Header, In: InHead, Path: "X-Quote-Version"},
		},
	}
}

func quotesMonolith(w *World, q *whittle.Request) whittle.Response {
	var in struct {
		Customer uint64 `json:"customer"`
		Product  string `json:"product"`
		Age      int    `json:"age"`
	}
	if json.Unmarshal(q.Body, &in) != nil || in.Age < 18 {
		return respond(422, JSONType, `{"error":"cannot be insured"}`)
	}
	risk := row(in.Customer+uint64(in.Age)<<12, in.Product, 10000)
	return respondJSON(200, object{
		"quote_id": uuid(w.Rand), "trace": fmt.Sprintf("%016x", w.Rand.Uint64()), "customer": in.Customer, "product": in.Product,
		"premium": fixed(1000+int64(risk)*3, 2), "risk": float64(risk) / 1e4, "term_months": 12 * (1 + row(in.Customer, "term", 3)),
		"needs_review": risk > 9000, "valid_until": w.Now.Add(30 * 24 * time.Hour).UTC().Format(time.RFC3339),
	}, "X-Quote-Version", "7")
}
