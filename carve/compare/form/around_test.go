package form

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare/comparetest"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/noise"
	"whittle/internal/simtest"
)

// TestWordsAroundWhatVaries: in a text that is another one in each response, other words
// are found within 60 exchanges, and nothing where both sides write alike, also where they
// write the parameters of a link or the claims of a token in another order.
func TestWordsAroundWhatVaries(t *testing.T) {
	t.Parallel()
	jwt := func(claims string, r *rand.Rand) string {
		of := base64.RawURLEncoding.EncodeToString
		return of([]byte(`{"alg":"HS256"}`)) + "." + of(fmt.Appendf(nil, claims, r.IntN(1e9))) + "." + of(fmt.Append(nil, r.Uint64()))
	}
	texts := func(format string) func(int, *rand.Rand) string {
		return func(id int, r *rand.Rand) string { return fmt.Sprintf(format, id, r.Uint64()) }
	}
	lasts := func(seconds int64) func(int, *rand.Rand) string {
		return func(id int, r *rand.Rand) string {
			return fmt.Sprintf("https://cdn.example/o/%d?Expires=%d&Signature=%x", id, simtest.Start.Unix()+seconds, r.Uint64())
		}
	}
	sub := func(user func(id int) int) func(int, *rand.Rand) string {
		return func(id int, r *rand.Rand) string {
			return jwt(fmt.Sprintf(`{"sub":"u%d","iat":%%d}`, user(id)), r)
		}
	}
	tips := []string{"Drink %d water 0x%x", "Sleep %d well 0x%x", "Walk %d more 0x%x"}
	anyTip := func(id int, r *rand.Rand) string { return fmt.Sprintf(tips[r.IntN(3)], id, r.Uint64()) }
	for _, c := range []struct {
		name                string
		monolith, candidate func(id int, r *rand.Rand) string
		want                bool
	}{
		{"a link", texts("https://cdn.example/o/%d?Expires=1&Signature=%x"), texts("https://cdn.example/o/%d?Expires=1&Signature=%x"), false},
		{"a link, parameters in another order", texts("https://cdn.example/o/%d?a=b&Signature=%x"), texts("https://cdn.example/o/%d?Signature=%x&a=b"), false},
		{"a link to another host", texts("https://cdn.example/o/%d?Signature=%x"), texts("https://cdn.internal/o/%d?Signature=%x"), true},
		{"a link to another thing", texts("https://cdn.example/o/%d?Signature=%x"), texts("https://cdn.example/o/1%d?Signature=%x"), true},
		{"a path in another folder", texts("prod/orders/%d/%x.json"), texts("test/orders/%d/%x.json"), true},
		{"a sentence", texts("Order %d, rendered in %x"), texts("Invoice %d, rendered in %x"), true},
		{"an address", texts("t%d+%x@mail.example"), texts("t%d+%x@mail.test"), true},
		{"one of three sentences", anyTip, anyTip, false},
		{"a token", func(_ int, r *rand.Rand) string { return jwt(`{"iat":%d,"role":"user"}`, r) }, func(_ int, r *rand.Rand) string { return jwt(`{"role":"user", "iat":%d}`, r) }, false},
		{"a link of a quarter of an hour", lasts(900), lasts(900), false},
		{"a link of a fortnight", lasts(900), lasts(14 * 86400), true},
		{"a user's token", sub(func(id int) int { return id % 400 }), sub(func(id int) int { return id % 400 }), false},
		{"one user's token for all", sub(func(id int) int { return id % 400 }), sub(func(int) int { return 0 }), true},
		{"another role in a token", func(_ int, r *rand.Rand) string { return jwt(`{"iat":%d,"role":"user"}`, r) }, func(_ int, r *rand.Rand) string { return jwt(`{"iat":%d,"role":"admin"}`, r) }, true},
	} {
		r := rand.New(rand.NewPCG(3, 4))
		f := formsOf(t, comparetest.FormComparison)
		f.take(noise.Key{Path: "$.v", Way: jsondiff.HowValue}, 0)
		shown := false
		for n := 1; n <= 60; n++ {
			id := 100 + r.IntN(900)
			x := &whittle.Exchange{At: simtest.Start.Add(time.Duration(n) * 25 * time.Millisecond)}
			x.Request.Target = fmt.Sprint("/orders/", id)
			x.Request.Header = whittle.Header{"X-User": {fmt.Sprint("u", id%400)}}
			x.Monolith.Body = fmt.Appendf(nil, `{"v":%q}`, c.monolith(id, r))
			x.Candidate.Body = fmt.Appendf(nil, `{"v":%q}`, c.candidate(id, r))
			f.See(x, nil, 0.01, n)
			for _, found := range f.Findings() {
				shown = shown || found.Decided
			}
		}
		if shown != c.want {
			t.Errorf("%s: called different %v: %+v", c.name, shown, f.Findings())
		}
	}
}
