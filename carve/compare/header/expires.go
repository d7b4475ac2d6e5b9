package header

import (
	"maps"
	"time"

	"whittle"
	"whittle/carve/compare/form"
)

// How long an Expires has a response kept is compared where the monolith's say the same in each
// response: its distance from the Date is held against theirs, as that of other times. Copies in
// caches and dates of data are kept for less and less, each side's for another time, so of those
// it is only named that they differ.

const (
	expires  = "Expires"
	httpDate = "Mon, 02 Jan 2006 15:04:05 GMT"
)

// Two responses are kept for as long whose lifetimes are so far apart, or less than a tenth.
const (
	expiresWithin = 2 * time.Second
	expiresTenth  = 10
)

// How long the monolith's lifetimes must have been the same. A copy that is held has less left
// by then.
const (
	keptSpanLeast  = 10 * time.Second
	keptCountLeast = 16
)

// keptSpan is what is known of the monolith's lifetimes.
type keptSpan struct {
	low, high   time.Duration
	first, last time.Time // by its Dates
	n           int
}

func (k *keptSpan) see(kept time.Duration, at time.Time) {
	if k.n++; k.n == 1 {
		k.low, k.high, k.first, k.last = kept, kept, at, at
	}
	k.low, k.high = min(k.low, kept), max(k.high, kept)
	if at.After(k.last) {
		k.last = at
	}
}

// constant reports whether all were the same, for long enough.
func (k *keptSpan) constant() bool {
	return k.n >= keptCountLeast && k.high-k.low <= expiresWithin && k.last.Sub(k.first) >= keptSpanLeast
}

// mayCompareExpires reports whether lifetimes may be compared: where the two responses are of one
// time, and noise is learned. comparesExpires reports whether they are.
func (h *Headers) mayCompareExpires() bool { return h.withNoise && !h.chosen && h.hasForm(expires) }

func (h *Headers) comparesExpires() bool { return h.mayCompareExpires() && h.values.kept.constant() }

// takeExpires makes a place of Expires once the monolith's are known to say the same. Its tests
// stand on the exchanges after that.
func (h *Headers) takeExpires(x *whittle.Exchange, n int) {
	v := h.values
	if kept := keptFor(x.Monolith.Header, x); kept > 0 {
		if at, dated := respondedAt(x.Monolith.Header, x); dated {
			v.kept.see(kept, at)
		}
	}
	if !v.places[expires] && h.comparesExpires() {
		v.Name(expires, n)
		v.place(expires)
	}
}

// lasting are a response's headers with its Expires in one way to write it, and with the
// monolith's lifetime where the response is kept for as long: which of two such lifetimes is
// whose is no matter. A pair of them is the same either way round, so a bet stays fair.
func (v *values) lasting(x *whittle.Exchange, a *whittle.Response) whittle.Header {
	kept := keptFor(a.Header, x)
	if !v.places[expires] || len(a.Header[expires]) == 0 {
		return a.Header
	}
	rewritten := maps.Clone(a.Header)
	if delete(rewritten, expires); kept == 0 {
		return rewritten // that it is not to be kept is another word
	}
	if lastAlike(x.Monolith.Header, a.Header, x) {
		kept = keptFor(x.Monolith.Header, x)
	}
	at, _ := respondedAt(a.Header, x)
	rewritten[expires] = []string{at.Add(kept).UTC().Format(httpDate)}
	return rewritten
}

// lastAlike reports whether two responses are kept for as long.
func lastAlike(a, b whittle.Header, x *whittle.Exchange) bool {
	p, q := keptFor(a, x), keptFor(b, x)
	return (p - q).Abs() <= max(expiresWithin, max(p, q)/expiresTenth)
}

// keptFor is for how long an Expires has a response be kept.
func keptFor(header whittle.Header, x *whittle.Exchange) time.Duration {
	if len(header[expires]) == 0 || headerWord(expires, header, x) != "later" {
		return 0
	}
	until, _ := form.Date(header[expires][0])
	at, _ := respondedAt(header, x)
	return until.Sub(at)
}
