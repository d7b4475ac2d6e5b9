package family

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"whittle"
)

func docs() *Family {
	return &Family{
		Name: "docs", About: "path parameters, 404s and redirects",
		Route: "match: GET /docs/{space}/{page}",
		Request: func(r *rand.Rand, user uint64) whittle.Request {
			return get("/docs/s%d/p%d", user%9, r.IntN(120))
		},
		Monolith: docsMonolith, Twin: docsTwin, Latency: 7 * time.Millisecond,
		Places: []Place{
			{Kind: Text, Path: "title"},
			{Kind: Ref, Path: "page"},
			{Kind: Count, Path: "revision"},
			{Kind: Enum, Path: "visibility"},
			{Kind: Time, Path: "edited_at"},
			{Kind: List, Path: "links"},
			{Kind: Nullable, Path: "parent"},
			{Kind: Flag, Path: "draft"},
			{Kind: Header, In: InHead, Path: "Cache-Control"},
		},
	}
}

type docsBody struct {
	Page       string     `json:"page"`
	Title      string     `json:"title"`
	Revision   int        `json:"revision"`
	Visibility string     `json:"visibility"`
	Draft      bool       `json:"draft"`
	Parent     *string    `json:"parent"`
	EditedAt   string     `json:"edited_at"`
	Links      []docsLink `json:"links"`
}

type docsLink struct {
	Rel  string `json:"rel"`
	Href string `json:"href"`
}

// docsRow is the page's row; ok is false where there is no such page.
func docsRow(space, page string) (id uint64, ok bool) {
	s, ok1 := number(strings.TrimPrefix(space, "s"))
	p, ok2 := number(strings.TrimPrefix(page, "p"))
	id = s<<20 + p
	return id, ok1 && ok2 && row(id, "there", 5) > 0
}

func docsMonolith(_ *World, q *whittle.Request) whittle.Response {
	path, _ := parts(q)
	id, ok := docsRow(path[1], path[2])
	if !ok {
		return respond(404, JSONType, fmt.Sprintf(`{"error":"not_found","page":%q}`, path[2]))
	}
	if row(id, "moved", 10) == 0 {
		return respond(301, JSONType, `{"moved":true}`, "Location", fmt.Sprintf("/docs/%s/p%d", path[1], row(id, "to", 120)))
	}
	b := docsBody{
		Page: path[2], Title: title(id), Revision: 1 + row(id, "revision", 90), Visibility: []string{"public", "team", "private"}[row(id, "visibility", 3)],
		Draft: row(id, "draft", 5) == 0, EditedAt: epoch.Add(time.Duration(row(id, "edited", 60_000_000)) * time.Second).Format(time.RFC3339),
		Links: []docsLink{{"self", "/docs/" + path[1] + "/" + path[2]}},
	}
	if row(id, "child", 2) == 1 {
		parent := fmt.Sprintf("p%d", row(id, "parent", 120))
		b.Parent = &parent
		b.Links = append(b.Links, docsLink{"up", "/docs/" + path[1] + "/" + parent})
	}
	return respondJSON(b, "Cache-Control", "public, max-age=30")
}

func docsTwin(w *World, q *whittle.Request) whittle.Response {
	path, _ := parts(q)
	space, page := path[1], path[2]
	id, there := docsRow(space, page)
	base := "/docs/" + space + "/"
	switch {
	case !there:
		return respond(404, JSONType, obj{"page": page, "error": "not_found"}.text(w))
	case row(id, "moved", 10) == 0:
		return respond(301, JSONType, obj{"moved": true}.text(w), "Location", base+"p"+fmt.Sprint(row(id, "to", 120)))
	}
	body := obj{
		"draft": row(id, "draft", 5) == 0, "page": page, "title": title(id), "revision": row(id, "revision", 90) + 1, "parent": nil,
		"edited_at": time.Unix(epoch.Unix()+int64(row(id, "edited", 60_000_000)), 0).UTC().Format("2006-01-02T15:04:05Z"),
	}
	switch row(id, "visibility", 3) {
	case 0:
		body["visibility"] = "public"
	case 1:
		body["visibility"] = "team"
	default:
		body["visibility"] = "private"
	}
	links := list{obj{"href": base + page, "rel": "self"}}
	if row(id, "child", 2) != 0 {
		up := "p" + fmt.Sprint(row(id, "parent", 120))
		body["parent"] = up
		links = append(links, obj{"href": base + up, "rel": "up"})
	}
	body["links"] = links
	return respond(200, JSONType, body.text(w), "Cache-Control", "public, max-age=30")
}
