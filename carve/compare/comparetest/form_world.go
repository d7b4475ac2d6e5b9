package comparetest

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/internal/simtest"
)

// FormWorld is a service, twice, of which each response has values that change by
// themselves. Both sides draw from the same distributions, with clocks of their own.
type FormWorld struct {
	R   *rand.Rand
	now time.Time
	Key int // of the present request
	// skew is how far the candidate's clock is ahead.
	skew time.Duration
	// shared is a counter of both sides, Own one of each; cached what each side
	// keeps for a key.
	shared int
	Own    [2]int
	cached [2]map[int]cachedID
	common map[int]string
	header string
	Call   int // of the present exchange: 0, 1, 2
}

type cachedID struct {
	id    string
	until time.Time
}

// candidateSide is the number of the candidate's response; the monolith's is 0, its repeat's 2.
const candidateSide = 1

// NewFormWorld is a service, twice, with clocks and counters drawn from r.
func NewFormWorld(r *rand.Rand) *FormWorld {
	return &FormWorld{
		R: r, now: simtest.Start, skew: time.Duration(r.IntN(4000)-2000) * time.Millisecond,
		shared: r.IntN(1e6), Own: [2]int{r.IntN(1e7), r.IntN(100)},
		cached: [2]map[int]cachedID{{}, {}}, common: map[int]string{},
	}
}

// Next begins an exchange.
func (w *FormWorld) Next() *whittle.Exchange {
	w.now = w.now.Add(time.Duration(w.R.ExpFloat64() * float64(400*time.Millisecond)))
	w.Key, w.Call, w.header = w.R.IntN(40), 0, ""
	x := &whittle.Exchange{At: w.now, Request: whittle.Request{Method: "GET", Target: fmt.Sprintf("/quotes/%d?user=u-%d", w.Key, 1000+w.Key)}}
	if w.R.IntN(2) == 0 {
		w.header = w.Hex(16)
		x.Request.Header = whittle.Header{"X-Request-Id": {w.header}}
	}
	return x
}

// Of draws a text of n characters of an alphabet.
func (w *FormWorld) Of(alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[w.R.IntN(len(alphabet))]
	}
	return string(b)
}

// The alphabets that ids are drawn from.
const (
	base36    = "0123456789abcdefghijklmnopqrstuvwxyz"
	Base62    = base36 + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	Crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
)

// Hex draws n hexadecimal digits.
func (w *FormWorld) Hex(n int) string { return w.Of(base36[:16], n) }

// UUID draws a UUID of a version, one digit.
func (w *FormWorld) UUID(version string) string {
	return w.Hex(8) + "-" + w.Hex(4) + "-" + version + w.Hex(3) + "-a" + w.Hex(3) + "-" + w.Hex(12)
}

// Clock is a side's time: the later calls come later.
func (w *FormWorld) Clock(side int) time.Time {
	t := w.now.Add(time.Duration(w.Call) * time.Duration(w.R.IntN(60)) * time.Millisecond)
	if side == candidateSide {
		t = t.Add(w.skew)
		if w.R.IntN(100) == 0 {
			t = t.Add(time.Duration(w.R.IntN(1500)) * time.Millisecond)
		}
	}
	return t
}

// CachedAt is an id that a side keeps for a key for a while.
func (w *FormWorld) CachedAt(side int) string {
	c, ok := w.cached[side][w.Key]
	if !ok || !w.now.Before(c.until) {
		c = cachedID{w.UUID("4"), w.now.Add(20 * time.Second)}
		w.cached[side][w.Key] = c
	}
	return c.id
}

// FormWords are the words of the field that has words.
var FormWords = []string{"queued", "running", "done", "failed"}

// Field is one value that changes by itself.
type Field struct {
	Name string
	Make func(w *FormWorld, side int) string // JSON; empty: absent
}

// QuotedJSON is a text as JSON.
func QuotedJSON(s string) string { return strconv.Quote(s) }

// FormFields are the kinds of noise of the simulations.
var FormFields = []Field{
	{"uuid", func(w *FormWorld, _ int) string { return QuotedJSON(w.UUID("4")) }},
	{"hex", func(w *FormWorld, _ int) string { return QuotedJSON(w.Hex(8)) }},
	{"nano", func(w *FormWorld, _ int) string { return QuotedJSON(w.Of(Base62+"-_", 21)) }},
	{"random36", func(w *FormWorld, _ int) string {
		return QuotedJSON(w.Of(base36, 9+int(w.R.ExpFloat64()/2)%3))
	}},
	{"ulid", func(w *FormWorld, _ int) string { return QuotedJSON("01J" + w.Of(Crockford, 23)) }},
	{"prefixed", func(w *FormWorld, _ int) string { return QuotedJSON("ord_" + w.Of(Base62, 14)) }},
	{"base64", func(w *FormWorld, _ int) string {
		return QuotedJSON(base64.StdEncoding.EncodeToString([]byte(w.Of(Base62, 10+w.R.IntN(20)))))
	}},
	{"now", func(w *FormWorld, s int) string {
		return QuotedJSON(w.Clock(s).UTC().Format("2006-01-02T15:04:05.000Z"))
	}},
	{"nanos", func(w *FormWorld, s int) string {
		return QuotedJSON(w.Clock(s).Add(time.Duration(w.R.IntN(1e6))).UTC().Format(time.RFC3339Nano))
	}},
	{"expires", func(w *FormWorld, s int) string {
		return QuotedJSON(w.Clock(s).Add(15 * time.Minute).UTC().Format(time.RFC3339))
	}},
	{"seconds", func(w *FormWorld, s int) string { return strconv.FormatInt(w.Clock(s).Unix(), 10) }},
	{"millis", func(w *FormWorld, s int) string { return strconv.FormatInt(w.Clock(s).UnixMilli(), 10) }},
	{"http", func(w *FormWorld, s int) string {
		return QuotedJSON(w.Clock(s).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT"))
	}},
	{"day", func(w *FormWorld, s int) string { return QuotedJSON(w.Clock(s).UTC().Format(time.DateOnly)) }},
	{"shared", func(w *FormWorld, _ int) string { w.shared++; return strconv.Itoa(w.shared) }},
	{"own", func(w *FormWorld, s int) string { w.Own[s%2]++; return strconv.Itoa(w.Own[s%2]) }},
	{"number", func(w *FormWorld, _ int) string { w.shared++; return QuotedJSON(fmt.Sprintf("INV-%06d", w.shared)) }},
	{"text", func(w *FormWorld, _ int) string {
		return QuotedJSON(strings.Repeat("lorem ipsum, ", 1+w.R.IntN(9)) + w.Of(base36, w.R.IntN(9)))
	}},
	{"word", func(w *FormWorld, _ int) string { return QuotedJSON(FormWords[min(3, int(w.R.ExpFloat64()))]) }},
	{"flag", func(w *FormWorld, _ int) string { return strconv.FormatBool(w.R.IntN(10) == 0) }},
	{"price", func(w *FormWorld, _ int) string { return fmt.Sprintf("%.2f", 1+w.R.ExpFloat64()*40) }},
	{"took", func(w *FormWorld, s int) string { // the candidate is faster
		return strconv.Itoa(int((1 + w.R.ExpFloat64()) * [2]float64{60, 25}[s%2]))
	}},
	{"stock", func(w *FormWorld, _ int) string { return strconv.Itoa(w.R.IntN(30)) }},
	{"cached", func(w *FormWorld, s int) string { return QuotedJSON(w.CachedAt(s % 2)) }},
	{"both", func(w *FormWorld, _ int) string { // one cache for both
		if w.common[w.Key] == "" || w.R.IntN(20) == 0 {
			w.common[w.Key] = w.Hex(12)
		}
		return QuotedJSON(w.common[w.Key])
	}},
	{"trace", func(w *FormWorld, _ int) string {
		if w.header != "" && w.R.IntN(3) > 0 {
			return QuotedJSON(w.header)
		}
		return QuotedJSON(w.Hex(16))
	}},
	{"pool", func(w *FormWorld, _ int) string { return QuotedJSON(fmt.Sprintf("conn-%04x", w.R.IntN(50))) }},
	{"maybe", func(w *FormWorld, _ int) string {
		if w.R.IntN(3) > 0 {
			return ""
		}
		return QuotedJSON(w.Hex(6))
	}},
	{"null", func(w *FormWorld, _ int) string {
		if w.R.IntN(4) > 0 {
			return "null"
		}
		return QuotedJSON(w.UUID("7"))
	}},
	{"hit", func(w *FormWorld, _ int) string { // who is asked second hits
		return QuotedJSON([]string{"MISS", "HIT", "HIT"}[w.Call])
	}},
	{"list", func(w *FormWorld, _ int) string {
		list := make([]string, w.R.IntN(5))
		for i := range list {
			list[i] = QuotedJSON(w.UUID("4"))
		}
		return "[" + strings.Join(list, ",") + "]"
	}},
}

// Body is a side's response with the given fields.
func (w *FormWorld) Body(side int, fields []Field) []byte {
	b := []byte(`{"currency":"EUR"`)
	for _, f := range fields {
		if v := f.Make(w, side); v != "" {
			b = fmt.Appendf(b, `,%q:%s`, f.Name, v)
		}
	}
	w.Call++
	return append(b, '}')
}

// CookieWorld makes the cookies of two services that are the same.
type CookieWorld struct {
	*FormWorld
}

// jar is what a side sets: a session that is new each time, one that it keeps for a
// user, a signed one, a language, a counter, a time, and one that it removes at times.
func (w *CookieWorld) jar(side int) []string {
	now := w.Clock(side)
	list := []string{
		"sid=" + w.Hex(32) + "; Path=/; HttpOnly; Secure; Max-Age=86400",
		"csrf=" + base64.RawURLEncoding.EncodeToString([]byte(w.Of(Base62, 24))) + "; Expires=" + now.Add(time.Hour).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT"),
		"lang=" + FormWords[w.Key%4] + "; Path=/",
		"auth=s%3A" + w.Of(Base62, 20) + "." + w.Of(Base62, 27),
		"seen=" + fmt.Sprint(now.Unix()) + "; Max-Age=31536000",
		"keep=" + w.CachedAt(side%2) + "; Max-Age=" + fmt.Sprint(600-w.Key),
	}
	switch w.Key % 3 {
	case 0:
		list = append(list, "flash="+w.Of(Base62, 9)+"; Path=/cart")
	case 1:
		list = append(list, "flash=; Path=/cart; Max-Age=0")
	}
	w.R.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	return list
}

// Exchange makes an exchange of equal services; one in 20 is asked twice.
func (w *CookieWorld) Exchange(n int) *whittle.Exchange {
	x := w.Next()
	response := func(side int) whittle.Response {
		w.Call = side
		h := whittle.Header{"Set-Cookie": w.jar(side)}
		if w.Key%2 == 0 {
			h["Date"] = []string{w.Clock(side).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")}
		}
		return whittle.Response{Status: 200, Header: h, Body: []byte("{}")}
	}
	x.Monolith, x.Candidate = response(0), response(candidateSide)
	if n%20 == 10 {
		x.Repeat = new(response(2))
	}
	return x
}

// NewCookieWorld draws a world from a seed.
func NewCookieWorld(seed uint64) *CookieWorld {
	return &CookieWorld{FormWorld: NewFormWorld(rand.New(rand.NewPCG(seed, 31)))}
}
