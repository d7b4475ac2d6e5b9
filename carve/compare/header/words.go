package header

import (
	"mime"
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
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok || host == "" || !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return "", false
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	if !strings.EqualFold(rest[:end], host) {
		return "", false
	}
	if path = rest[end:]; !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return path, true
}

// listForm is how the members of a list are compared, whose order means nothing.
type listForm struct {
	cased  bool   // methods are distinguished by case
	twice  bool   // a cache may take a directive that comes twice for none (RFC 9111, section 4.2.1)
	silent string // a member that says nothing, and a list without any other
}

// lists are the headers that are lists: whoever compresses adds Accept-Encoding to Vary.
var lists = map[string]listForm{
	"Cache-Control": {twice: true}, "Content-Language": {twice: true}, "Vary": {silent: "accept-encoding"},
	"Access-Control-Expose-Headers": {}, "Access-Control-Allow-Headers": {},
	"Allow": {cased: true}, "Access-Control-Allow-Methods": {cased: true},
}

func (f *listForm) members(v string) []string {
	if !f.cased {
		v = strings.ToLower(v)
	}
	out := listed(v)
	if !f.twice {
		out = slices.Compact(out)
	}
	return slices.DeleteFunc(out, func(v string) bool { return v == f.silent })
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
	list, isList := lists[name]
	switch {
	case name == SetCookie:
		return cookieWordOf(cookiesOf(h, x))
	case name == "Expires":
		return expiresWord(values, h, x)
	case isList:
		if out = list.members(strings.Join(values, ",")); len(out) == 0 && list.silent != "" {
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

// expiresWord is whether a response is to be kept; it says nothing where
// Cache-Control does (RFC 9111, section 5.3), and what is no date has ended.
func expiresWord(values []string, h whittle.Header, x *whittle.Exchange) string {
	for _, directive := range listed(strings.ToLower(strings.Join(h["Cache-Control"], ","))) {
		name, _, _ := strings.Cut(directive, "=")
		if name == "max-age" || name == "s-maxage" || name == "no-cache" || name == "no-store" {
			return absent
		}
	}
	if until, ok := form.Date(values[0]); ok {
		if until.After(respondedAt(h, x)) {
			return "later"
		}
	}
	return "at once"
}

// listed are the parts of a list whose order means nothing.
func listed(v string) (out []string) {
	for part := range strings.SplitSeq(v, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	slices.Sort(out)
	return out
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
