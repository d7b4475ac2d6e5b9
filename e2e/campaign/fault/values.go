package fault

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"html"
	"math"
	"strconv"
	"strings"

	"whittle"
	"whittle/e2e/campaign/family"
)

// values are faults in single values.
func values() []*Mutation {
	return []*Mutation{
		{Name: "rounding", Does: "amounts rounded to ten cents", Fits: has(family.Money), Do: value(family.Money, places(1, math.Round))},
		{Name: "rounding-down", Does: "amounts cut off to whole units in 1 of 20", Fits: has(family.Money), When: in(20), Do: value(family.Money, places(0, math.Floor))},
		{Name: "one-cent", Does: "one cent more on one amount in sixteen", Fits: has(family.Money), Do: value(family.Money, oneCent)},
		{Name: "float32", Does: "numbers by way of 32 bits", Fits: has(family.Float), Do: value(family.Float, float32s)},
		{Name: "off-by-one", Does: "a count is one too many", Fits: has(family.Count), Do: value(family.Count, plusOne)},
		{Name: "off-by-one-rare", Does: "a count is one too many in 1 of 100", Fits: notRandom(has(family.Count)), When: in(100), Do: value(family.Count, plusOne)},
		{Name: "encoding", Does: "UTF-8 read as Latin-1", Fits: has(family.Text), Do: value(family.Text, words(mojibake))},
		{Name: "html-escaped", Does: "& and ' as entities", Fits: has(family.Text), Do: value(family.Text, words(html.EscapeString))},
		{Name: "letter-case", Does: "a text in capitals in 1 of 50", Fits: has(family.Text), When: in(50), Do: value(family.Text, words(strings.ToUpper))},
		{Name: "enum-rare", Does: "another word of the enum in 1 of 200", Fits: has(family.Enum), When: in(200), Do: value(family.Enum, words(otherWord))},
		{Name: "enum-case", Does: "enum words in capitals", Fits: has(family.Enum), Do: value(family.Enum, words(strings.ToUpper))},
		{Name: "flag-inverted", Does: "true for false in 1 of 100", Fits: has(family.Flag), When: in(100), Do: value(family.Flag, inverted)},
		{Name: "null-missing", Does: "a member that is null is left out", Fits: has(family.Nullable), Do: value(family.Nullable, onNull(removed{}))},
		{Name: "null-empty", Does: "an empty string for null", Fits: has(family.Nullable), Do: value(family.Nullable, onNull(""))},
		{Name: "null-rare", Does: "null for a value in 1 of 50", Fits: has(family.Nullable), When: in(50), Do: value(family.Nullable, made(nil))},
		{Name: "field-missing", Does: "a member is left out in 1 of 100", Fits: hasInBody(family.Count), When: in(100), Do: value(family.Count, made(removed{}))},
		{Name: "field-added", Does: "a member that nobody asked for", Fits: isJSON, Do: addMember},
		{Name: "one-input", Does: "one of nine kinds of input is always wrong", Fits: notRandom(every), When: ofInput, Do: tamper},
		{Name: "one-tenant", Does: "one user in forty always gets wrong values", Fits: notRandom(every), When: ofTenant, Do: tamper},
		{Name: "mean-low", Does: "a random count two percent too low", Fits: named("count"), Do: value(family.Count, scaled(0.98))},
		{Name: "spread", Does: "a random count that spreads by half more", Fits: named("count"), Do: spread},
		{Name: "shared-seed", Does: "a random count that repeats for a second", Fits: named("count"), Do: sharedSeed},
	}
}

func isJSON(f *family.Family) bool { return hasInBody(family.Ref)(f) || hasInBody(family.Count)(f) }

func hasInBody(kind family.Kind) func(*family.Family) bool {
	return func(f *family.Family) bool {
		p, ok := f.Has(kind)
		return ok && p.In == family.Body
	}
}

// notRandom leaves the family out whose responses differ by nature, so that a
// wrong one among hundreds is none.
func notRandom(fits func(*family.Family) bool) func(*family.Family) bool {
	return func(f *family.Family) bool { return f.Name != "count" && fits(f) }
}

// amountOf reads an amount, which a text may have with its currency.
func amountOf(old any) (float64, int, bool) {
	n, ok := old.(json.Number)
	if !ok {
		return 0, 0, false
	}
	x, err := n.Float64()
	_, after, _ := strings.Cut(n.String(), ".")
	return x, len(after), err == nil
}

// amounts is a change of amounts: to another one, with so many decimals.
func amounts(change func(x float64, digits int) (y float64, as int)) func(*Candidate, any) any {
	return func(_ *Candidate, old any) any {
		x, digits, ok := amountOf(old)
		if !ok {
			return old
		}
		y, as := change(x, digits)
		return json.Number(strconv.FormatFloat(y, 'f', as, 64))
	}
}

// each is a change of the values of a type.
func each[T any](change func(T) any) func(*Candidate, any) any {
	return func(_ *Candidate, old any) any {
		if v, ok := old.(T); ok {
			return change(v)
		}
		return old
	}
}

// made is a change to one and the same value.
func made(fresh any) func(*Candidate, any) any {
	return func(*Candidate, any) any { return fresh }
}

// words is a change of a text.
func words(change func(string) string) func(*Candidate, any) any {
	return each(func(s string) any { return change(s) })
}

func places(n int, round func(float64) float64) func(*Candidate, any) any {
	scale := math.Pow(10, float64(n))
	return amounts(func(x float64, digits int) (float64, int) { return round(x*scale) / scale, digits })
}

func oneCent(c *Candidate, old any) any {
	if _, digits, _ := amountOf(old); digits == 0 || hash(fmt.Sprint(old))%16 != 0 {
		return old
	}
	return amounts(func(x float64, digits int) (float64, int) { return x + 0.01, digits })(c, old)
}

var (
	float32s = amounts(func(x float64, _ int) (float64, int) { return float64(float32(x)), -1 })
	inverted = each(func(b bool) any { return !b })
	plusOne  = each(func(n json.Number) any {
		i, err := n.Int64()
		switch {
		case err != nil:
			return n
		case i >= 10_000: // a sum of thousands is not wrong by one, but by one in a hundred
			return json.Number(strconv.FormatInt(i+i/100, 10))
		}
		return json.Number(strconv.FormatInt(i+1, 10))
	})
)

func scaled(by float64) func(*Candidate, any) any {
	return amounts(func(x float64, _ int) (float64, int) { return math.Round(x * by), 0 })
}

func scaledBy(by float64) func(*Candidate, any) any {
	return amounts(func(x float64, digits int) (float64, int) { return x * by, digits })
}

// mojibake is what becomes of UTF-8 that is read as Latin-1.
func mojibake(s string) string {
	r := make([]rune, len(s))
	for i := range len(s) {
		r[i] = rune(s[i])
	}
	return string(r)
}

// otherWord is a word that the enum may have as well.
func otherWord(s string) string {
	switch s {
	case "":
		return s
	case "created", "free", "EUR", "home", "/home":
		return map[string]string{"created": "packed", "free": "pro", "EUR": "USD", "home": "car", "/home": "/cart"}[s]
	}
	return map[bool]string{true: "created", false: "free"}[strings.Contains(s, "_")]
}

func onNull(fresh any) func(*Candidate, any) any {
	return func(_ *Candidate, old any) any {
		if old == nil {
			return fresh
		}
		return old
	}
}

func addMember(_ *Candidate, _ *Call, a *whittle.Response) bool {
	return editBody(a, func(doc any) bool {
		o, ok := doc.(map[string]any)
		if ok {
			o["took_ms"] = 3
		}
		return ok
	})
}

// tamper makes a response wrong in whatever it has.
func tamper(c *Candidate, call *Call, a *whittle.Response) bool {
	for _, try := range []struct {
		kind   family.Kind
		change func(*Candidate, any) any
	}{
		{family.Count, plusOne}, {family.Money, scaledBy(1.1)}, {family.Text, words(strings.ToUpper)}, {family.Enum, words(otherWord)},
	} {
		if value(try.kind, try.change)(c, call, a) {
			return true
		}
	}
	// A redirect, an error or an empty page has its bytes alone.
	a.Body = append(a.Body[:len(a.Body):len(a.Body)], "<!-- -->"...)
	return true
}

func hash(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // a hash takes all
	x := h.Sum64()
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	return x ^ x>>31
}

func ofInput(_ *Candidate, call *Call) bool {
	return hash(call.Request.Target+string(call.Request.Body))%9 == 0
}

func ofTenant(_ *Candidate, call *Call) bool { return hash(fmt.Sprint("tenant ", call.User))%40 == 0 }

func spread(_ *Candidate, call *Call, a *whittle.Response) bool {
	var in struct {
		Times float64 `json:"times"`
	}
	if json.Unmarshal(call.Request.Body, &in) != nil {
		return false
	}
	place, _ := call.Family.Has(family.Count)
	mean := 50 * in.Times
	wider := amounts(func(x float64, _ int) (float64, int) { return math.Round(mean + 1.5*(x-mean)), 0 })
	return edit(a, place, func(old any) any { return wider(nil, old) })
}

// sharedSeed gives all requests of a second the response of its first.
func sharedSeed(c *Candidate, call *Call, a *whittle.Response) bool {
	key := fmt.Sprint(call.World.Now.Unix()/2, string(call.Request.Body))
	old, ok := c.cached[key]
	if !ok {
		c.cached = map[string]cached{key: {response: *a}}
		return false
	}
	*a = old.response
	a.Latency = call.Right.Latency
	return true
}
