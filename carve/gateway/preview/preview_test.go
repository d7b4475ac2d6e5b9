package preview

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"whittle"
)

const (
	key   = "0123456789abcdef"
	route = "GET /users/{id}"
)

var at = time.Unix(1_800_000_000, 0)

func now() time.Time { return at }

func reader() *Reader {
	return New(whittle.Preview{Key: key}, route)
}

// TestTokens has every token that is not one, and what becomes of the header.
func TestTokens(t *testing.T) {
	good := Sign(key, route, at.Add(time.Second))
	flipped := []byte(good)
	flipped[len(flipped)-5] ^= 1
	for name, tt := range map[string]struct {
		token string
		ok    bool
	}{
		"good":                       {good, true},
		"of another route":           {Sign(key, "GET /users/{name}", at.Add(time.Hour)), false},
		"by another key":             {Sign(key+"0", route, at.Add(time.Hour)), false},
		"expires now":                {Sign(key, route, at), false},
		"expired":                    {Sign(key, route, at.Add(-time.Hour)), false},
		"empty":                      {"", false},
		"a word":                     {"yes", false},
		"of dots":                    {"...", false},
		"version alone":              {"v1", false},
		"version and dot":            {"v1.", false},
		"no signature":               {"v1.1900000000.", false},
		"without a time":             {"v1.." + good[strings.LastIndexByte(good, '.')+1:], false},
		"another version":            {"v2" + good[2:], false},
		"without a version":          {good[3:], false},
		"with a later time":          {"v1.1900000000" + good[strings.LastIndexByte(good, '.'):], false},
		"with a huge time":           {"v1.99999999999999999999" + good[strings.LastIndexByte(good, '.'):], false},
		"with a negative time":       {"v1.-1" + good[strings.LastIndexByte(good, '.'):], false},
		"one bit flipped":            {string(flipped), false},
		"cut off":                    {good[:len(good)-1], false},
		"with more behind it":        {good + "A", false},
		"padded":                     {good + "=", false},
		"with space":                 {good + " ", false},
		"not base64":                 {good[:len(good)-2] + "%%", false},
		"other bits after the last":  {good[:len(good)-1] + string(other(good[len(good)-1])), false},
		"oversized":                  {good + strings.Repeat("A", 1<<16), false},
		"oversized, nothing of ours": {strings.Repeat("v1.", 1<<14), false},
		"with NUL":                   {good + "\x00", false},
		"upper case":                 {strings.ToUpper(good), false},
	} {
		for _, where := range []string{"header", "cookie"} {
			h := http.Header{"Accept": {"*/*"}}
			if where == "header" {
				h.Set("X-Whittle-Preview", tt.token)
			} else {
				h["Cookie"] = []string{"a=1; whittle_preview=" + tt.token + "; b=2"}
			}
			found, ok := reader().Take(h, now)
			if strings.ContainsAny(tt.token, " ") && where == "cookie" {
				continue // space at the end of a cookie is not part of it
			}
			if !found || ok != tt.ok {
				t.Errorf("%s, as a %s: found %v, valid %v, want %v", name, where, found, ok, tt.ok)
			}
			want := http.Header{"Accept": {"*/*"}}
			if where == "cookie" {
				want["Cookie"] = []string{"a=1; b=2"}
			}
			if !maps.EqualFunc(h, want, slices.Equal) {
				t.Errorf("%s, as a %s: left %v", name, where, h)
			}
		}
	}
}

// other is the next character of the alphabet: for the last of 43 it changes bits that
// no byte has.
func other(c byte) byte {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return alphabet[strings.IndexByte(alphabet, c)^1]
}

// FuzzTake: whatever comes, nothing is valid that was not signed, and no token is left.
func FuzzTake(f *testing.F) {
	f.Add("v1.1900000000.AAAA", "a=1; whittle_preview=v1.1.x")
	f.Add("", `whittle_preview="; b=";c`)
	f.Fuzz(func(t *testing.T, header, cookie string) {
		h := http.Header{"X-Whittle-Preview": {header}, "Cookie": {cookie}}
		if _, ok := reader().Take(h, now); ok && !strings.Contains(header+cookie, "v1.") {
			t.Errorf("valid: %q %q", header, cookie)
		}
		if found, _ := reader().Take(h, now); found {
			t.Errorf("left after the first: %v", h)
		}
	})
}
