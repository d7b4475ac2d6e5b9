package compare

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"whittle"
	"whittle/carve/compare/form"
)

// mutant is a candidate that is right but for one header.
type mutant struct {
	name   string
	change func(h whittle.Header, i int)
	within int // exchanges; one request in 20 is repeated
}

// pageOf is what the monolith says: a list's page, with values of its own.
func pageOf(r *rand.Rand, i int) whittle.Header {
	return whittle.Header{
		"X-Total-Count": {fmt.Sprint(400 + i%37)}, "Link": {fmt.Sprintf(`</items?page=%d>; rel="next"`, i%9+2)},
		"Set-Cookie": {fmt.Sprintf("sid=%x; Path=/; HttpOnly; Secure; SameSite=Lax", r.Uint64())}, "Cache-Control": {"private, max-age=60"},
		"Location": {fmt.Sprintf("https://shop.example/orders/%d", i)}, "Retry-After": {"30"}, "Content-Language": {"en"},
		"Content-Disposition": {fmt.Sprintf("attachment; filename=report-%d.csv", i%50)}, "Access-Control-Allow-Origin": {"https://app.example"},
		"Access-Control-Allow-Credentials": {"true"}, "Access-Control-Expose-Headers": {"Link, X-Total-Count"}, "Vary": {"Origin, Accept-Encoding"},
		"Etag": {`"` + fmt.Sprintf("%x", i*7919) + `"`}, "Allow": {"GET, POST"}, "X-State": {"Open"}, "X-Api-Version": {"3"}, "Www-Authenticate": {`Bearer realm="shop"`},
		"X-Request-Id": {fmt.Sprintf("%016x", r.Uint64())}, "Date": {"Sun, 22 Nov 2026 18:00:00 GMT"},
	}
}

func set(name, value string) func(whittle.Header, int) {
	return func(h whittle.Header, _ int) { h[name] = []string{value} }
}

func lose(name string) func(whittle.Header, int) {
	return func(h whittle.Header, _ int) { delete(h, name) }
}

func cookie(rest string) func(whittle.Header, int) {
	return func(h whittle.Header, i int) { h["Set-Cookie"] = []string{fmt.Sprintf("sid=%x; %s", i*31, rest)} }
}

var headerMutants = []mutant{
	{"`X-Total-Count` lost", lose("X-Total-Count"), 20},
	{"`Link` lost", lose("Link"), 20},
	{"`Link` without `rel=next`", func(h whittle.Header, i int) { h["Link"] = []string{fmt.Sprintf("</items?page=%d>", i%9+2)} }, 20},
	{"`Link` to another page", func(h whittle.Header, i int) {
		h["Link"] = []string{fmt.Sprintf(`</items?page=%d>; rel="next"`, i%9+3)}
	}, 350},
	{"`X-Total-Count` one too many", func(h whittle.Header, i int) { h["X-Total-Count"] = []string{fmt.Sprint(401 + i%37)} }, 350},
	{"`Set-Cookie` lost", lose("Set-Cookie"), 20},
	{"cookie without `HttpOnly`", cookie("Path=/; Secure; SameSite=Lax"), 20},
	{"cookie without `Secure`", cookie("Path=/; HttpOnly; SameSite=Lax"), 20},
	{"cookie without `SameSite`", cookie("Path=/; HttpOnly; Secure"), 20},
	{"cookie with `SameSite=None`", cookie("Path=/; HttpOnly; Secure; SameSite=None"), 20},
	{"cookie for another path", cookie("Path=/admin; HttpOnly; Secure; SameSite=Lax"), 20},
	{"cookie kept beyond the session", cookie("Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=86400"), 20},
	{"an additional cookie", func(h whittle.Header, _ int) { h["Set-Cookie"] = append(h["Set-Cookie"], "track=1") }, 20},
	{"`Cache-Control` public", set("Cache-Control", "public, max-age=60"), 20},
	{"`Cache-Control` ten times as long", set("Cache-Control", "private, max-age=600"), 20},
	{"`Cache-Control` lost", lose("Cache-Control"), 20},
	{"`Location` on another host", func(h whittle.Header, i int) {
		h["Location"] = []string{fmt.Sprintf("https://old.example/orders/%d", i)}
	}, 20},
	{"`Location` on another path", func(h whittle.Header, i int) {
		h["Location"] = []string{fmt.Sprintf("https://shop.example/order/%d", i)}
	}, 20},
	{"`Location` by http", func(h whittle.Header, i int) {
		h["Location"] = []string{fmt.Sprintf("http://shop.example/orders/%d", i)}
	}, 20},
	{"`Location` of another order", func(h whittle.Header, i int) {
		h["Location"] = []string{fmt.Sprintf("https://shop.example/orders/%d", i+1)}
	}, 350},
	{"`Location` lost", lose("Location"), 20},
	{"`Retry-After` lost", lose("Retry-After"), 20},
	{"`Retry-After` another", set("Retry-After", "3600"), 20},
	{"`Content-Disposition` with another file name", func(h whittle.Header, i int) {
		h["Content-Disposition"] = []string{fmt.Sprintf("attachment; filename=export-%d.csv", i%50)}
	}, 20},
	{"`Content-Disposition` inline", func(h whittle.Header, i int) {
		h["Content-Disposition"] = []string{fmt.Sprintf("inline; filename=report-%d.csv", i%50)}
	}, 20},
	{"CORS origin `*`", set("Access-Control-Allow-Origin", "*"), 20},
	{"CORS origin twice", func(h whittle.Header, _ int) {
		h["Access-Control-Allow-Origin"] = append(h["Access-Control-Allow-Origin"], "https://app.example")
	}, 20},
	{"CORS credentials lost", lose("Access-Control-Allow-Credentials"), 20},
	{"CORS exposes no `Link`", set("Access-Control-Expose-Headers", "X-Total-Count"), 20},
	{"strong `ETag` lost", lose("Etag"), 20},
	{"`Vary: Origin` lost", set("Vary", "Accept-Encoding"), 20},
	{"`Allow` without POST", set("Allow", "GET"), 20},
	{"another case of a value", set("X-State", "OPEN"), 20},
	{"another version", set("X-Api-Version", "4"), 20},
	{"another realm", set("Www-Authenticate", `Bearer realm="dev"`), 20},
	{"another language", set("Content-Language", "de"), 20},
	{"an extra header", set("X-Debug-Sql", "select"), 20},
	{"an extra `Refresh`", set("Refresh", "0; url=/"), 20},
}

// TestHeaderMutations: each mutant is DIFFERENT, with learned noise on and one request
// in 20 repeated, within so many exchanges. Run with -v it prints a table.
func TestHeaderMutations(t *testing.T) {
	for _, m := range headerMutants {
		r := rand.New(rand.NewPCG(3, 5))
		j := learningJudge(t, true)
		at := 0
		for i := range 500 {
			a := pageOf(r, i)
			b := maps.Clone(a)
			b["Set-Cookie"], b["X-Request-Id"] = pageOf(r, i)["Set-Cookie"], []string{fmt.Sprintf("%016x", r.Uint64())}
			m.change(b, i)
			j.Observe(withHeaders(i, 20, func(side int) whittle.Header {
				if side == form.Repeat {
					return pageOf(r, i)
				}
				return []whittle.Header{a, b}[side]
			}))
			if j.Verdict().State == whittle.Different {
				at = i + 1
				break
			}
		}
		t.Logf("| %s | %d |", m.name, at)
		if at == 0 || at > m.within {
			t.Errorf("%s: shown after %d exchanges, want at most %d", m.name, at, m.within)
		}
	}
}
