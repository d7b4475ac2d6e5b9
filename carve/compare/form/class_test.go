package form

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"testing"

	"whittle"
	"whittle/carve/compare/comparetest"
	"whittle/carve/compare/jsondoc"
	"whittle/internal/fatal"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"":                                     "an empty string",
		"3f2504e0-4f89-41d3-9a0c-0305e82c3301": "a UUID v4",
		"3F2504E0-4F89-71D3-9A0C-0305E82C3301": "a UUID v7 in upper case",
		"00000000-0000-0000-0000-000000000000": "a UUID v0",
		"3f2504e04f8941d39a0c0305e82c3301":     "hexadecimal",
		"3F2504E04F89":                         "hexadecimal in upper case",
		"01ARZ3NDEKTSV4RRFFQ69G5FAV":           "letters and digits in upper case",
		"01arz3ndektsv4rrffq69g5fav":           "letters and digits",
		"123456":                               "digits",
		"-12.50":                               "a number in a string with one or two decimals",
		"12.000":                               "a number in a string without decimals",
		"open":                                 "a word",
		"inProgress":                           "a word",
		"NOT_FOUND":                            "a word in upper case",
		"facade":                               "a word",
		"k3j9x2m1":                             "letters and digits",
		"aB3dE5fG7h":                           "letters and digits in mixed case",
		"V1StGXR8_Z5jdHi6B-myT":                "letters and digits with dashes",
		"aGVsbG8gd29ybGQ=":                     "letters and digits as base64",
		"ord_8f3aKx92LmQp":                     "a prefixed id (letters and digits in mixed case)",
		"INV-000123":                           "a prefixed id (digits)",
		"user-3f2504e0-4f89-41d3-9a0c-0305e82c3301":       "a prefixed id (a UUID v4)",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dQ": "a JWT",
		"2026-05-04T12:00:00Z":                            "a time as 2006-01-02T15:04:05Z",
		"2026-05-04T12:00:00.123Z":                        "a time as 2006-01-02T15:04:05.000Z",
		"2026-05-04T12:00:00.123456789+02:00":             "a time as 2006-01-02T15:04:05.000000000+02:00",
		"2026-05-04T12:00:00.123456-0530":                 "a time as 2006-01-02T15:04:05.000000-0530",
		"2026-05-04T12:00:00":                             "a time as 2006-01-02T15:04:05",
		"2026-05-04 12:00:00":                             "a time as 2006-01-02 15:04:05",
		"2026-05-04":                                      "a time as 2006-01-02",
		"2026-13-04":                                      "text",
		"2026-05-04T25:00:00Z":                            "text",
		"2026-05-04T12:00:00.Z":                           "text",
		"Mon, 04 May 2026 12:00:00 GMT":                   "a time as Mon, 02 Jan 2006 15:04:05 GMT",
		"Mon, 04 May 2026 12:00:00 +0200":                 "a time as Mon, 02 Jan 2006 15:04:05 -0700",
		"1777896000":                                      "a time in seconds since 1970, in a string",
		"1777896000123":                                   "a time in milliseconds since 1970, in a string",
		"ann@example.org":                                 "text",
		"https://example.org/a?b=1":                       "text",
		"10.0.0.12":                                       "text",
		"Hello, world":                                    "text",
		"Zoë":                                             "text",
	} {
		if got, _ := classify([]byte(s)); got.String() != want {
			t.Errorf("%q is %s, not %s", s, got, want)
		}
	}
}

func TestNumberForm(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"0": "an integer", "-5": "an integer", "12.0": "an integer", "1e3": "an integer", "1.5": "a number with one or two decimals",
		"1.50": "a number with one or two decimals", "0.125": "a number with three to six decimals", "0.1234567891": "a number with seven or more decimals",
		"1777896000": "a time in seconds since 1970", "1777896000123": "a time in milliseconds since 1970",
		"1777896000123456": "a time in microseconds since 1970", "1777896000123456789": "a time in nanoseconds since 1970", "999999999": "an integer",
		"99999999999999999999999": "an integer",
	} {
		fatal.Same(t, valueOfNumber([]byte(s)).form.String(), want, "%s", s)
	}
}

// FuzzClassify: no text makes it fail, and the form of a text says nothing of the
// text but its class.
func FuzzClassify(f *testing.F) {
	for _, s := range []string{"", "a", "2026-05-04T12:00:00Z", "ord_1", "-", "1.", "eyJ..", "x@y.z", "\xff\xfe"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, s []byte) {
		a, at := classify(s)
		b, again := classify(append([]byte{}, s...))
		if a != b || !at.Equal(again) || a.class == "" || len(a.String()) == 0 || len(a.String()) > 120 {
			t.Errorf("%q: %+v, %+v", s, a, b)
		}
	})
}

// TestTrailOf: what jsondoc.AppendPattern writes is read as a place with the same pattern.
func TestTrailOf(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"$", "$.a.b", "$.a[*].b", "$[*][*]", "$.users.*.name", `$["odd key"].x`, `$["a\"]b"][*]`, `$[""]`, "$.a.*"} {
		fatal.Same(t, string(jsondoc.AppendPattern(nil, TrailOf(p))), p, "%s as it is read", p)
	}
}

func TestDurations(t *testing.T) {
	for _, s := range []string{"1m30s", "14m30.5s", "PT14M30S", "250ms"} {
		if _, ok := durationOf([]byte(s)); !ok {
			t.Errorf("%s is none", s)
		}
	}
	for _, s := range []string{"", "14", "m", "a1b2c3", "12 apples", "1.2.3", "ord_12", "P", "3x"} {
		if _, ok := durationOf([]byte(s)); ok {
			t.Errorf("%s is one", s)
		}
	}
}

// TestRulesAreNamedExactly: a form with spaces around it is refused, since no value is of it.
func TestRulesAreNamedExactly(t *testing.T) {
	t.Parallel()
	c := comparetest.FormComparison
	for name, ok := range map[string]bool{"uuid": true, " uuid": false, "any": true, "any ": false, "": false} {
		c.Forms = []whittle.FieldForm{{Path: "$.id", Form: name}}
		if _, err := New(c); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestGuessableIDs: ids whose last third is always the same are suspected where the monolith's is new,
// and not where each server ends its ids in its own way, as version 1 of UUIDs does, nor where requests
// that come at one moment get ids that end in the time.
func TestGuessableIDs(t *testing.T) {
	t.Parallel()
	random := func(r *rand.Rand) string { return fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64()) }
	uuid := func(r *rand.Rand, end string) string {
		s := random(r)
		return s[:8] + "-" + s[8:12] + "-4" + s[13:16] + "-a" + s[17:20] + "-" + cmp.Or(end, s[20:])
	}
	asked := 0
	for _, tc := range []struct {
		what      string
		ids       [2]func(r *rand.Rand) string // of the monolith and the candidate
		suspected bool
	}{
		{"hex", [2]func(*rand.Rand) string{random, random}, false},
		{"a UUID", [2]func(*rand.Rand) string{
			func(r *rand.Rand) string { return uuid(r, "") }, func(r *rand.Rand) string { return uuid(r, "000000000000") },
		}, true},
		{"a prefixed id", [2]func(*rand.Rand) string{
			func(r *rand.Rand) string { return "ord_" + random(r) }, func(r *rand.Rand) string { return "ord_" + random(r)[12:] + "000000000000" },
		}, true},
		{"an end of each server's", [2]func(*rand.Rand) string{
			func(r *rand.Rand) string { return uuid(r, "0242ac120002") }, func(r *rand.Rand) string { return uuid(r, "0242ac120003") },
		}, false},
		{"the time at its end, of sixteen requests at a moment", [2]func(*rand.Rand) string{
			func(r *rand.Rand) string { asked++; return random(r)[:8] + fmt.Sprintf("-%013d", asked*7919) },
			func(r *rand.Rand) string { return random(r)[:8] + fmt.Sprintf("-%013d", asked/16*16*7919) },
		}, false},
	} {
		f := formsOf(t, comparetest.FormComparison)
		playedOf(t, f, "$.id", source(15), 2000, func(r *rand.Rand, _, side int) string { return `{"id":"` + tc.ids[side](r) + `"}` })
		if found := f.Findings(); (len(found) > 0) != tc.suspected || decidedOf(f) != nil {
			t.Errorf("%s: %+v", tc.what, found)
		}
	}
}
