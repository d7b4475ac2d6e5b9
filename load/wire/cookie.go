package wire

import (
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"whittle/load/expr"
)

// Bounds on a virtual user's cookies. RFC 6265, section 6.1, asks clients for
// 50 a domain and 4096 bytes each.
const (
	maxCookies     = 100
	maxCookieBytes = 4096
)

// jar holds one virtual user's cookies (RFC 6265). It has no list of public
// suffixes: a plan's targets are its author's own. The zero value is empty.
type jar struct {
	noEmpty bool     // a cookie that is set to nothing is removed
	cookies []cookie // oldest first
}

type cookie struct {
	name, value  string
	domain, path string
	hostOnly     bool
	secure       bool
	expires      time.Time // zero: with the user
}

// hostOf is an endpoint's host without its port: cookies ignore ports.
func hostOf(e *endpoint) string {
	host, _, err := net.SplitHostPort(e.address)
	if err != nil {
		host = e.address
	}
	return strings.ToLower(host)
}

// setFromHeader stores the cookie of a Set-Cookie header, of a response from a host
// to a request for a path.
func (j *jar) setFromHeader(line, host, path string, now time.Time) {
	if len(line) > maxCookieBytes {
		return
	}
	h, err := http.ParseSetCookie(line)
	if err != nil {
		return
	}
	c := cookie{name: h.Name, value: h.Value, domain: host, hostOnly: true, secure: h.Secure, path: h.Path}
	if domain := strings.ToLower(strings.TrimPrefix(h.Domain, ".")); domain != "" {
		if !domainMatches(host, domain) {
			return
		}
		c.domain, c.hostOnly = domain, domain == host && net.ParseIP(host) != nil
	}
	if !strings.HasPrefix(c.path, "/") {
		c.path = defaultPath(path)
	}
	switch {
	case h.MaxAge > 0:
		c.expires = now.Add(time.Duration(min(h.MaxAge, 1<<30)) * time.Second)
	case h.MaxAge < 0:
		c.expires = now
	default:
		c.expires = cookieDate(h.RawExpires)
	}
	if j.noEmpty && c.value == "" && !h.Quoted {
		c.expires = now
	}
	j.put(c, now)
}

// dateForms are those of HTTP, and of servers that write dashes.
var dateForms = []string{"Mon, 2 Jan 2006 15:04:05 MST", "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2-Jan-2006 15:04:05 MST", "Mon, 2-Jan-06 15:04:05 MST", time.RFC850, time.ANSIC}

// cookieDate is when a cookie expires. Zero: with the user, where the date is in no known form.
func cookieDate(text string) time.Time {
	for _, form := range dateForms {
		if t, err := time.Parse(form, text); err == nil {
			return t
		}
	}
	return time.Time{}
}

// put stores a cookie and replaces an earlier one of its name, domain and path.
func (j *jar) put(c cookie, now time.Time) {
	for i := range j.cookies {
		if o := &j.cookies[i]; o.name == c.name && o.domain == c.domain && o.path == c.path {
			if c.expired(now) {
				j.cookies = slices.Delete(j.cookies, i, i+1)
			} else {
				*o = c
			}
			return
		}
	}
	if c.expired(now) {
		return
	}
	if len(j.cookies) >= maxCookies {
		j.cookies = slices.Delete(j.cookies, 0, 1)
	}
	j.cookies = append(j.cookies, c)
}

// has reports whether there is a cookie of that name, domain and path.
func (j *jar) has(c *cookie) bool {
	return slices.ContainsFunc(j.cookies, func(o cookie) bool { return o.name == c.name && o.domain == c.domain && o.path == c.path })
}

func (c *cookie) expired(now time.Time) bool {
	return !c.expires.IsZero() && !c.expires.After(now)
}

// domainMatches is RFC 6265, section 5.1.3.
func domainMatches(host, domain string) bool {
	return host == domain || strings.HasSuffix(host, "."+domain) && net.ParseIP(host) == nil
}

// defaultPath is RFC 6265, section 5.1.4.
func defaultPath(target string) string {
	path, _, _ := strings.Cut(target, "?")
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

func pathMatches(target, path string) bool {
	at, _, _ := strings.Cut(target, "?")
	rest, ok := strings.CutPrefix(at, path)
	return ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(path, "/"))
}

// appendHeader writes the cookie header for a request, the longer paths first;
// nothing where no cookie fits.
func (j *jar) appendHeader(dst []byte, e *endpoint, target string, now time.Time) []byte {
	host := hostOf(e)
	var fit []*cookie
	for i := range j.cookies {
		c := &j.cookies[i]
		if !c.expired(now) && (c.domain == host || !c.hostOnly && domainMatches(host, c.domain)) &&
			pathMatches(target, c.path) && (!c.secure || e.tls != nil) {
			fit = append(fit, c)
		}
	}
	slices.SortStableFunc(fit, func(a, b *cookie) int { return len(b.path) - len(a.path) })
	for i, c := range fit {
		if i == 0 {
			dst = append(dst, "cookie: "...)
		} else {
			dst = append(dst, "; "...)
		}
		dst = append(append(append(dst, c.name...), '='), c.value...)
	}
	if len(fit) > 0 {
		dst = append(dst, "\r\n"...)
	}
	return dst
}

// storeCookies stores a response's cookies in the user's jar.
func (c *Client) storeCookies(q *request) {
	if q.NoCookies || !c.resp.setsCookies {
		return
	}
	if !c.sendsCookies && c.keepsCookies {
		return // they began with a response before this one, of the same request
	}
	expr.EachField(c.resp.head, "set-cookie", func(line []byte) {
		target := c.first // of cookies that are the first, as Artillery has it
		if c.sendsCookies || target == "" {
			target = requestTarget(c.out)
		}
		c.keepsCookies = true
		j := c.cookies()
		j.noEmpty = q.NoEmptyCookies
		j.setFromHeader(string(line), hostOf(q.endpoint), target, c.net.now())
	})
}

// cookieValue is a value as a header can have it. What a plan has in quotes stays whole;
// else it ends at a semicolon.
func cookieValue(text string) string {
	if len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
		text, _, _ = strings.Cut(text, ";")
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f {
			return -1
		}
		return r
	}, strings.TrimSpace(text))
}

// setPlanCookies stores the request's cookies of the plan in the user's jar, for
// later requests too.
func (c *Client) setPlanCookies(q *request, scope *expr.Scope) {
	path := "/"
	if c.net.lateCookies {
		path = defaultPath(requestTarget(q.head.Render(nil, scope)))
	}
	for _, k := range q.Cookies {
		v := cookieValue(string(k.Value.Render(nil, scope)))
		own := cookie{name: k.Name, value: v[:min(len(v), maxCookieBytes)], domain: hostOf(q.endpoint), hostOnly: true, path: path, secure: k.Secure}
		if k.Domain != "" && !domainMatches(own.domain, k.Domain) {
			continue
		}
		if k.Path != "" {
			own.path = k.Path
		}
		if q.KeepCookies && c.cookies().has(&own) {
			continue
		}
		c.cookies().put(own, c.net.now())
	}
}
