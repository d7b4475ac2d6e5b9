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

type profileBody struct {
	ID      uint64 `json:"id"`
	Name    string `json:"name"`
	Plan    string `json:"plan"`
	Active  bool   `json:"active"`
	Logins  uint64 `json:"logins"`
	Address struct {
		City string `json:"city"`
		Zip  string `json:"zip"`
		Geo  struct {
			Lat float64 `json:"lat"`
			Lon float64 `json:"lon"`
		} `json:"geo"`
	} `json:"address"`
	Billing struct {
		Credits  float64 `json:"credits"`
		Currency string  `json:"currency"`
	} `json:"billing"`
	Devices   []profileDevice `json:"devices"`
	Manager   *profileManager `json:"manager"`
	CreatedAt time.Time       `json:"created_at"`
}

type profileDevice struct {
	Serial string `json:"serial"`
	OS     string `json:"os"`
}

type profileManager struct {
	ID   uint64 `json:"id"`
	Name string `json:"name"`
}

func profileMonolith(w *World, id uint64) whittle.Response {
	b := profileBody{
		ID: id, Name: fullName(id), Plan: of(plans, id, "plan"), Active: row(id, "active", 7) > 0,
		Logins: version(id, w.Now, profileSeen) % 100000, CreatedAt: epoch.Add(time.Duration(row(id, "created", 60_000_000)) * time.Second),
	}
	b.Address.City, b.Address.Zip = of(cities, id, "city"), fmt.Sprintf("%05d", row(id, "zip", 100000))
	b.Address.Geo.Lat, b.Address.Geo.Lon = float64(480000+row(id, "lat", 80000))/1e4, float64(row(id, "lon", 300000))/1e4
	b.Billing.Credits, b.Billing.Currency = float64(row(id, "credits", 99999))/100, of(currencies, id, "currency")
	b.Devices = make([]profileDevice, 1+row(id, "devices", 4))
	for i := range b.Devices {
		b.Devices[i] = profileDevice{fmt.Sprintf("SN-%06d", row(id, fmt.Sprint("serial", i), 1e6)), []string{"ios", "android"}[row(id, fmt.Sprint("os", i), 2)]}
	}
	if row(id, "has manager", 3) > 0 {
		boss := uint64(row(id, "manager", 2000))
		b.Manager = &profileManager{boss, fullName(boss)}
	}
	return respondJSON(b, "Cache-Control", "private, max-age=60")
}
