package compare

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/simtest"
)

// kindWorld is one side's part of an exchange in which a service makes values anew.
type kindWorld struct {
	r         *rand.Rand
	user, key int
	now       time.Time
	calls     *int // of this side so far
}

// kindSaid is what a side says.
type kindSaid struct {
	body   string
	header whittle.Header
}

type kindMakes func(w kindWorld) kindSaid

// kind is a monolith, and a candidate that is wrong in one way.
type kind struct {
	name                string
	monolith, candidate kindMakes
	word                whittle.State // what must be said of the candidate
	says                string        // in the findings, or what the coverage says
}

func inBody(format string, values func(w kindWorld) []any) kindMakes {
	return func(w kindWorld) kindSaid { return kindSaid{body: fmt.Sprintf(format, values(w)...)} }
}

func inHeader(name, format string, values func(w kindWorld) []any) kindMakes {
	return func(w kindWorld) kindSaid {
		return kindSaid{body: `{"ok":true}`, header: whittle.Header{name: {fmt.Sprintf(format, values(w)...)}}}
	}
}

// values are what a side puts into a format.
type values = func(kindWorld) []any

// ofBody and ofHeader make what a side says in a format.
func ofBody(format string) func(values) kindMakes {
	return func(v values) kindMakes { return inBody(format, v) }
}

func ofHeader(name, format string) func(values) kindMakes {
	return func(v values) kindMakes { return inHeader(name, format, v) }
}

// erring is a candidate that puts other values into the format than the monolith.
func erring(name string, says func(values) kindMakes, word whittle.State, words string, of func(w kindWorld, bad bool) []any) kind {
	makes := func(bad bool) kindMakes { return says(func(w kindWorld) []any { return of(w, bad) }) }
	return kind{name, makes(false), makes(true), word, words}
}

// unlike are two services that are the same but for what the other one has of its own.
func unlike(name string, says func(values) kindMakes, of func(w kindWorld, other bool) []any) kind {
	return erring(name, says, "", "", of)
}

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

func lettersOf(w kindWorld, letters string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[w.r.IntN(len(letters))]
	}
	return string(b)
}

func randomUUID(w kindWorld) string {
	a, b := w.r.Uint64(), w.r.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", a>>32, a>>16&0xffff, a>>4&0xfff, b>>52, b&0xffffffffffff)
}

// someMilli is a time of the exchange's second, in milliseconds.
func someMilli(w kindWorld) time.Time {
	return w.now.UTC().Truncate(time.Second).Add(time.Duration(w.r.IntN(1000)) * time.Millisecond)
}

// moment is when a side responds, some time after it was asked.
func moment(w kindWorld) time.Time {
	return w.now.UTC().Add(time.Duration(w.r.IntN(600)) * time.Millisecond)
}

func randomID(w kindWorld) string { return fmt.Sprintf("%016x", w.r.Uint64()) }

// adverts are pairs that belong together.
var adverts = []string{"a1f3", "b27c", "c3d9", "d41e", "e5a0", "f6b8", "a7c2", "b8d5"}

func advert(id, title int) string {
	return fmt.Sprintf(`{"id":%q,"title":"Title of %s"}`, adverts[id], adverts[title][:1])
}

// sample is a list of four of nine things; some may be there twice, and they may be in order.
func sample(twice, sorted bool) kindMakes {
	return func(w kindWorld) kindSaid {
		pick := w.r.Perm(9)[:4]
		if twice {
			for i := range pick {
				pick[i] = w.r.IntN(9)
			}
		}
		if sorted {
			slices.Sort(pick)
		}
		var items []string
		for _, k := range pick {
			items = append(items, fmt.Sprintf(`{"id":"p%d","price":%d.50}`, k*37%100, 10+k*7))
		}
		return kindSaid{body: `{"items":[` + strings.Join(items, ",") + "]}"}
	}
}

func coded(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// constantID is where an id that each response makes anew is a constant.
const constantID = "8f3a61c27be90d54"

const anyNumber = "nothing tells a wrong number from one that each server measures"

const milliseconds = "2006-01-02T15:04:05.000Z"

// usersCookie sets a user's id, in a bad service another one's in 1 of 50 responses, next to a language.
func usersCookie(bad bool) kindMakes {
	return func(w kindWorld) kindSaid {
		id := 4000 + w.user
		if bad && w.r.IntN(50) == 0 {
			id++
		}
		return kindSaid{body: `{"ok":true}`, header: whittle.Header{"Set-Cookie": {fmt.Sprint("uid=", id), "lang=de"}}}
	}
}

// wrongKinds are candidates that were EQUIVALENT once.
var wrongKinds = []kind{
	erring("a constant state in a Location", ofHeader("Location", "https://idp.example/authorize?state=%s&n=%d"), whittle.Different, "Location",
		func(w kindWorld, bad bool) []any { return []any{either(bad, constantID, randomID(w)), w.key} }),
	erring("a constant nonce in a header", ofHeader("X-Nonce", "%s"), whittle.Different, "X-Nonce",
		func(w kindWorld, bad bool) []any { return []any{either(bad, constantID, randomID(w))} }),
	erring("a constant cursor in a Link", ofHeader("Link", `</items?cursor=%s&page=%d>; rel="next"`), whittle.Different, "Link",
		func(w kindWorld, bad bool) []any { return []any{either(bad, constantID, randomID(w)), w.key} }),
	erring("another page next to a random cursor in a Link", ofHeader("Link", `</items?cursor=%s&page=%d>; rel="next"`),
		whittle.Equivalent, "header Link Reason:text without a form",
		func(w kindWorld, bad bool) []any { return []any{randomID(w), w.key + either(bad, 1, 0)} }),
	erring("a constant took_ms", ofBody(`{"a":1,"took_ms":%d}`), whittle.Undecided, "write compare.form: {$.took_ms: integer}",
		func(w kindWorld, bad bool) []any { return []any{either(bad, 42, 30+w.r.IntN(90))} }),
	erring("a constant timing with decimals", ofBody(`{"a":1,"timings":{"db":%.2f}}`), whittle.Undecided, "write compare.form: {$.timings.db: decimal}",
		func(w kindWorld, bad bool) []any { return []any{either(bad, 12.25, 3+w.r.Float64()*20)} }),
	erring("an id outside the set", ofBody(`{"a":1,"node":%q}`), whittle.Undecided, "$.node is one and the same value in",
		func(w kindWorld, bad bool) []any { return []any{adverts[w.r.IntN(either(bad, 6, 5))]} }),
	erring("random numbers of half the range", ofBody(`{"a":1,"draw":%d}`), whittle.Undecided, anyNumber,
		func(w kindWorld, bad bool) []any { return []any{1 + w.r.IntN(either(bad, 50, 100))} }),
	erring("random numbers of ten times the range", ofBody(`{"a":1,"draw":%d}`), whittle.Undecided, anyNumber,
		func(w kindWorld, bad bool) []any { return []any{1 + w.r.IntN(either(bad, 1000, 100))} }),
	{"an element drawn twice", sample(false, false), sample(true, false), whittle.Undecided, "$.items has the same elements in another order"},
	{"the order within a random list", sample(false, true), sample(false, false), whittle.Undecided, "$.items has the same elements in another order"},
	erring("values that no longer go together", ofBody(`{"a":1,"ad":%s}`), whittle.Equivalent, "$.ad.title (which) Reason:of values out of a set",
		func(w kindWorld, bad bool) []any {
			k := w.r.IntN(6)
			return []any{advert(k, either(bad, w.r.IntN(6), k))}
		}),
	erring("the user's id in a cookie", ofHeader("Set-Cookie", "uid=u-%d; Path=/"), whittle.Equivalent, "Set-Cookie uid",
		func(w kindWorld, _ bool) []any { return []any{4000 + w.user} }),
	erring("another user's id in a cookie", ofHeader("Set-Cookie", "uid=u-%d; Path=/"),
		whittle.Undecided, "out of a set, of which it is not compared which one goes with the request", idOfAnother),
	erring("another user's number in a cookie", ofHeader("Set-Cookie", "uid=%d; Path=/"), whittle.Undecided,
		"Set-Cookie uid is larger than the monolith's", idOfAnother),
	erring("another user's id in a cookie with a nonce", ofHeader("Set-Cookie", "uid=u-%d.%s; Path=/"), whittle.Undecided, "no value of a cookie is compared",
		func(w kindWorld, bad bool) []any { return append(idOfAnother(w, bad), randomID(w)) }),
	erring("another offset inside base64", ofBody(`{"a":1,"cursor":%q}`), whittle.Equivalent, "$.cursor (alphabet)",
		func(w kindWorld, bad bool) []any {
			return []any{coded(fmt.Sprintf("offset=%d&nonce=%s", w.key*20+either(bad, 1, 0), randomID(w)))}
		}),
	erring("another offset inside base64 of JSON", ofBody(`{"a":1,"cursor":%q}`), whittle.Equivalent, "$.cursor (alphabet)",
		func(w kindWorld, bad bool) []any {
			return []any{coded(fmt.Sprintf(`{"o":%d,"n":%q}`, w.key*20+either(bad, 1, 0), randomID(w)))}
		}),
	erring("times without the zeros at their end", ofBody(`{"a":1,"at":%q}`), whittle.Different, "instead of a time as 2006-01-02T15:04:05.000Z",
		func(w kindWorld, bad bool) []any {
			return []any{someMilli(w).Format(either(bad, "2006-01-02T15:04:05.999Z", milliseconds))}
		}),
	erring("fractions of a second without the zeros before them", ofBody(`{"a":1,"at":%q}`), whittle.Different, "instead of a time as 2006-01-02T15:04:05.000Z",
		func(w kindWorld, bad bool) []any {
			at := someMilli(w)
			return []any{either(bad, fmt.Sprintf("%s.%dZ", at.Format("2006-01-02T15:04:05"), at.Nanosecond()/1e6), at.Format(milliseconds))}
		}),
	erring("another year in a number that is given out", ofBody(`{"a":1,"invoice":"INV-%d-%06d"}`), whittle.Equivalent, "$.invoice Reason:text without a form",
		func(w kindWorld, bad bool) []any { return []any{either(bad, 2025, 2026), *w.calls} }),
	erring("a UUID whose end is always 0", ofBody(`{"a":1,"id":%q}`), whittle.Undecided, "$.id repeats the end of an earlier id",
		func(w kindWorld, bad bool) []any {
			id := randomUUID(w)
			return []any{id[:24] + either(bad, "000000000000", id[24:])}
		}),
	erring("codes of a tenth of the range", ofBody(`{"a":1,"code":"%06d"}`), whittle.Undecided, "$.code is smaller than the monolith's in",
		func(w kindWorld, bad bool) []any { return []any{w.r.IntN(either[int](bad, 1e5, 1e6))} }),
	erring("a date in a header that is nearer", ofHeader("Sunset", "%s"), whittle.Different, "header Sunset is a time at another distance",
		func(w kindWorld, bad bool) []any { return []any{inDays(w, either(bad, 30, 90))} }),
	erring("a session id of half the bits in a cookie", ofHeader("Set-Cookie", "sid=%s; Path=/"),
		whittle.Undecided, "Set-Cookie sid repeats the end of an earlier id",
		func(w kindWorld, bad bool) []any {
			return []any{randomID(w) + either(bad, "0000000000000000", randomID(w))}
		}),
	erring("another state under random keys", ofBody(`{"a":1,"jobs":{%q:{"state":%q}}}`), whittle.Equivalent, "$.jobs.* Reason:members whose names vary",
		func(w kindWorld, bad bool) []any { return []any{randomID(w), either(bad, "shut", "open")} }),
	{"another user's id in one of two cookies", usersCookie(false), usersCookie(true), whittle.Undecided, "values of Set-Cookie uid differ"},
	erring("a counter that counts double", ofBody(`{"a":1,"seq":%d}`), whittle.Equivalent, "$.seq (size) Reason:a number that rises or falls",
		func(w kindWorld, bad bool) []any { return []any{*w.calls * either(bad, 2, 1)} }),
}

// idOfAnother is the user's id, and of a candidate that is wrong another user's.
func idOfAnother(w kindWorld, bad bool) []any {
	return []any{4000 + either(bad, (w.user+1)%12, w.user)}
}

// inDays is a date of HTTP so many days after a side responds.
func inDays(w kindWorld, days int) string {
	return moment(w).Add(time.Duration(days) * 24 * time.Hour).Format(http.TimeFormat)
}

// equalKinds are services that are the same but for what each server has of its own.
var equalKinds = []kind{
	both("an integer of a range", inBody(`{"a":1,"draw":%d}`, func(w kindWorld) []any { return []any{1 + w.r.IntN(100)} })),
	both("a number with decimals", inBody(`{"a":1,"score":%.2f}`, func(w kindWorld) []any { return []any{float64(w.key) + w.r.Float64()} })),
	both("a nearly constant number", inBody(`{"a":1,"draw":%d}`, func(w kindWorld) []any { return []any{either(w.r.IntN(20) > 0, 42, w.r.IntN(100))} })),
	unlike("a faster candidate", ofBody(`{"a":1,"took_ms":%d}`), func(w kindWorld, other bool) []any {
		return []any{either(other, int(w.r.ExpFloat64()), 30+w.r.IntN(90))}
	}),
	unlike("a candidate that takes 0.2 ms", ofBody(`{"a":1,"took":%.1f}`), func(w kindWorld, other bool) []any {
		return []any{either(other, 0.1+float64(w.r.IntN(3))/10, 3+w.r.ExpFloat64()*20)}
	}),
	unlike("a candidate without other clients", ofBody(`{"a":1,"active_connections":%d}`), func(w kindWorld, other bool) []any {
		return []any{either(other, 1, 20+w.r.IntN(9))}
	}),
	unlike("each server's own tokens for a user", ofHeader("Set-Cookie", "sid=%016x; Path=/"), func(w kindWorld, other bool) []any {
		return []any{uint64(w.user+1) * either[uint64](other, 0xbf58476d1ce4e5b9, 0x9e3779b97f4a7c15)}
	}),
	unlike("instances behind a name", ofHeader("X-Via", "%016x"), func(w kindWorld, other bool) []any {
		return []any{uint64(w.r.IntN(either(other, 2, 3))+1) * either[uint64](other, 0xbf58476d1ce4e5b9, 0x9e3779b97f4a7c15)}
	}),
	both("a state in a Location", inHeader("Location", "https://idp.example/authorize?state=%s&n=%d", func(w kindWorld) []any { return []any{randomID(w), w.key} })),
	both("a time in a Location", inHeader("Location", "/s?exp=%d&sig=%s&n=%d", func(w kindWorld) []any { return []any{w.now.Unix() + 900, randomID(w), w.key} })),
	both("a number in a Location", inHeader("Location", "/jobs/%d", func(w kindWorld) []any { return []any{*w.calls} })),
	both("two links", inHeader("Link", `</items?cursor=%s&page=%d>; rel="next", </items?page=%d>; rel=last`, func(w kindWorld) []any { return []any{randomID(w), w.key, 30} })),
	both("a date in a header", inHeader("Sunset", "%s", func(w kindWorld) []any { return []any{inDays(w, 90)} })),
	{name: "a date that each server refreshes in a header", monolith: refreshedDate(0), candidate: refreshedDate(3 * time.Second)},
	both("a nonce in a header", inHeader("X-Nonce", "%s", func(w kindWorld) []any { return []any{randomID(w)} })),
	both("a time taken in a header", inHeader("X-Took", "%.3f", func(w kindWorld) []any { return []any{w.r.ExpFloat64()} })),
	both("an id of a set", inBody(`{"a":1,"node":%q}`, func(w kindWorld) []any { return []any{adverts[w.r.IntN(5)]} })),
	both("an id of a set with a seldom one", inBody(`{"a":1,"node":%q}`, func(w kindWorld) []any { return []any{adverts[min(7, int(w.r.ExpFloat64()*1.2))]} })),
	both("an id of a large set", inBody(`{"a":1,"node":"conn-%04x"}`, func(w kindWorld) []any { return []any{w.r.IntN(50)} })),
	both("a list without an element twice", sample(false, false)),
	both("a list with elements twice", sample(true, false)),
	both("a list in order", sample(false, true)),
	both("a pair", inBody(`{"a":1,"ad":%s}`, func(w kindWorld) []any { k := w.r.IntN(6); return []any{advert(k, k)} })),
	both("no pair", inBody(`{"a":1,"ad":%s}`, func(w kindWorld) []any { return []any{advert(w.r.IntN(6), w.r.IntN(6))} })),
	both("a pair, seldom another", inBody(`{"a":1,"ad":%s}`, func(w kindWorld) []any {
		k := w.r.IntN(6)
		return []any{advert(k, either(w.r.IntN(40) == 0, w.r.IntN(6), k))}
	})),
	both("pairs that move", pairsLate(0)),
	{name: "many pairs that move, which the candidate reads first", monolith: movingPairs(8 * time.Second), candidate: movingPairs(0)},
	{name: "a set that gets others, which the candidate reads first", monolith: movingSet(8 * time.Second), candidate: movingSet(0)},
	unlike("a variant that each server draws for a user", ofHeader("Set-Cookie", "ab=v%d00; Path=/"), func(w kindWorld, other bool) []any {
		return []any{w.user / either(other, 2, 1) % 2}
	}),
	{name: "pairs that move, copied late", monolith: pairsLate(0), candidate: pairsLate(4 * time.Second)},
	both("a user's id in a cookie", inHeader("Set-Cookie", "uid=u-%d; Path=/", func(w kindWorld) []any { return []any{4000 + w.user} })),
	both("base64 of text with a nonce", inBody(`{"a":1,"cursor":%q}`, func(w kindWorld) []any { return []any{coded(fmt.Sprintf("offset=%d&nonce=%s", w.key*20, randomID(w)))} })),
	both("base64 of random text", inBody(`{"a":1,"cursor":%q}`, func(w kindWorld) []any { return []any{coded(fmt.Sprintf("%x %s", w.r.IntN(1e6), randomID(w)))} })),
}

// idKinds are ids and times of two servers that make them alike, each with a part of its own:
// the machine, the process, where a counter stands.
var idKinds = []kind{
	both("a UUID v4", inBody(`{"a":1,"id":%q}`, func(w kindWorld) []any { return []any{randomUUID(w)} })),
	both("a token", inBody(`{"a":1,"id":%q}`, func(w kindWorld) []any { return []any{lettersOf(w, crockford, 16)} })),
	both("a token of small letters too", inBody(`{"a":1,"id":%q}`, func(w kindWorld) []any {
		return []any{lettersOf(w, crockford+"abcdefghijklmnopqrstuvwxyz", 12)}
	})),
	both("a code", inBody(`{"a":1,"code":"%06d"}`, func(w kindWorld) []any { return []any{w.r.IntN(1e6)} })),
	both("milliseconds", inBody(`{"a":1,"at":%q}`, func(w kindWorld) []any { return []any{someMilli(w).Format(milliseconds)} })),
	both("milliseconds without zeros", inBody(`{"a":1,"at":%q}`, func(w kindWorld) []any { return []any{someMilli(w).Format(time.RFC3339Nano)} })),
	both("base64url", inBody(`{"a":1,"id":%q}`, func(w kindWorld) []any { return []any{coded(randomID(w)[:7] + "\xff" + randomID(w))} })),
	both("a session id in a cookie", inHeader("Set-Cookie", "sid=%s; Path=/", func(w kindWorld) []any { return []any{randomID(w) + randomID(w)} })),
	ofServers("an id with the machine and a counter", func(w kindWorld, server int) string {
		return fmt.Sprintf("%08x%010x%06x", w.now.Unix(), 0x9e3779b97f+uint64(server)*0x1234567891, 0x3a01f7+server*0x111111+*w.calls)
	}),
	ofServers("an id with the process and a counter", func(w kindWorld, server int) string {
		return fmt.Sprintf("c%s%04d%s%s", strconv.FormatInt(w.now.UnixMilli(), 36), (server*500+*w.calls)%10000, []string{"k3x9", "p07q"}[server], strconv.FormatInt(1e12+w.r.Int64N(1e12), 36))
	}),
	ofServers("a number of the time, the worker and a counter", func(w kindWorld, server int) string {
		return strconv.FormatInt(w.now.UnixMilli()<<20|int64(3+14*server)<<12|int64(*w.calls&4095), 10)
	}),
	ofServers("a UUID v1", func(w kindWorld, server int) string {
		at := uint64(w.now.UnixNano()/100) + uint64(w.r.IntN(1e6))
		return fmt.Sprintf("%08x-%04x-1%03x-9a3f-%012x", uint32(at), uint16(at>>32), at>>48&0xfff, 0x9e3779b97f4a+uint64(server)*0x123456789)
	}),
}

// ofServers are ids of which a part is the server's own.
func ofServers(name string, id func(w kindWorld, server int) string) kind {
	return unlike(name, ofBody(`{"a":1,"id":%q}`), func(w kindWorld, other bool) []any { return []any{id(w, either(other, 1, 0))} })
}

// pairsLate are pairs that a server reads late.
func pairsLate(by time.Duration) kindMakes {
	return inBody(`{"a":1,"ad":%s}`, func(w kindWorld) []any {
		k := w.r.IntN(6)
		return []any{advert(k, (k+int(w.now.Add(-by).Sub(simtest.Start)/(15*time.Second)))%6)}
	})
}

// movingPairs are 40 pairs that all change every 20 seconds, read late.
func movingPairs(by time.Duration) kindMakes {
	return inBody(`{"a":1,"ad":{"id":"a%04d","title":"t%04d"}}`, func(w kindWorld) []any {
		k := w.r.IntN(40)
		return []any{k, (k + int(w.now.Add(-by).Sub(simtest.Start)/(20*time.Second))) % 40}
	})
}

// movingSet is a set of 20 of which five are others every 20 seconds, read late.
func movingSet(by time.Duration) kindMakes {
	return inBody(`{"a":1,"node":"n%04x"}`, func(w kindWorld) []any {
		return []any{w.r.IntN(20) + 5*int(w.now.Add(-by).Sub(simtest.Start)/(20*time.Second))}
	})
}

// refreshedDate is a date that a server makes anew every seven seconds, from some moment on.
func refreshedDate(since time.Duration) kindMakes {
	return inHeader("X-Snapshot-At", "%s", func(w kindWorld) []any {
		return []any{moment(w).Add(since).Truncate(7 * time.Second).Add(-since).Format(http.TimeFormat)}
	})
}

func both(name string, makes kindMakes) kind {
	return kind{name: name, monolith: makes, candidate: makes}
}

// playKind plays exchanges of a kind, of 12 users and 30 requests. It ends where the verdict is
// DIFFERENT, which is looked at now and then, and says whether it was ever EQUIVALENT before.
func playKind(t testing.TB, k *kind, seed uint64, n int, every time.Duration) (v whittle.Verdict, equivalent bool) {
	t.Helper()
	j := judgeOf(t, whittle.Comparison{Kind: whittle.JSON, LearnNoise: true, AllHeaders: true, Confidence: 0.99, MinCompared: 300})
	r := rand.New(rand.NewPCG(seed, 41))
	calls := [2]int{}
	plain := whittle.Header{"Content-Type": {"application/json"}} // of responses without headers of their own
	for i := range n {
		user, key, now := r.IntN(12), r.IntN(30), simtest.Start.Add(time.Duration(i)*every)
		say := func(makes kindMakes, side int) whittle.Response {
			calls[side]++
			s := makes(kindWorld{r, user, key, now, &calls[side]})
			if s.header == nil {
				return whittle.Response{Status: 200, Body: []byte(s.body), Header: plain}
			}
			s.header["Content-Type"] = plain["Content-Type"]
			return whittle.Response{Status: 200, Body: []byte(s.body), Header: s.header}
		}
		cookie := whittle.Header{"Cookie": {fmt.Sprintf("s=%04d", user*717)}}
		request := whittle.Request{Method: "GET", Target: fmt.Sprintf("/x/%d", key), Header: cookie}
		x := &whittle.Exchange{At: now, User: uint64(user) + 1, Request: request}
		x.Monolith, x.Candidate = say(k.monolith, 0), say(k.candidate, 1)
		if i%20 == 19 {
			x.Repeat = new(say(k.monolith, 0))
		}
		if j.Observe(x); i%50 != 49 {
			continue
		}
		v = j.Verdict()
		if equivalent = equivalent || v.State == whittle.Equivalent; v.State == whittle.Different {
			break
		}
	}
	return j.Verdict(), equivalent
}

// TestWrongKinds: each kind gets its word, and what a finding or, where nothing is found, the
// coverage says.
func TestWrongKinds(t *testing.T) {
	t.Parallel()
	for i := range wrongKinds {
		k := &wrongKinds[i]
		v, _ := playKind(t, k, 1, 1500, 100*time.Millisecond)
		said := fmt.Sprintf("%+v %+v", v.Findings, v.Bounds)
		if k.word == whittle.Equivalent {
			said = fmt.Sprintf("%+v", v.Coverage)
		}
		if v.State != k.word || !strings.Contains(said, k.says) {
			t.Errorf("%s: %s\n%.900s", k.name, v.Summary, said)
		}
	}
}

// TestWordsOfSetsAndPairs: an EQUIVALENT says in its summary or its coverage what it knows of values
// that come out of a set, or are of each side's own.
func TestWordsOfSetsAndPairs(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a pair":                              "2 not compared $.ad.id which, $.ad.title which",
		"each server's own tokens for a user": "Set-Cookie sid: hexadecimal",
		"a number in a Location":              "header Location",
	} {
		i := slices.IndexFunc(equalKinds, func(k kind) bool { return k.name == name })
		v, _ := playKind(t, &equalKinds[i], 1, 1500, 100*time.Millisecond)
		said := strings.NewReplacer("(", "", ")", "").Replace(v.Summary)
		for _, f := range v.Coverage.ByForm {
			said += "; " + f.Path + ": " + f.Form
		}
		if v.State != whittle.Equivalent || !strings.Contains(said, want) {
			t.Errorf("%s: %s %+v", name, v.Summary, v.Bounds)
		}
	}
}

// TestIdsOfEqualServersAreEquivalent: ids that two servers make alike, with a part that is each
// server's own, are EQUIVALENT; of 100 runs at most 5 are not.
//
// Hypothesis: the characters that vary are exchangeable. Error rate: of each place 0.001, by
// which EQUIVALENT is not said, and 0.01 for all else, what a judge may spend. Source: Ville's
// inequality. SIM_RUNS takes more runs.
func TestIdsOfEqualServersAreEquivalent(t *testing.T) {
	t.Parallel()
	simtest.AtMost(0.05, 0.002).Play(t, "not EQUIVALENT", func(run int) bool {
		k := &idKinds[run%len(idKinds)]
		v, _ := playKind(t, k, uint64(run), 1500, 100*time.Millisecond)
		if v.State != whittle.Equivalent {
			t.Logf("%s: %s %.600v", k.name, v.Summary, v.Findings)
		}
		return v.State != whittle.Equivalent
	})
}

// TestEqualKindsRaiseNoAlarm: services that are the same, but for what each has of its own,
// are called DIFFERENT in at most 5 of 100 runs.
//
// Hypothesis: given the request and the past, the two sides' values are exchangeable. Error
// rate: 0.01, what a judge may spend. Source: Ville's inequality. SIM_RUNS takes more runs.
func TestEqualKindsRaiseNoAlarm(t *testing.T) {
	t.Parallel()
	simtest.AtMost(0.05, 0.001).Play(t, "refused", func(run int) bool {
		k := &equalKinds[run%len(equalKinds)]
		v, _ := playKind(t, k, uint64(run), 300, 400*time.Millisecond)
		if v.State == whittle.Different {
			t.Logf("%s: %s %.600v", k.name, v.Summary, v.Findings)
		}
		return v.State == whittle.Different
	})
}
