package family

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"whittle"
)

const (
	itemsTotal = 137
	stockMoves = 10 * time.Minute
)

func items() *Family {
	return &Family{
		Name: "items", About: "a list with paging",
		Route: "match: GET /items",
		Request: func(r *rand.Rand, user uint64) whittle.Request {
			size := []int{6, 12}[user%2]
			page := 1 + r.IntN(1+r.IntN(itemsTotal/size+1))
			return get("/items?page=%d&size=%d", page, size)
		},
		Monolith: itemsMonolith, Twin: itemsTwin, Latency: 15 * time.Millisecond,
		Places: []Place{
			{Kind: Money, Path: "items.*.price"},
			{Kind: Count, Path: "total"},
			{Kind: Text, Path: "items.*.title"},
			{Kind: Ref, Path: "items.*.id"},
			{Kind: List, Path: "items"},
			{Kind: Nullable, Path: "next"},
			{Kind: Flag, Path: "items.*.in_stock"},
			{Kind: Header, In: InHead, Path: "X-Total-Count"},
			{Kind: Header, In: InHead, Path: "Link"},
		},
	}
}

type itemsBody struct {
	Items []itemsRow `json:"items"`
	Page  int        `json:"page"`
	Total int        `json:"total"`
	Next  *string    `json:"next"`
}

type itemsRow struct {
	ID      string      `json:"id"`
	Title   string      `json:"title"`
	Price   json.Number `json:"price"`
	Stock   int         `json:"stock"`
	InStock bool        `json:"in_stock"`
}

func stock(id uint64, now time.Time) int {
	return max(0, row(id^version(id, now, stockMoves)<<20, "stock", 40)-4)
}

func itemsMonolith(w *World, q *whittle.Request) whittle.Response {
	_, query := parts(q)
	page, err1 := strconv.Atoi(query.Get("page"))
	size, err2 := strconv.Atoi(query.Get("size"))
	if err1 != nil || err2 != nil || page < 1 || size < 1 || size > 100 {
		return respond(400, JSONType, `{"error":"page and size must be numbers from 1"}`)
	}
	b := itemsBody{Items: []itemsRow{}, Page: page, Total: itemsTotal}
	for i := (page - 1) * size; i < min(page*size, itemsTotal); i++ {
		id := uint64(i)
		n := stock(id, w.Now)
		b.Items = append(b.Items, itemsRow{fmt.Sprintf("it_%03d", id), title(id), json.Number(fixed(cents(id), 2)), n, n > 0})
	}
	header := []string{"X-Total-Count", strconv.Itoa(itemsTotal)}
	if page*size < itemsTotal {
		next := fmt.Sprintf("/items?page=%d&size=%d", page+1, size)
		b.Next = &next
		header = append(header, "Link", "<"+next+`>; rel="next"`)
	}
	return respondJSON(b, header...)
}

func itemsTwin(w *World, q *whittle.Request) whittle.Response {
	_, query := parts(q)
	page, ok1 := number(query.Get("page"))
	size, ok2 := number(query.Get("size"))
	if !ok1 || !ok2 || page == 0 || size == 0 || size > 100 {
		return respond(400, JSONType, obj{"error": "page and size must be numbers from 1"}.text(w))
	}
	all := make([]uint64, itemsTotal)
	for i := range all {
		all[i] = uint64(i)
	}
	rows, body := list{}, obj{"page": page, "total": len(all), "next": nil}
	from := min((page-1)*size, itemsTotal)
	for id := range slices.Values(all[from:min(from+size, itemsTotal)]) {
		n := stock(id, w.Now)
		rows = append(rows, obj{
			"id": "it_" + fmt.Sprintf("%03d", id), "title": title(id), "price": lit(fixed(cents(id), 2)), "stock": n, "in_stock": n != 0,
		})
	}
	body["items"] = rows
	head := []string{"X-Total-Count", fmt.Sprint(len(all))}
	if from+size < itemsTotal {
		link := fmt.Sprintf("/items?page=%d&size=%d", page+1, size)
		body["next"] = link
		head = append(head, "Link", fmt.Sprintf(`<%s>; rel="next"`, link))
	}
	return respond(200, JSONType, body.text(w), head...)
}
