package jsondoc

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/internal/fatal"
)

func TestPaths(t *testing.T) {
	wrong := map[string]string{
		"":                             `must start with "$"`,
		"id":                           `must start with "$"`,
		"$id":                          `must follow`,
		"$.":                           "a name is missing",
		"$..":                          "a name is missing",
		"$[":                           `"]" is missing`,
		"$[x]":                         "an index",
		"$[-1]":                        "an index",
		`$["a`:                         "quoted name",
		"$..a..b..c":                   `more than two`,
		strings.Repeat("$.a", 300):     "longer than",
		"$" + strings.Repeat(".a", 65): "more than 64 steps",
	}
	for p, why := range wrong {
		_, err := ParsePath(p)
		if whittle.CodeOf(err) != whittle.Invalid || !strings.Contains(err.Error(), why) {
			t.Errorf("%.20q: %v, expected %q", p, err, why)
		}
	}
}

// TestPatternOfALongKey: a key that begins with a namespace is a place of its own, which the path
// leads to.
func TestPatternOfALongKey(t *testing.T) {
	key := "{http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd}Created"
	trail := []Place{{Key: []byte(key)}}
	back, err := ParsePath(string(AppendPattern(nil, trail)))
	if err != nil || !back.Matches(trail) {
		t.Errorf("%s: %v", AppendPattern(nil, trail), err)
	}
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{"$.items[*].price", "$..etag", `$["a\"b"][3].*`, "$", "$..[*]"} {
		f.Add(s, 3, "etag")
	}
	f.Fuzz(func(t *testing.T, s string, index int, key string) {
		p, err := ParsePath(s)
		if err != nil {
			return
		}
		trail := []Place{{Key: []byte("items")}, {Index: max(0, index)}, {Key: []byte(key)}}
		if p.Matches(trail) && !p.Covers(trail) {
			t.Fatalf("%s leads to the trail and does not cover it", s)
		}
		back, err := ParsePath(string(AppendPattern(nil, trail)))
		if err == nil && !looksLikeID([]byte(key)) && len(key) < display.KeyShown && PlainKey([]byte(key)) && !back.Matches(trail) {
			t.Fatalf("the pattern %s does not lead back", AppendPattern(nil, trail))
		}
	})
}

// fieldsOf reads the corpus of field names.
func fieldsOf(t *testing.T) (names []string) {
	t.Helper()
	text := fatal.Read(t, "testdata/fields.txt")
	for line := range strings.Lines(text) {
		if _, list, ok := strings.Cut(line, ": "); ok && line[0] != '#' {
			names = append(names, strings.Fields(list)...)
		}
	}
	return names
}

// randomKeys are keys as services draw them, n of each kind.
func randomKeys(n int) map[string][]string {
	chance := rand.New(rand.NewPCG(7, 11))
	draw := func(alphabet string, length int) string {
		b := make([]byte, length)
		for i := range b {
			b[i] = alphabet[chance.IntN(len(alphabet))]
		}
		return string(b)
	}
	const digits, capitals, small = "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
	hash := func() []byte { s := sha256.Sum256([]byte(draw(small, 20))); return s[:] }
	kinds := map[string]func() string{
		"base62 of 16 (idempotency keys)": func() string { return draw(digits+capitals+small, 16) },
		"base62 of 24":                    func() string { return draw(digits+capitals+small, 24) },
		"base62 of 32 (API keys)":         func() string { return draw(digits+capitals+small, 32) },
		"nanoid":                          func() string { return draw(digits+capitals+small+"_-", 21) },
		"base64url of a SHA-256":          func() string { return base64.RawURLEncoding.EncodeToString(hash()) },
		"base32 of a SHA-256":             func() string { return base32.StdEncoding.EncodeToString(hash())[:52] },
		"hexadecimal SHA-256":             func() string { return hex.EncodeToString(hash()) },
		"ULID":                            func() string { return "01" + draw(digits+"ABCDEFGHJKMNPQRSTVWXYZ", 24) },
		"UUID": func() string {
			h := hex.EncodeToString(hash())
			return fmt.Sprintf("%s-%s-%s-%s-%s", h[:8], h[8:12], h[12:16], h[16:20], h[20:32])
		},
		"CUID2":                               func() string { return draw(small, 1) + draw(digits+small, 23) },
		"Firebase's push id":                  func() string { return "-N" + draw(digits+capitals+small+"_-", 18) },
		"a prefixed id (cus_, pi_, in_, ch_)": func() string { return "cus_" + draw(digits+capitals+small, 14) },
		"an ObjectId":                         func() string { return hex.EncodeToString(hash())[:24] },
		"a snowflake":                         func() string { return "1" + draw(digits, 18) },
		"KSUID":                               func() string { return draw(digits+capitals+small, 27) },
		"an AWS request id":                   func() string { return draw(digits+capitals, 16) },
	}
	all := map[string][]string{}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) { // in one order: they draw from one source
		for range n {
			all[kind] = append(all[kind], kinds[kind]())
		}
	}
	return all
}

// TestFieldNamesAgainstRandomKeys counts on real field names and on keys as services
// draw them how often a key is taken for what it is not. A field that is taken for
// an id is compared with all its siblings together, so it is the worse mistake.
func TestFieldNamesAgainstRandomKeys(t *testing.T) {
	const wrongFieldsMost, missedKeysMost = 0.005, 0.08
	names := fieldsOf(t)
	if len(names) < 300 {
		t.Fatalf("%d field names, at least 300 are needed", len(names))
	}
	var taken []string
	for _, name := range names {
		if looksLikeID([]byte(name)) {
			taken = append(taken, name)
		}
	}
	keys, missed := 0, []string(nil)
	for kind, all := range randomKeys(250) {
		for _, key := range all {
			if keys++; !looksLikeID([]byte(key)) {
				missed = append(missed, kind+": "+key)
			}
		}
	}
	t.Logf("%d of %d field names are taken for ids: %q", len(taken), len(names), taken)
	t.Logf("%d of %d random keys are taken for field names", len(missed), keys)
	if float64(len(taken)) > wrongFieldsMost*float64(len(names)) {
		t.Errorf("%d of %d field names are taken for ids: %q", len(taken), len(names), taken)
	}
	if keys < 200 || float64(len(missed)) > missedKeysMost*float64(keys) {
		t.Errorf("%d of %d random keys are taken for field names: %q", len(missed), keys, missed[:min(len(missed), 30)])
	}
}
