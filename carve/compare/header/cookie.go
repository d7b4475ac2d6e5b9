package header

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/carve/compare/form"
)

// SetCookie is the header of cookies.
const SetCookie = "Set-Cookie"

// sentCookie is what a response says of one cookie, as clients understand it (RFC 6265,
// section 5.2: without a name where there is no =, unknown attributes left out,
// Max-Age before Expires).
type sentCookie struct {
	name, value string
	place       string   // its name, domain and path, which make it another cookie
	says        []string // its attributes, but for the lifetime
	life        lifetime
}

// lifetime is for how many seconds a client keeps a cookie; none: it removes it.
type lifetime int64

const (
	forSession lifetime = math.MaxInt64
	// longest is about 68 years; what lasts longer lasts as long.
	longest lifetime = math.MaxInt32
	// lifeSlack is how far apart lifetimes are that are the same: clocks tick between a Date and
	// an Expires.
	lifeSlack lifetime = 2
)

func (l lifetime) isOver() bool { return l <= 0 }

func (l lifetime) word() string {
	switch {
	case l.isOver():
		return "removed"
	case l == forSession:
		return ""
	}
	return "kept for " + strconv.FormatInt(int64(l), 10) + " s"
}

// word is the cookie without its value.
func (c *sentCookie) word() string {
	out := append([]string{c.name}, c.says...)
	if w := c.life.word(); w != "" {
		out = append(out, w)
	}
	return strings.Join(out, "; ")
}

// cookiesOf are the cookies of a response, in an order that is no matter of the response's but
// where a later one takes the place of another of its name, domain and path.
func cookiesOf(h whittle.Header, x *whittle.Exchange) []sentCookie {
	now := respondedAt(h, x)
	var list []sentCookie
	for _, v := range h[SetCookie] {
		list = append(list, readCookie(v, now))
	}
	slices.SortStableFunc(list, func(a, b sentCookie) int { return strings.Compare(a.place, b.place) })
	return list
}

// readCookie reads one Set-Cookie of a response of a time.
func readCookie(v string, now time.Time) sentCookie {
	first, rest, _ := strings.Cut(v, ";")
	name, value, named := strings.Cut(first, "=")
	if !named {
		name, value = "(no name)", first
	}
	c := sentCookie{name: strings.TrimSpace(name), value: strings.TrimSpace(value)}
	attributes := map[string]string{}
	for part := range strings.SplitSeq(rest, ";") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		attributes[strings.ToLower(strings.TrimSpace(key))] = strings.TrimSpace(value)
	}
	domain, path := strings.ToLower(strings.TrimPrefix(attributes["domain"], ".")), attributes["path"]
	c.place = c.name + ";" + domain + ";" + path
	for _, a := range [][2]string{{"domain", domain}, {"path", path}, {"samesite", strings.ToLower(attributes["samesite"])}} {
		if a[1] != "" {
			c.says = append(c.says, a[0]+"="+a[1])
		}
	}
	for _, flag := range []string{"httponly", "partitioned", "secure"} {
		if _, ok := attributes[flag]; ok {
			c.says = append(c.says, flag)
		}
	}
	c.life = lifetimeOf(attributes, now)
	return c
}

// lifetimeOf says how long a cookie is kept.
func lifetimeOf(attributes map[string]string, now time.Time) lifetime {
	age, err := strconv.ParseInt(attributes["max-age"], 10, 64)
	if strings.HasPrefix(attributes["max-age"], "+") { // RFC 6265 5.2.2
		err = strconv.ErrSyntax
	}
	if err == nil || errors.Is(err, strconv.ErrRange) { // then it is the largest or the smallest
		return max(0, min(longest, lifetime(age)))
	}
	until, ok := form.Date(attributes["expires"])
	switch {
	case !ok:
		return forSession
	case !until.After(now):
		return 0
	}
	return max(1, min(longest, lifetime(until.Unix()-now.Unix())))
}

func cookieWordOf(list []sentCookie) string {
	if len(list) == 0 {
		return absent
	}
	out := make([]string, 0, len(list))
	for i := range list {
		out = append(out, list[i].word())
	}
	return strings.Join(out, ", ")
}

// aged has cookies be kept for as long as those of another list, where no client can tell.
func aged(list, as []sentCookie) []sentCookie {
	for i := range min(len(list), len(as)) {
		a, b := list[i].life, as[i].life
		if !a.isOver() && !b.isOver() && max(a, b)-min(a, b) <= lifeSlack {
			list[i].life = b
		}
	}
	return list
}
