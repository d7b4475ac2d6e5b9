package fetch

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"whittle"
)

// maxURL bounds a URL, in bytes.
const maxURL = 2048

// parse takes an untrusted URL if it is one of a picture on the web by its
// looks; the address that its name means is looked at when it is dialled.
func (f *Fetcher) parse(text string) (*url.URL, error) {
	if len(text) > maxURL {
		return nil, whittle.Errorf(whittle.Invalid, "the URL has more than %d bytes", maxURL)
	}
	odd := func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) || r == '\\' }
	if !utf8.ValidString(text) || strings.ContainsFunc(text, odd) {
		return nil, whittle.Errorf(whittle.Invalid, "the URL has characters that no URL has")
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, &whittle.Error{Code: whittle.Invalid, Message: "that is not a URL", Err: err}
	}
	if err := f.check(u); err != nil {
		return nil, err
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// check is what holds for every URL on the way, also after a redirect.
func (f *Fetcher) check(u *url.URL) error {
	host := u.Hostname()
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return whittle.Errorf(whittle.Invalid, "the URL must begin with http:// or https://")
	case u.Opaque != "" || host == "":
		return whittle.Errorf(whittle.Invalid, "the URL names no host")
	case u.User != nil:
		return whittle.Errorf(whittle.Invalid, "the URL must not have a user's name or password in it")
	case strings.Contains(host, "%"):
		return forbidden(host)
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
			return whittle.Errorf(whittle.Invalid, "the URL's port is none")
		}
	}
	if a, err := netip.ParseAddr(host); err == nil && !open(a, f.o.Allow) {
		return forbidden(host)
	}
	return nil
}

// forbidden does not say what the address was: that is for the log.
func forbidden(address string) error {
	return &whittle.Error{
		Code: whittle.PermissionDenied, Message: "the URL leads to an address that is not public",
		Err: &refusal{address},
	}
}

// refusal is the cause of a PermissionDenied.
type refusal struct{ address string }

func (r *refusal) Error() string { return "address " + strconv.Quote(r.address) + " is not allowed" }
