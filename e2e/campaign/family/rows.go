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
