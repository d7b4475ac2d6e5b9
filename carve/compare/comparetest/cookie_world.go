package comparetest

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"time"

	"whittle"
)

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
		again := response(2)
		x.Repeat = &again
	}
	return x
}

// NewCookieWorld draws a world from a seed.
func NewCookieWorld(seed uint64) *CookieWorld {
	return &CookieWorld{FormWorld: NewFormWorld(rand.New(rand.NewPCG(seed, 31)))}
}
