package header

import (
	"cmp"
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
	// before and after are the attributes but for the lifetime, in the order of the
	// alphabet, with the lifetime between them.
	before, after []string
	life          lifetime
	// loose says that the lifetime is that of a date, without a Date to hold it
	// against.
	loose bool
	// of is what a client knows it by: name, domain and path. replaced says that a
	// later one of the response takes its place.
	of       [3]string
	replaced bool
}

// lifetime is how many seconds a client keeps a cookie.
type lifetime int64

const (
	removed    lifetime = 0
	forSession lifetime = -1
)

// Lifetimes that are as far apart are the same: clocks tick between a Date and an
// Expires, and without a Date the candidate is asked later.
const (
	lifeSlack      lifetime = 2
	lifeSlackLoose lifetime = 60
)

// lifeMost is about 317 years; what lasts longer lasts as long.
const lifeMost lifetime = 1e10

func (l lifetime) word() string {
	switch l {
	case removed:
		return "removed"
	case forSession:
		return ""
	}
	return "kept for " + strconv.FormatInt(int64(l), 10) + " s"
}

// word is the cookie without its value.
func (c *sentCookie) word() string {
	out := append([]string{c.name}, c.before...)
	if w := c.life.word(); w != "" {
		out = append(out, w)
	}
	return strings.Join(append(out, c.after...), "; ")
}

// sameBut reports whether two cookies have the same name and attributes, whatever
// their lifetimes.
func (c *sentCookie) sameBut(o *sentCookie) bool {
	return c.name == o.name && slices.Equal(c.before, o.before) && slices.Equal(c.after, o.after)
}

// cookiesOf are the cookies of a response, in an order that is no matter of the
// response's.
func cookiesOf(h whittle.Header, x *whittle.Exchange) []sentCookie {
	now, dated := respondedAt(h, x)
	var list []sentCookie
	for _, v := range h[SetCookie] {
		c := readCookie(v, now, dated)
		for i := range list {
			if list[i].of == c.of && !list[i].replaced {
				list[i].replaced = true
				list[i].after = append(list[i].after, "replaced by a later one")
			}
		}
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(a, b sentCookie) int {
		return cmp.Or(strings.Compare(a.name, b.name), slices.Compare(a.before, b.before), slices.Compare(a.after, b.after), cmp.Compare(a.life, b.life))
	})
	return list
}

// readCookie reads one Set-Cookie of a response of a time, which it says itself where
// dated is set.
func readCookie(v string, now time.Time, dated bool) sentCookie {
	first, rest, _ := strings.Cut(v, ";")
	name, value, named := strings.Cut(first, "=")
	if !named {
		name, value = "(no name)", first
	}
	c := sentCookie{name: strings.TrimSpace(name), value: strings.TrimSpace(value)}
	c.of[0] = c.name
	attributes := map[string]string{}
	for part := range strings.SplitSeq(rest, ";") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		attributes[strings.ToLower(strings.TrimSpace(key))] = strings.TrimSpace(value)
	}
	if s := attributes["domain"]; s != "" {
		c.of[1] = strings.ToLower(strings.TrimPrefix(s, "."))
		c.before = append(c.before, "domain="+c.of[1])
	}
	for _, flag := range []string{"httponly", "partitioned"} {
		if _, ok := attributes[flag]; ok {
			c.before = append(c.before, flag)
		}
	}
	c.life, c.loose = lifetimeOf(attributes, now, dated)
	if s := attributes["path"]; s != "" {
		c.of[2] = s
		c.after = append(c.after, "path="+s)
	}
	if s := attributes["samesite"]; s != "" {
		c.after = append(c.after, "samesite="+strings.ToLower(s))
	}
	if _, ok := attributes["secure"]; ok {
		c.after = append(c.after, "secure")
	}
	return c
}

// lifetimeOf says how long a cookie is kept; loose is that of a sentCookie.
func lifetimeOf(attributes map[string]string, now time.Time, dated bool) (l lifetime, loose bool) {
	if age := attributes["max-age"]; age != "" && strings.Trim(strings.TrimPrefix(age, "-"), "0123456789") == "" && age != "-" {
		if age[0] == '-' || strings.Trim(age, "0") == "" {
			return removed, false
		}
		n, err := strconv.ParseInt(age, 10, 64)
		if err != nil {
			return lifeMost, false
		}
		return min(lifeMost, lifetime(n)), false
	}
	until, ok := form.Date(attributes["expires"])
	switch {
	case !ok:
		return forSession, false
	case !until.After(now):
		return removed, false
	}
	return min(lifeMost, max(1, lifetime(until.Unix()-now.Unix()))), !dated
}

func cookieWordOf(list []sentCookie) string {
	if len(list) == 0 {
		return absent
	}
	var out []string
	for i := range list {
		out = append(out, list[i].word())
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// cookieWords are what two responses say in their cookies. Lifetimes that no client
// can distinguish are the same, in the same words whoever has which.
func cookieWords(a, b whittle.Header, x *whittle.Exchange) (from, to string) {
	p, q := cookiesOf(a, x), cookiesOf(b, x)
	for i, k := 0, 0; i < len(p) && k < len(q); i, k = i+1, k+1 {
		if !p[i].sameBut(&q[k]) {
			break // something else differs anyway
		}
		slack := lifeSlack
		if p[i].loose || q[k].loose {
			slack = lifeSlackLoose
		}
		if d := p[i].life - q[k].life; p[i].life > 0 && q[k].life > 0 && d <= slack && d >= -slack {
			p[i].life = min(p[i].life, q[k].life)
			q[k].life = p[i].life
		}
	}
	return cookieWordOf(p), cookieWordOf(q)
}

// masked is a Set-Cookie without the value.
func masked(v string) string {
	first, rest, attributes := strings.Cut(v, ";")
	name, _, named := strings.Cut(first, "=")
	switch {
	case named:
		v = name + "=…"
	default:
		v = "…"
	}
	if attributes {
		v += ";" + rest
	}
	return v
}
