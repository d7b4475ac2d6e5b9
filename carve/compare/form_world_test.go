package compare

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"whittle/internal/simtest"

	"whittle"
)

// formWorld is a service, twice, of which each response has values that change by
// themselves. Both sides draw from the same distributions, with clocks of their own.
type formWorld struct {
	r   *rand.Rand
	now time.Time
	key int
	// skew is how far the candidate's clock is ahead.
	skew time.Duration
	// shared is a counter of both sides, own one of each; cached what each side
	// keeps for a key.
	shared int
	own    [2]int
	cached [2]map[int]cachedID
	common map[int]string
	header string
	call   int // of the present exchange: 0, 1, 2
}

type cachedID struct {
	id    string
	until time.Time
}

func newFormWorld(r *rand.Rand) *formWorld {
	return &formWorld{
		r: r, now: simtest.Start, skew: time.Duration(r.IntN(4000)-2000) * time.Millisecond,
		shared: r.IntN(1e6), own: [2]int{r.IntN(1e7), r.IntN(100)},
		cached: [2]map[int]cachedID{{}, {}}, common: map[int]string{},
	}
}

// next begins an exchange.
func (w *formWorld) next() *whittle.Exchange {
	w.now = w.now.Add(time.Duration(w.r.ExpFloat64() * float64(400*time.Millisecond)))
	w.key, w.call, w.header = w.r.IntN(40), 0, ""
	x := &whittle.Exchange{At: w.now, Request: whittle.Request{Method: "GET", Target: fmt.Sprintf("/quotes/%d?user=u-%d", w.key, 1000+w.key)}}
	if w.r.IntN(2) == 0 {
		w.header = w.hex(16)
		x.Request.Header = whittle.Header{"X-Request-Id": {w.header}}
	}
	return x
}

func (w *formWorld) of(alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[w.r.IntN(len(alphabet))]
	}
	return string(b)
}

const (
	base36   = "0123456789abcdefghijklmnopqrstuvwxyz"
	base62   = base36 + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	crockfor = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
)

func (w *formWorld) hex(n int) string { return w.of(base36[:16], n) }

func (w *formWorld) uuid(version string) string {
	return w.hex(8) + "-" + w.hex(4) + "-" + version + w.hex(3) + "-a" + w.hex(3) + "-" + w.hex(12)
}

// clock is a side's time: the later calls come later.
func (w *formWorld) clock(side int) time.Time {
	t := w.now.Add(time.Duration(w.call) * time.Duration(w.r.IntN(60)) * time.Millisecond)
	if side == ofCandidate {
		t = t.Add(w.skew)
		if w.r.IntN(100) == 0 {
			t = t.Add(time.Duration(w.r.IntN(1500)) * time.Millisecond)
		}
	}
	return t
}

// cachedAt is an id that a side keeps for a key for a while.
func (w *formWorld) cachedAt(side int) string {
	c, ok := w.cached[side][w.key]
	if !ok || !w.now.Before(c.until) {
		c = cachedID{w.uuid("4"), w.now.Add(20 * time.Second)}
		w.cached[side][w.key] = c
	}
	return c.id
}

var formWords = []string{"queued", "running", "done", "failed"}

// field is one value that changes by itself.
type field struct {
	name string
	make func(w *formWorld, side int) string // JSON; empty: absent
}

func quotedJSON(s string) string { return strconv.Quote(s) }

// formFields are the kinds of noise of the simulations.
var formFields = []field{
	{"uuid", func(w *formWorld, _ int) string { return quotedJSON(w.uuid("4")) }},
	{"hex", func(w *formWorld, _ int) string { return quotedJSON(w.hex(8)) }},
	{"nano", func(w *formWorld, _ int) string { return quotedJSON(w.of(base62+"-_", 21)) }},
	{"random36", func(w *formWorld, _ int) string {
		return quotedJSON(w.of(base36, 9+int(w.r.ExpFloat64()/2)%3))
	}},
	{"ulid", func(w *formWorld, _ int) string { return quotedJSON("01J" + w.of(crockfor, 23)) }},
	{"prefixed", func(w *formWorld, _ int) string { return quotedJSON("ord_" + w.of(base62, 14)) }},
	{"base64", func(w *formWorld, _ int) string {
		return quotedJSON(base64.StdEncoding.EncodeToString([]byte(w.of(base62, 10+w.r.IntN(20)))))
	}},
	{"now", func(w *formWorld, s int) string {
		return quotedJSON(w.clock(s).UTC().Format("2006-01-02T15:04:05.000Z"))
	}},
	{"nanos", func(w *formWorld, s int) string {
		return quotedJSON(w.clock(s).Add(time.Duration(w.r.IntN(1e6))).UTC().Format(time.RFC3339Nano))
	}},
	{"expires", func(w *formWorld, s int) string {
		return quotedJSON(w.clock(s).Add(15 * time.Minute).UTC().Format(time.RFC3339))
	}},
	{"seconds", func(w *formWorld, s int) string { return strconv.FormatInt(w.clock(s).Unix(), 10) }},
	{"millis", func(w *formWorld, s int) string { return strconv.FormatInt(w.clock(s).UnixMilli(), 10) }},
	{"http", func(w *formWorld, s int) string {
		return quotedJSON(w.clock(s).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT"))
	}},
	{"day", func(w *formWorld, s int) string { return quotedJSON(w.clock(s).UTC().Format(time.DateOnly)) }},
	{"shared", func(w *formWorld, _ int) string { w.shared++; return strconv.Itoa(w.shared) }},
	{"own", func(w *formWorld, s int) string { w.own[s%2]++; return strconv.Itoa(w.own[s%2]) }},
	{"number", func(w *formWorld, _ int) string { w.shared++; return quotedJSON(fmt.Sprintf("INV-%06d", w.shared)) }},
	{"text", func(w *formWorld, _ int) string {
		return quotedJSON(strings.Repeat("lorem ipsum, ", 1+w.r.IntN(9)) + w.of(base36, w.r.IntN(9)))
	}},
	{"word", func(w *formWorld, _ int) string { return quotedJSON(formWords[min(3, int(w.r.ExpFloat64()))]) }},
	{"flag", func(w *formWorld, _ int) string { return strconv.FormatBool(w.r.IntN(10) == 0) }},
	{"price", func(w *formWorld, _ int) string { return fmt.Sprintf("%.2f", 1+w.r.ExpFloat64()*40) }},
	{"took", func(w *formWorld, s int) string { // the candidate is faster
		return strconv.Itoa(int((1 + w.r.ExpFloat64()) * [2]float64{60, 25}[s%2]))
	}},
	{"stock", func(w *formWorld, _ int) string { return strconv.Itoa(w.r.IntN(30)) }},
	{"cached", func(w *formWorld, s int) string { return quotedJSON(w.cachedAt(s % 2)) }},
	{"both", func(w *formWorld, _ int) string { // one cache for both
		if w.common[w.key] == "" || w.r.IntN(20) == 0 {
			w.common[w.key] = w.hex(12)
		}
		return quotedJSON(w.common[w.key])
	}},
	{"trace", func(w *formWorld, _ int) string {
		if w.header != "" && w.r.IntN(3) > 0 {
			return quotedJSON(w.header)
		}
		return quotedJSON(w.hex(16))
	}},
	{"pool", func(w *formWorld, _ int) string { return quotedJSON(fmt.Sprintf("conn-%04x", w.r.IntN(50))) }},
	{"maybe", func(w *formWorld, _ int) string {
		if w.r.IntN(3) > 0 {
			return ""
		}
		return quotedJSON(w.hex(6))
	}},
	{"null", func(w *formWorld, _ int) string {
		if w.r.IntN(4) > 0 {
			return "null"
		}
		return quotedJSON(w.uuid("7"))
	}},
	{"hit", func(w *formWorld, _ int) string { // who is asked second hits
		return quotedJSON([]string{"MISS", "HIT", "HIT"}[w.call])
	}},
	{"list", func(w *formWorld, _ int) string {
		list := make([]string, w.r.IntN(5))
		for i := range list {
			list[i] = quotedJSON(w.uuid("4"))
		}
		return "[" + strings.Join(list, ",") + "]"
	}},
}

// body is a side's response with the given fields.
func (w *formWorld) body(side int, fields []field) []byte {
	b := []byte(`{"currency":"EUR"`)
	for _, f := range fields {
		if v := f.make(w, side); v != "" {
			b = fmt.Appendf(b, `,%q:%s`, f.name, v)
		}
	}
	w.call++
	return append(b, '}')
}
