package family

import (
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

type searchBody struct {
	Query      string      `json:"query"`
	Mode       string      `json:"mode"`
	Total      int         `json:"total"`
	Suggestion *string     `json:"suggestion"`
	Hits       []searchHit `json:"hits"`
}

type searchHit struct {
	ID    uint64      `json:"id"`
	Title string      `json:"title"`
	Score float64     `json:"score"`
	Price json.Number `json:"price"`
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
	terms := strings.Fields(query.Get("q"))
	if len(terms) == 0 {
		return respond(400, JSONType, `{"error":"q is missing"}`)
	}
	b := searchBody{Query: query.Get("q"), Mode: "any", Hits: []searchHit{}}
	if len(terms) > 1 {
		b.Mode = "all"
	} else {
		more := terms[0] + " " + of(words, uint64(len(terms[0])), "more")
		b.Suggestion = &more
	}
	for i, name := range titles {
		id, fits := uint64(i), true
		for _, t := range terms {
			fits = fits && strings.Contains(name, t)
		}
		if fits {
			b.Hits = append(b.Hits, searchHit{id, name, float64(searchScore(id, b.Query)) / 1e6, json.Number(fixed(cents(id), 2))})
		}
	}
	slices.SortFunc(b.Hits, func(x, y searchHit) int { return searchScore(y.ID, b.Query) - searchScore(x.ID, b.Query) })
	b.Total = len(b.Hits)
	b.Hits = b.Hits[:min(len(b.Hits), 8)]
	return respondJSON(b, "X-Total-Count", strconv.Itoa(b.Total))
}
