package header

import (
	"mime"
	"net/url"
	"slices"
	"strings"
	"time"

	"whittle"
	"whittle/carve/compare/form"
)

// The words for a header that is missing, which no header can have as its value, and
// the word shown for it.
const (
	absent  = "\x00"
	Missing = "missing"
)

// wordAs is what a response says in a header of an exchange, in the monolith's words where these
// say the same: an address on the host that was asked is the same with the host and without,
// and so are lifetimes of cookies that no client can distinguish.
func wordAs(name string, x *whittle.Exchange, a *whittle.Response) string {
	switch {
	case name == SetCookie:
		return cookieWordOf(aged(cookiesOf(a.Header, x), cookiesOf(x.Monolith.Header, x)))
	case name != "Location":
		return headerWord(name, a.Header, x)
	}
	from, to := headerWord(name, x.Monolith.Header, x), headerWord(name, a.Header, x)
	for _, ways := range [2][2]string{{from, to}, {to, from}} {
		// To what was asked itself it leads by another scheme, or in a circle.
		if bare, ok := onHost(ways[0], x.Request.Host); ok && bare == ways[1] && bare != x.Request.Target {
			return from
		}
	}
	return to
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

// lists are the headers that are lists whose members have no order and, but for methods, no case.
var lists = []string{
	"Access-Control-Allow-Headers", "Access-Control-Allow-Methods", "Access-Control-Expose-Headers", "Allow",
	"Cache-Control", "Content-Language", "Vary",
}

// members are the members of a list, each once. Whoever compresses adds Accept-Encoding to Vary,
// where it says nothing.
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

// headerWord is a header's value in a normal form, without details that no client acts
// on: the order and case of directives. Of cookies it has all but the value. x gives
// the time; nil: times are not compared.
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
				v = dispositionWord(v)
			}
			out = append(out, strings.TrimSpace(v))
		}
	}
	return strings.Join(out, ", ")
}

// dispositionWord has its parameters in one order and form.
func dispositionWord(v string) string {
	kind, params, err := mime.ParseMediaType(v)
	if word := mime.FormatMediaType(kind, params); err == nil && word != "" && !strings.Contains(v, "*") { // some of those are dropped
		return word
	}
	return strings.TrimSpace(v)
}

// respondedAt is when a response was given, by its own clock where it is dated. Of a header
// alone it is a day on which nothing that is kept has ended.
func respondedAt(h whittle.Header, x *whittle.Exchange) time.Time {
	switch at, dated := form.Date(h.Get("Date")); {
	case dated:
		return at
	case x == nil:
		return time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return x.At
}
