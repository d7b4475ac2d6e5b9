// Package preview signs and checks the tokens that send a tester's request to a route's
// candidate at any share. A token names nobody: anybody who has it may use it, for one
// route and until it expires.
package preview

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
)

// maxToken bounds what is looked at, in bytes. A token has 58.
const maxToken = 96

const version = "v1"

// A token is in one of these. Field also says in a previewed response who gave it.
const (
	Field  = "X-Whittle-Preview"
	Cookie = "whittle_preview"
)

// Sign makes a token for a route that is valid until a time, to the second.
//
// It is the version, the time in seconds since 1970, and HMAC-SHA256 (RFC 2104) over
// both and the route's name, which the token itself does not have.
func Sign(key, route string, until time.Time) string {
	stamp := strconv.FormatInt(until.Unix(), 10)
	return version + "." + stamp + "." + base64.RawURLEncoding.EncodeToString(mac(key, route, stamp))
}

func mac(key, route, stamp string) []byte {
	h := hmac.New(sha256.New, []byte(key))
	for _, part := range []string{"whittle preview", version, stamp, route} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return h.Sum(nil)
}

// valid reports whether a token was signed for the route and has not expired. How long
// it takes does not depend on how much of the signature is right.
func valid(key, route, token string, now time.Time) bool {
	if len(token) > maxToken {
		return false
	}
	stamp, sum, ok := strings.Cut(strings.TrimPrefix(token, version+"."), ".")
	if !ok || !strings.HasPrefix(token, version+".") {
		return false
	}
	until, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || now.Unix() >= until {
		return false
	}
	got, err := base64.RawURLEncoding.Strict().DecodeString(sum)
	return err == nil && hmac.Equal(got, mac(key, route, stamp))
}

// Reader takes the tokens out of a route's requests.
type Reader struct {
	key, route string
}

// New makes the reader of a route.
func New(p whittle.Preview, route string) *Reader {
	return &Reader{key: p.Key, route: route}
}

// Take removes what a request carries in the header Field and the cookie Cookie, and
// reports whether there was something, and whether it is a token that is valid at now.
// So no upstream sees a token. The other cookies stay as they came.
func (r *Reader) Take(h http.Header, now func() time.Time) (found, ok bool) {
	if values := h[Field]; values != nil {
		delete(h, Field)
		found = true
		ok = len(values) == 1 && valid(r.key, r.route, values[0], now())
	}
	if token, there := takeCookie(h); there {
		found = true
		ok = ok || valid(r.key, r.route, token, now())
	}
	return found, ok
}

// takeCookie removes all cookies of a token and gives the first one's value.
func takeCookie(h http.Header) (token string, found bool) {
	const field = "Cookie"
	lines := h[field]
	if !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, Cookie) }) {
		return "", false
	}
	var kept []string
	for _, line := range lines {
		rest, value, there := without(line)
		switch {
		case !there:
			kept = append(kept, line)
			continue
		case rest != "":
			kept = append(kept, rest)
		}
		if !found {
			token, found = value, true
		}
	}
	if h[field] = kept; len(kept) == 0 {
		delete(h, field)
	}
	return token, found
}

// without is a line of cookies without those of a token, and the first one's value.
func without(line string) (rest, value string, found bool) {
	var kept []string
	for part := range strings.SplitSeq(line, ";") {
		name, v, _ := strings.Cut(strings.Trim(part, " \t"), "=")
		if name != Cookie {
			kept = append(kept, part)
			continue
		}
		if !found {
			value, found = strings.Trim(v, `"`), true
		}
	}
	return strings.Trim(strings.Join(kept, ";"), " \t"), value, found
}

// Mark tells the client, in a response's header, that the candidate has responded, and keeps
// the response out of caches on the way, which would give it to everybody.
func Mark(h http.Header) {
	h[Field] = []string{whittle.Candidate.String()}
	h["Cache-Control"] = []string{"no-store"}
	delete(h, "Cdn-Cache-Control")
	delete(h, "Surrogate-Control")
}
