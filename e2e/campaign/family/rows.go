package family

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"time"

	"whittle"
)

// The rows of the database are functions of their id, so that both sides read
// the same and nothing must be loaded.

// epoch is where the rows' times begin.
var epoch = time.Date(2024, 3, 1, 8, 0, 0, 0, time.UTC)

// row draws a number from 0 to n-1 that belongs to a column of a row.
func row(id uint64, column string, n int) int {
	h := id*0x9e3779b97f4a7c15 + 0x1234567
	for i := range len(column) {
		h = (h ^ uint64(column[i])) * 1099511628211
	}
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return int((h ^ h>>31) % uint64(n))
}

// version counts how often a row has changed until now, at its own moments
// about every period.
func version(id uint64, now time.Time, period time.Duration) uint64 {
	phase := time.Duration(row(id, "phase", int(period)))
	return uint64(now.Add(phase).UnixNano() / int64(period))
}

var (
	firstNames = []string{"Anna", "Zoë", "Łukasz", "José", "Müge", "Tom", "Ines", "Øystein", "Chloé", "Ben"}
	lastNames  = []string{"Müller", "O'Brien", "Smith & Sons", "Nuñez", "Kowalski", "Dvořák", "Ng", "<Unknown>", "Śliwa", "Ek"}
	cities     = []string{"Köln", "Lyon", "Gdańsk", "Malmö", "Porto", "Cork"}
	plans      = []string{"free", "pro", "team", "enterprise"}
	states     = []string{"created", "packed", "in_transit", "at_depot", "delivered"}
	carriers   = []string{"dhl", "ups", "postnord", "gls"}
	currencies = []string{"EUR", "USD", "SEK"}
	words      = []string{"blue", "cotton", "lamp", "chair", "naïve", "oak", "tea", "wool", "zinc", "jug"}
)

func of(list []string, id uint64, column string) string { return list[row(id, column, len(list))] }

func fullName(id uint64) string {
	return of(firstNames, id, "first") + " " + of(lastNames, id, "last")
}

// cents is the price of a thing.
func cents(sku uint64) int64 { return int64(99 + row(sku, "price", 30000)) }

func title(id uint64) string { return of(words, id, "w1") + " " + of(words, id, "w2") }

// get makes a GET request.
func get(format string, args ...any) whittle.Request {
	return whittle.Request{Method: "GET", Target: fmt.Sprintf(format, args...), Host: "shop.example", Header: whittle.Header{}}
}

// post makes a POST request.
func post(target, contentType, body string) whittle.Request {
	return whittle.Request{
		Method: "POST", Target: target, Host: "shop.example",
		Header: whittle.Header{"Content-Type": {contentType}}, Body: []byte(body),
	}
}

// own is mostly the user's own row, and now and then another one.
func own(r *rand.Rand, user uint64) uint64 {
	if r.IntN(5) > 0 {
		return user
	}
	return uint64(r.IntN(2000))
}

// parts are the target's path segments and its query.
func parts(q *whittle.Request) (path []string, query url.Values) {
	p, raw, _ := strings.Cut(q.Target, "?")
	query, _ = url.ParseQuery(raw) // what is wrong in it is left out, as net/http does
	return strings.Split(strings.Trim(p, "/"), "/"), query
}

// number reads what a request calls a row by; ok is false where it is none.
func number(s string) (uint64, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	return n, err == nil
}

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
