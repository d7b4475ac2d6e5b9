package header

import (
	"errors"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/carve/compare/body"
	"whittle/carve/compare/form"
)

// absent stands for a missing header. No value can equal it. Missing is the word shown for it.
const (
	absent  = "\x00"
	Missing = "missing"
)

// wordAs is what a response says in a header, in the monolith's words where these mean the same: an address
// on the requested host with and without the host, and lifetimes of cookies that no client can distinguish.
func wordAs(name string, x *whittle.Exchange, a *whittle.Response) string {
	switch {
	case name == SetCookie:
		return cookieWordOf(aged(cookiesOf(a.Header, x), cookiesOf(x.Monolith.Header, x)))
	case name != "Location":
		return headerWord(name, a.Header, x)
	}
	from, to := headerWord(name, x.Monolith.Header, x), headerWord(name, a.Header, x)
	// An address of the request's own target leads to another scheme, or in a circle.
	own := x.Request.Target
	if bare, ok := onHost(to, x.Request.Host); ok && isPath(from) && bare != own {
		return bare
	}
	switch bare, ok := onHost(from, x.Request.Host); {
	case !ok || !isPath(to) || bare == own || to == own || !strings.HasSuffix(from, bare):
		return to
	case bare == to:
		return from
	default:
		return strings.TrimSuffix(from, bare) + to
	}
}

func isPath(address string) bool {
	return strings.HasPrefix(address, "/") && !strings.HasPrefix(address, "//")
}

// onHost gives the path of an address on a host.
func onHost(address, host string) (path string, ok bool) {
	end := len(address)
	if scheme, rest, found := strings.Cut(address, "://"); found {
		end = len(scheme) + len("://") + len(rest[:strings.IndexAny(rest+"/", "/?#")])
	}
	u, err := url.Parse(address[:end]) // no server reads the rest as strictly
	if err != nil || host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || !strings.EqualFold(u.Host, host) {
		return "", false
	}
	if path = address[end:]; !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return path, true
}

// lists are the headers that are lists without an order and, except for methods, without case.
var lists = []string{
	"Access-Control-Allow-Headers", "Access-Control-Allow-Methods", "Access-Control-Expose-Headers", "Allow",
	"Cache-Control", "Content-Language", "Vary",
}

// members are the members of a list, each once. Whatever compresses adds Accept-Encoding to Vary, where
// it says nothing.
func members(name, v string) (out []string) {
	if name != "Allow" && name != "Access-Control-Allow-Methods" {
		v = strings.ToLower(v)
	}
	for part := range strings.SplitSeq(v, ",") {
		if part = strings.TrimSpace(part); part != "" && (name != "Vary" || part != "accept-encoding") {
			out = append(out, part)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// headerWord is a header's value in a normal form, without details that no client acts on, such as the
// order and case of directives. Of cookies it has all but the value. A nil x leaves times out.
func headerWord(name string, h whittle.Header, x *whittle.Exchange) string {
	values := h[name]
	if len(values) == 0 {
		return absent
	}
	var out []string
	switch {
	case name == SetCookie:
		return cookieWordOf(cookiesOf(h, x))
	case slices.Contains(lists, name):
		if out = members(name, strings.Join(values, ",")); len(out) == 0 && name == "Vary" {
			return absent
		}
	default:
		for _, v := range values {
			if name == "Content-Disposition" {
				v = body.Normal(v)
			}
			out = append(out, strings.TrimSpace(v))
		}
	}
	return strings.Join(out, ", ")
}

// respondedAt is when a response was given, by its own Date if there is one. For a header alone it is a
// day on which nothing that is kept has ended.
func respondedAt(h whittle.Header, x *whittle.Exchange) time.Time {
	switch at, dated := form.Date(h.Get("Date")); {
	case dated:
		return at
	case x == nil:
		return time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return x.At
}

// SetCookie is the header of cookies.
const SetCookie = "Set-Cookie"

// sentCookie is what a response says of one cookie, as clients understand it (RFC 6265, section 5.2: no
// name without a =, unknown attributes ignored, Max-Age before Expires).
type sentCookie struct {
	name, value string
	place       string   // its name, domain and path, which identify it
	says        []string // its attributes, but for the lifetime
	life        lifetime
}

// lifetime is how many seconds a client keeps a cookie; none: it removes it.
type lifetime int64

const (
	forSession lifetime = math.MaxInt64
	// longest is about 68 years. Longer lifetimes count as this one.
	longest lifetime = math.MaxInt32
	// lifeSlack is how far apart equal lifetimes may be: clocks tick between a Date and an Expires.
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

// cookiesOf are a response's cookies in an order that does not depend on the response's. A later one
// replaces an earlier one with its name, domain and path.
func cookiesOf(h whittle.Header, x *whittle.Exchange) []sentCookie {
	now := respondedAt(h, x)
	var list []sentCookie
	for _, v := range h[SetCookie] {
		list = append(list, readCookie(v, now))
	}
	slices.SortStableFunc(list, func(a, b sentCookie) int { return strings.Compare(a.place, b.place) })
	return list
}

// readCookie reads one Set-Cookie of a response given now.
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

// aged gives cookies the lifetimes of those in another list, where no client can tell.
func aged(list, as []sentCookie) []sentCookie {
	for i := range min(len(list), len(as)) {
		a, b := list[i].life, as[i].life
		if !a.isOver() && !b.isOver() && max(a, b)-min(a, b) <= lifeSlack {
			list[i].life = b
		}
	}
	return list
}
