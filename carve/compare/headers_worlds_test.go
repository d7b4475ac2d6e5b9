package compare

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare/form"
	"whittle/internal/simtest"
)

// frameworkStyles are headers as frameworks and what stands in front of them set
// them: the endpoint's own from the request's number i, the rest by r.
func frameworkStyles() map[string]func(r *rand.Rand, i int) whittle.Header {
	hex := func(r *rand.Rand) string { return fmt.Sprintf("%016x", r.Uint64()) }
	uuid := func(r *rand.Rand) string {
		return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", r.Uint32(), r.IntN(1<<16), r.IntN(1<<12), r.IntN(1<<12), r.Uint64N(1<<48))
	}
	b64 := func(r *rand.Rand) string {
		return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%d%d", r.Uint64(), r.Uint64()))[:22]
	}
	h := func(pairs ...string) whittle.Header {
		out := whittle.Header{"Date": {"Sun, 22 Nov 2026 18:00:00 GMT"}}
		for i := 0; i+1 < len(pairs); i += 2 {
			out[pairs[i]] = append(out[pairs[i]], pairs[i+1])
		}
		return out
	}
	own := func(i int) string { return fmt.Sprint(i % 37) }
	return map[string]func(*rand.Rand, int) whittle.Header{
		"express with helmet": func(r *rand.Rand, i int) whittle.Header {
			return h("X-Powered-By", "Express", "Etag", `W/"`+own(i)+`"`,
				"Content-Security-Policy", "script-src 'nonce-"+b64(r)+"'", "X-Response-Time", fmt.Sprintf("%.3fms", r.Float64()*9), "X-Total-Count", own(i))
		},
		"koa": func(r *rand.Rand, i int) whittle.Header {
			return h("X-Response-Time", fmt.Sprint(r.IntN(90), "ms"), "Vary", "Origin", "Set-Cookie", "koa.sess="+b64(r)+"; path=/; httponly")
		},
		"fastify": func(r *rand.Rand, i int) whittle.Header {
			return h("X-Ratelimit-Remaining", fmt.Sprint(r.IntN(60)), "X-Request-Id", "req-"+hex(r), "X-Page", own(i))
		},
		"rails": func(r *rand.Rand, i int) whittle.Header {
			return h("X-Request-Id", uuid(r), "X-Runtime", fmt.Sprintf("%.6f", r.Float64()), "Cache-Control", "max-age=0, private, must-revalidate",
				"Etag", `W/"`+hex(r)+`"`, "Set-Cookie", "_app_session="+b64(r)+"; path=/; HttpOnly; SameSite=Lax",
				"Link", "</items?page="+own(i)+">; rel=next")
		},
		"django": func(r *rand.Rand, i int) whittle.Header {
			return h("Server", "gunicorn", "Vary", "Accept, Cookie", "Allow", "GET, HEAD, OPTIONS",
				"Set-Cookie", "csrftoken="+b64(r)+"; expires=Mon, 22 Nov 2027 18:00:00 GMT; Max-Age=31449600; Path=/; SameSite=Lax")
		},
		"spring": func(r *rand.Rand, i int) whittle.Header {
			return h("Cache-Control", "no-cache, no-store, max-age=0, must-revalidate", "Pragma", "no-cache", "Expires", "0",
				"Set-Cookie", "JSESSIONID="+hex(r)+"; Path=/; HttpOnly", "X-Application-Context", "app:8080")
		},
		"laravel": func(r *rand.Rand, i int) whittle.Header {
			return h("Cache-Control", "no-cache, private", "X-Ratelimit-Limit", "60", "X-Ratelimit-Remaining", fmt.Sprint(r.IntN(60)),
				"Set-Cookie", "XSRF-TOKEN="+b64(r)+"; path=/", "Set-Cookie", "laravel_session="+b64(r)+"; path=/; httponly")
		},
		"asp.net": func(r *rand.Rand, i int) whittle.Header {
			return h("Server", "Kestrel", "Request-Context", "appId="+uuid(r), "Api-Supported-Versions", "1.0, 2.0", "Location", "/orders/"+own(i))
		},
		"go behind envoy": func(r *rand.Rand, i int) whittle.Header {
			return h("Server", "envoy", "X-Envoy-Upstream-Service-Time", fmt.Sprint(r.IntN(50)), "X-Total-Count", own(i))
		},
		"nginx behind cloudflare": func(r *rand.Rand, i int) whittle.Header {
			return h("Cf-Ray", hex(r)+"-FRA", "Cf-Cache-Status", "DYNAMIC", "Nel", `{"max_age":1}`, "Report-To", `{"u":"`+b64(r)+`"}`, "Alt-Svc", `h3=":443"`, "Age", fmt.Sprint(r.IntN(9)))
		},
		"an own id in each response": func(r *rand.Rand, i int) whittle.Header {
			return h("X-Batch", uuid(r), "X-Generated-At", fmt.Sprintf("2026-11-22T18:%02d:%02dZ", i/60%60, r.IntN(60)), "X-Total-Count", own(i))
		},
		"a redirect with a state": func(r *rand.Rand, i int) whittle.Header {
			return h("Location", "https://login.example/?state="+b64(r)+"&n="+own(i), "Cache-Control", "no-store")
		},
	}
}

// Hypothesis: both sides, and the monolith's second response, set their headers by one
// distribution, independently. Promised error rate: at most 1 of 100 whole runs is ever
// DIFFERENT, looked at after each tenth exchange, over all styles together, and in each at
// most 10. A correct implementation may show 0.05 % (simtest.Rate). Each style must come
// to EQUIVALENT without any config. Source: Ville's inequality (headers).
func TestFrameworkStylesAreEquivalent(t *testing.T) {
	t.Parallel()
	type styled = func(r *rand.Rand, i int) whittle.Header
	observe := func(j *Judge, r *rand.Rand, style styled, i int) {
		j.Observe(withHeaders(i, 20, func(int) whittle.Header { return style(r, i) }))
	}
	simtest.InTurn(t, 0.01, 0.0005, 0.1, frameworkStyles(), func(style styled, run int) bool {
		r, j := rand.New(rand.NewPCG(uint64(run), 77)), equivalenceJudge(t)
		for i := range 400 {
			if observe(j, r, style, i); i%10 != 9 {
				continue
			}
			if v := j.Verdict(); v.State == whittle.Different {
				t.Log(v.Summary)
				return true
			}
		}
		return false
	})
	for name, style := range frameworkStyles() {
		r, j := rand.New(rand.NewPCG(0, 77)), equivalenceJudge(t)
		// The share of responses that may differ takes longer than headers do.
		for i := range 3000 {
			observe(j, r, style, i)
		}
		if v := j.Verdict(); v.State != whittle.Equivalent {
			t.Errorf("%s: %s %+v", name, v.Summary, v.Bounds)
		}
	}
}

// equivalenceJudge compares as a config does by default.
func equivalenceJudge(t *testing.T) *Judge {
	t.Helper()
	return judgeOf(t, whittle.Comparison{Kind: whittle.JSON, AllHeaders: true, LearnNoise: true, Confidence: 0.99, MinCompared: 300})
}

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

// setTo sets a header to what a format makes of the request's number.
func setTo(name, format string) func(whittle.Header, int) {
	return func(h whittle.Header, i int) { h[name] = []string{fmt.Sprintf(format, i)} }
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
	{"`Link` to another page", func(h whittle.Header, i int) { setTo("Link", `</items?page=%d>; rel="next"`)(h, i%9+3) }, 350},
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
	{"`Location` on another host", setTo("Location", "https://old.example/orders/%d"), 20},
	{"`Location` on another path", setTo("Location", "https://shop.example/order/%d"), 20},
	{"`Location` by http", setTo("Location", "http://shop.example/orders/%d"), 20},
	{"`Location` of another order", func(h whittle.Header, i int) { setTo("Location", "https://shop.example/orders/%d")(h, i+1) }, 350},
	{"`Location` lost", lose("Location"), 20},
	{"`Retry-After` lost", lose("Retry-After"), 20},
	{"`Retry-After` another", set("Retry-After", "3600"), 20},
	{"`Content-Disposition` with another file name", func(h whittle.Header, i int) {
		setTo("Content-Disposition", "attachment; filename=export-%d.csv")(h, i%50)
	}, 20},
	{"`Content-Disposition` inline", func(h whittle.Header, i int) { setTo("Content-Disposition", "inline; filename=report-%d.csv")(h, i%50) }, 20},
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

// redirected is an exchange in which both sides lead somewhere, by an address of which a
// part is made anew.
func redirected(r *rand.Rand, i int, monolith, candidate string) *whittle.Exchange {
	say := func(format string) whittle.Header {
		return whittle.Header{"Location": {fmt.Sprintf(format, r.Uint64(), 100+i%700)}}
	}
	x := headed(say(monolith), say(candidate))
	x.Request.Host, x.Monolith.Status, x.Candidate.Status = "shop.example", 302, 302
	if i%20 == 19 {
		x.Repeat = &whittle.Response{Status: 302, Header: say(monolith), Body: x.Monolith.Body}
	}
	return x
}

// TestAnAddressThatVaries: where a Location has a random part, a candidate that is wrong in more
// than its ids and numbers is DIFFERENT within 500 exchanges, and one that makes the same
// address is EQUIVALENT.
func TestAnAddressThatVaries(t *testing.T) {
	t.Parallel()
	const query, path = "https://idp.example/authorize?state=s%016x&n=%d", "/files/s%016x/of/%d"
	for _, c := range []struct {
		name, monolith, candidate string
		word                      whittle.State
	}{
		{"the same", query, query, whittle.Equivalent},
		{"another host", query, "https://idp.internal/authorize?state=s%016x&n=%d", whittle.Different},
		{"a parameter lost", query, "https://idp.example/authorize?state=s%016x#%d", whittle.Different},
		{"the same path", path, path, whittle.Equivalent},
		{"the path alone", "http://shop.example" + path, path, whittle.Equivalent},
		{"the host too", path, "http://shop.example" + path, whittle.Equivalent},
		{"the path alone, another segment", "http://shop.example" + path, "/files/s%016x/in/%d", whittle.Different},
		{"another segment", path, "/files/s%016x/in/%d", whittle.Different},
	} {
		r := rand.New(rand.NewPCG(5, 6))
		j := learningJudge(t, true)
		for i := range 3700 {
			j.Observe(redirected(r, i, c.monolith, c.candidate))
			if c.word == whittle.Different && i == 500 {
				break
			}
		}
		if v := j.Verdict(); v.State != c.word {
			t.Errorf("%s: %s %+v %+v", c.name, v.Summary, v.Findings, v.Bounds)
		}
	}
}

// TestAddressesRaiseNoAlarm: equal services of which each makes parts of an address anew, as
// ids, numbers, small numbers or times, are called DIFFERENT in at most 5 of 100 runs.
//
// Hypothesis: given the request, the two sides' addresses are exchangeable. Error rate: that
// of headers (0.01 times 0.6 in all). Source: Ville's inequality.
func TestAddressesRaiseNoAlarm(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	simtest.AtMost(0.05, 0.0005).Play(t, "refused", func(run int) bool {
		j := learningJudge(t, true)
		for i := range 200 {
			f := fmt.Sprintf("/s/%d/%%x?n=%%d&k=%d&p=%d", run%3*r.IntN(9), r.IntN(4), i/10)
			g := fmt.Sprintf("/s/%d/%%x?n=%%d&k=%d&p=%d", run%3*r.IntN(9), r.IntN(4), i/10)
			x := redirected(r, i, f, g)
			if i%20 == 19 {
				x.Repeat.Header = redirected(r, i, fmt.Sprintf("/s/%d/%%x?n=%%d&k=%d&p=%d", run%3*r.IntN(9), r.IntN(4), i/10), f).Monolith.Header
			}
			if j.Observe(x); i%10 == 0 && j.Verdict().State == whittle.Different {
				return true
			}
		}
		return false
	})
}

// heldHeader is a header that a server says until it refreshes it.
type heldHeader struct {
	r     *rand.Rand
	every time.Duration
	draw  func(*rand.Rand) []string
	until time.Time
	now   []string
}

func (s *heldHeader) at(t time.Time) []string {
	for s.now == nil || !t.Before(s.until) {
		if s.until.IsZero() {
			s.until = simtest.Start.Add(time.Duration(s.r.Float64() * float64(s.every)))
		} else {
			s.until = s.until.Add(time.Duration((0.7 + 0.6*s.r.Float64()) * float64(s.every)))
		}
		s.now = s.draw(s.r)
	}
	return s.now
}

func playHeld(t *testing.T, r *rand.Rand, every time.Duration, draw func(*rand.Rand) []string, wrong func([]string) []string) whittle.Verdict {
	t.Helper()
	j := learningJudge(t, true)
	sides := [2]*heldHeader{}
	for i := range sides {
		sides[i] = &heldHeader{r: r, every: every, draw: draw}
	}
	say := func(side int, at time.Time) whittle.Header {
		h := whittle.Header{"X-Total-Count": {"7"}}
		v := sides[side].at(at)
		if wrong != nil {
			if v = sides[0].at(at); side == 1 {
				v = wrong(v)
			}
		}
		if len(v) > 0 {
			h["X-Snapshot"] = v
		}
		return h
	}
	var v whittle.Verdict
	for i := range 1200 {
		at := simtest.Start.Add(time.Duration(i) * 50 * time.Millisecond)
		x := headed(say(0, at), say(1, at.Add(5*time.Millisecond)))
		x.At, x.Request.Target = at, fmt.Sprint("/", i%40)
		if i%20 == 19 {
			x.Repeat = &whittle.Response{Status: x.Monolith.Status, Header: say(0, at.Add(8*time.Millisecond)), Body: x.Monolith.Body}
		}
		j.Observe(x)
		if i%50 == 49 {
			v = j.Verdict()
		}
	}
	return v
}

// TestHeadersOfEachServersOwn: where each of two equal servers refreshes a header of its own
// once in half a second to three, the verdict is in the end neither DIFFERENT nor EQUIVALENT,
// and the finding says what to write. One that moves on the monolith's side alone is DIFFERENT;
// one that is made wrong of what the monolith's is, UNDECIDED and named.
func TestHeadersOfEachServersOwn(t *testing.T) {
	t.Parallel()
	id := func(r *rand.Rand) []string { return []string{fmt.Sprintf("%016x", r.Uint64())} }
	word := func(r *rand.Rand) []string { return []string{[]string{"calm", "busy", "full"}[r.IntN(3)]} }
	notice := func(r *rand.Rand) []string { return []string{"maintenance"}[:r.IntN(2)] }
	for name, draw := range map[string]func(*rand.Rand) []string{"id": id, "word": word, "notice": notice} {
		for seed := range uint64(8) {
			r := rand.New(rand.NewPCG(seed, 3))
			every := time.Duration(500+r.IntN(2500)) * time.Millisecond
			v := playHeld(t, r, every, draw, nil)
			said := false
			for _, f := range v.Findings {
				said = said || strings.Contains(f.Cause, "except: [X-Snapshot]")
			}
			if v.State != whittle.Undecided || !said {
				t.Errorf("%s, every %v: %s %+v", name, every, v.Summary, v.Findings)
			}
		}
	}
	for name, wrong := range map[string]func([]string) []string{
		"a constant": func([]string) []string { return []string{"0123456789abcdef"} },
		"cut":        func(v []string) []string { return []string{v[0][:8]} },
		"reversed":   func(v []string) []string { return []string{v[0][8:] + v[0][:8]} },
	} {
		v := playHeld(t, rand.New(rand.NewPCG(1, 4)), 2*time.Second, id, wrong)
		word := either(name == "a constant", whittle.Different, whittle.Undecided)
		if v.State != word || v.Findings[0].Path != "X-Snapshot" {
			t.Errorf("%s: %s %+v", name, v.Summary, v.Findings)
		}
	}
}
