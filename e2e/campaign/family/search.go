package family

import (
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
)

func search() *Family {
	return &Family{
		Name:  "search", // a ranking with scores
		Route: "match: GET /search",
		Request: func(r *rand.Rand, user uint64) whittle.Request {
			q := words[r.IntN(len(words))]
			if r.IntN(3) == 0 {
				q += " " + words[row(user, "taste", len(words))]
			}
			return get("/search?%s", url.Values{"q": {q}}.Encode())
		},
		Monolith: searchMonolith, Latency: 22 * time.Millisecond,
		Places: []Place{
			{Kind: Float, Path: "hits.*.score"},
			{Kind: Money, Path: "hits.*.price"},
			{Kind: Count, Path: "total"},
			{Kind: Text, Path: "query"},
			{Kind: Ref, Path: "hits.*.id"},
			{Kind: List, Path: "hits"},
			{Kind: Enum, Path: "mode"},
			{Kind: Nullable, Path: "suggestion"},
			{Kind: Header, In: InHead, Path: "X-Total-Count"},
		},
	}
}

// titles are the index, by id.
var titles = func() []string {
	all := make([]string, 120)
	for i := range all {
		all[i] = title(uint64(i))
	}
	return all
}()

// searchScore is how well a row fits, in millionths.
func searchScore(id uint64, q string) int { return row(id, "score "+q, 1e6) }

func searchMonolith(_ *World, q *whittle.Request) whittle.Response {
	_, query := parts(q)
	all := query.Get("q")
	terms := strings.Fields(all)
	if len(terms) == 0 {
		return respond(400, JSONType, `{"error":"q is missing"}`)
	}
	type hit struct {
		ID    uint64      `json:"id"`
		Title string      `json:"title"`
		Score float64     `json:"score"`
		Price json.Number `json:"price"`
	}
	hits := []hit{}
	for i, name := range titles {
		id, fits := uint64(i), true
		for _, t := range terms {
			fits = fits && strings.Contains(name, t)
		}
		if fits {
			hits = append(hits, hit{id, name, float64(searchScore(id, all)) / 1e6, fixed(cents(id), 2)})
		}
	}
	slices.SortFunc(hits, func(x, y hit) int { return cmp.Compare(y.Score, x.Score) })
	one := len(terms) == 1
	return respondJSON(200, object{
		"query": all, "mode": map[bool]string{true: "any", false: "all"}[one], "total": len(hits), "hits": hits[:min(len(hits), 8)],
		"suggestion": nullable(one, terms[0]+" "+of(words, uint64(len(terms[0])), "more")),
	}, "X-Total-Count", strconv.Itoa(len(hits)))
}
