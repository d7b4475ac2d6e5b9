package family

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"strconv"
	"text/template"
	"time"

	"whittle"
)

const (
	textType = "text/plain; charset=utf-8"
	csvType  = "text/csv; charset=utf-8"
)

func terms() *Family {
	return &Family{
		Name:  "terms", // plain text, the same bytes
		Route: "match: GET /terms/{slug}\n    compare: exact",
		Request: func(r *rand.Rand, user uint64) whittle.Request {
			return get("/terms/%d?lang=%s", r.IntN(60), []string{"de", "en"}[user%2])
		},
		Monolith: termsMonolith, Latency: 5 * time.Millisecond,
		Places: []Place{
			{Kind: Text, In: Line, Path: "Title: "},
			{Kind: Count, In: Line, Path: "Version: "},
			{Kind: Money, In: Line, Path: "Fee: "},
			{Kind: Time, In: Line, Path: "Valid from: "},
			{Kind: Enum, In: Line, Path: "Applies to: "},
			{Kind: Ref, In: Line, Path: "Document: "},
			{Kind: Header, In: InHead, Path: "Content-Language"},
			{Kind: Header, In: InHead, Path: "Cache-Control"},
		},
	}
}

var termsText = template.Must(template.New("terms").Parse(`Title: {{.Title}}
Document: {{.ID}}
Version: {{.Version}}
Fee: {{.Fee}}
Valid from: {{.From}}
Applies to: {{.Plan}}

§ 1 — {{.Title}} is offered “as it is”.
§ 2 — Naïve reading is discouraged; café owners excepted.
`))

func termsMonolith(_ *World, q *whittle.Request) whittle.Response {
	path, query := parts(q)
	id, ok := number(path[1])
	lang := query.Get("lang")
	if !ok || (lang != "de" && lang != "en") {
		return respond(404, textType, "no such terms\n")
	}
	var b bytes.Buffer
	err := termsText.Execute(&b, struct{ Title, ID, Version, Fee, From, Plan string }{
		title(id) + " (" + lang + ")", fmt.Sprintf("DOC-%04d", id), strconv.Itoa(1 + row(id, "version", 40)),
		fmt.Sprintf("%.2f EUR", float64(100+row(id, "fee", 9900))/100), epoch.AddDate(0, 0, row(id, "from", 700)).Format(time.RFC3339), of(plans, id, "plan"),
	})
	if err != nil {
		return respond(500, textType, "internal\n")
	}
	return respond(200, textType, b.String(), "Content-Language", lang, "Cache-Control", "public, max-age=3600")
}

func export() *Family {
	return &Family{
		Name:  "export", // CSV with quoting, the same bytes
		Route: "match: GET /export.csv\n    compare: exact",
		Request: func(r *rand.Rand, user uint64) whittle.Request {
			return get("/export.csv?account=%d&month=%d", own(r, user), 1+r.IntN(12))
		},
		Monolith: exportMonolith, Latency: 30 * time.Millisecond,
		Places: []Place{
			{Kind: Ref, In: Column, Column: 0},
			{Kind: Time, In: Column, Column: 1},
			{Kind: Text, In: Column, Column: 2},
			{Kind: Money, In: Column, Column: 3},
			{Kind: Count, In: Column, Column: 4},
			{Kind: Enum, In: Column, Column: 5},
			{Kind: List, In: Column},
			{Kind: Header, In: InHead, Path: "Content-Disposition"},
		},
	}
}

type exportRow struct {
	id, at, name, amount, pieces, state string
}

// exportRows are the month's rows of an account.
func exportRows(account uint64, month int) []exportRow {
	rows := make([]exportRow, 2+row(account+uint64(month)<<16, "rows", 6))
	for i := range rows {
		id := account<<8 + uint64(month)<<4 + uint64(i)
		rows[i] = exportRow{
			fmt.Sprintf("tx-%08d", id), time.Date(2025, time.Month(month), 1+row(id, "day", 28), row(id, "hour", 24), 0, 0, 0, time.UTC).Format(time.RFC3339),
			fullName(uint64(row(id, "who", 2000))) + ", " + of(cities, id, "city"), fixed(cents(id), 2).String(), strconv.Itoa(row(id, "pieces", 9)), of(states, id, "state"),
		}
	}
	return rows
}

func exportMonolith(_ *World, q *whittle.Request) whittle.Response {
	_, query := parts(q)
	account, ok1 := number(query.Get("account"))
	month, ok2 := number(query.Get("month"))
	if !ok1 || !ok2 || month < 1 || month > 12 {
		return respond(400, textType, "account and month, please\n")
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write([]string{"id", "at", "name", "amount", "pieces", "state"}) // a buffer takes all
	for _, r := range exportRows(account, int(month)) {
		_ = w.Write([]string{r.id, r.at, r.name, r.amount, r.pieces, r.state})
	}
	w.Flush()
	return respond(200, csvType, b.String(), "Content-Disposition", fmt.Sprintf(`attachment; filename="export-%02d.csv"`, month))
}
