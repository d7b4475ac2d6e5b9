package family

import (
	"fmt"
	"math/rand/v2"
	"time"

	"whittle"
)

const profileSeen = 40 * time.Second

func profile() *Family {
	return &Family{
		Name:  "profile", // nested JSON
		Route: "match: GET /users/{id}/profile",
		Request: func(r *rand.Rand, user uint64) whittle.Request {
			return get("/users/%d/profile", own(r, user))
		},
		Monolith: byID(profileMonolith), Latency: 8 * time.Millisecond,
		Places: []Place{
			{Kind: Money, Path: "billing.credits"},
			{Kind: Float, Path: "address.geo.lat"},
			{Kind: Count, Path: "logins"},
			{Kind: Text, Path: "name"},
			{Kind: Enum, Path: "plan"},
			{Kind: Ref, Path: "id"},
			{Kind: Time, Path: "created_at"},
			{Kind: List, Path: "devices"},
			{Kind: Nullable, Path: "manager"},
			{Kind: Flag, Path: "active"},
			{Kind: Header, In: InHead, Path: "Cache-Control"},
		},
	}
}

func profileMonolith(w *World, id uint64) whittle.Response {
	devices := make([]object, 1+row(id, "devices", 4))
	for i := range devices {
		devices[i] = object{"serial": fmt.Sprintf("SN-%06d", row(id, fmt.Sprint("serial", i), 1e6)), "os": []string{"ios", "android"}[row(id, fmt.Sprint("os", i), 2)]}
	}
	boss := uint64(row(id, "manager", 2000))
	return respondJSON(200, object{
		"id": id, "name": fullName(id), "plan": of(plans, id, "plan"), "active": row(id, "active", 7) > 0,
		"logins": version(id, w.Now, profileSeen) % 100000, "created_at": epoch.Add(time.Duration(row(id, "created", 60_000_000)) * time.Second),
		"address": object{
			"city": of(cities, id, "city"), "zip": fmt.Sprintf("%05d", row(id, "zip", 100000)),
			"geo": object{"lat": float64(480000+row(id, "lat", 80000)) / 1e4, "lon": float64(row(id, "lon", 300000)) / 1e4},
		},
		"billing": object{"credits": float64(row(id, "credits", 99999)) / 100, "currency": of(currencies, id, "currency")},
		"devices": devices,
		"manager": nullable(row(id, "has manager", 3) > 0, object{"id": boss, "name": fullName(boss)}),
	}, "Cache-Control", "private, max-age=60")
}
