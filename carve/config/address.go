package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	urlpath "path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// parseURL reads a URL of one of the schemes; error messages name the first of them. The
// result has its scheme in lower case and no trailing slash.
func parseURL(s string, schemes ...string) (string, error) {
	u, err := url.Parse(s)
	if err == nil && u.User != nil {
		return "", hostPart(u)
	}
	if err != nil || u.Host == "" || u.Opaque != "" || !slices.Contains(schemes, u.Scheme) || strings.ContainsAny(s, " \t\r\n") {
		return "", fmt.Errorf("%s is not a URL: write %s://HOST:PORT; schemes are %s", quote(s), schemes[0], strings.Join(schemes, ", "))
	}
	if why := hostPart(u); why != nil {
		return "", fmt.Errorf("%s %w", quote(s), why)
	}
	switch {
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", fmt.Errorf("%s: a query or a fragment has no meaning here", quote(s))
	case u.Path != "" && urlpath.Clean(u.Path) != strings.TrimRight(u.Path, "/") && strings.Contains(u.Path+"/", "./"):
		return "", fmt.Errorf("%s: a path with . or .. in it: write %s://%s%s", quote(s), u.Scheme, u.Host, urlpath.Clean(u.EscapedPath()))
	}
	return strings.TrimSuffix(u.Scheme+s[len(u.Scheme):], "/"), nil
}

// hostPart says what is wrong with whom a URL leads to. It does not show it.
func hostPart(u *url.URL) error {
	switch why := hostFault(u.Hostname()); {
	case u.User != nil:
		return errors.New("contains a user or a password; a config is not the place for secrets")
	case why != "":
		return errors.New("has a host that " + why)
	case u.Port() == "" && strings.HasSuffix(u.Host, ":") || u.Port() != "" && !isPort(u.Port()):
		return errors.New("has a port that is not a number from 1 to 65535")
	}
	return nil
}

// baseURL is that of an API, to which a path is appended.
func baseURL(dst *string, path string) value {
	return word(dst, webURL, func(s string) (string, error) {
		v, err := parseURL(s, "http", "https")
		if base, whole := strings.CutSuffix(v, path); err == nil && whole {
			return "", fmt.Errorf("%s: %s is put behind it: write %s", quote(s), path, base)
		}
		return v, err
	})
}

var webURL = matching("`http://` or `https://` URL", `^[hH][tT][tT][pP][sS]?://[^?#\s]+$`)

// hexNumber matches a name that other programs read as an address.
var hexNumber = regexp.MustCompile(`^(.*\.)?0[xX][0-9a-fA-F]*$`)

// hostFault says why no resolver can find a host; "": one may.
func hostFault(host string) string {
	name := strings.TrimSuffix(host, ".")
	if _, err := netip.ParseAddr(host); err == nil {
		return ""
	}
	if ascii, err := idna.Lookup.ToASCII(name); err == nil && ascii != strings.ToLower(name) {
		return "is spelled differently in DNS: write " + ascii
	}
	if strings.Trim(name, "0123456789.") == "" || hexNumber.MatchString(name) || strings.Contains(name, ":") {
		return "is not an address: IPv4 has four numbers from 0 to 255, such as 10.0.0.5, IPv6 is in brackets, and a name has a letter"
	}
	for _, label := range strings.Split(name, ".") {
		if label == "" || len(label) > 63 || len(name) > 253 || label[0] == '-' || label[len(label)-1] == '-' || strings.Trim(label, plainLetters) != "" {
			return "is not a name: names have letters, digits and dashes, with one dot between their parts, such as app.internal"
		}
	}
	return ""
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

var hostPort = matching("HOST:PORT", `^[^/@\s]*:[0-9]{1,5}$`)

// parseAddress reads host:port to listen on; port 0 lets the system choose.
func parseAddress(s string) (string, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil || strings.Contains(s, "://") || port != "0" && !isPort(port) {
		return "", fmt.Errorf("%s is not an address: write HOST:PORT, such as :8080, 127.0.0.1:8080 or [::1]:8080", quote(s))
	}
	if why := hostFault(host); host != "" && why != "" {
		return "", fmt.Errorf("%s has a host that %s; without a host it is all addresses", quote(s), why)
	}
	return s, nil
}

// adminAddress is where the admin API listens; off is "".
func adminAddress(dst *string) value { return orOff(dst, word(dst, hostPort, parseAddress)) }

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// networks is a list of networks.
func networks(dst *[]netip.Prefix, least int) value {
	return listOf(dst, least, 1000, func(p *netip.Prefix) value {
		return scalar(p, matching("network, such as `10.0.0.0/8`", `^[0-9A-Fa-f.:]+(/[0-9]{1,3})?$`), parseNetwork, netip.Prefix.String)
	})
}

// parseNetwork reads "10.0.0.0/8" or one address.
func parseNetwork(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	if ip, bad := netip.ParseAddr(s); bad == nil {
		p, err = netip.PrefixFrom(ip, ip.BitLen()), nil
	}
	switch {
	case err != nil || p.Addr().Zone() != "":
		return netip.Prefix{}, fmt.Errorf("%s is not a network: write 10.0.0.0/8 or 127.0.0.1", quote(s))
	case p.Addr().Is4In6():
		return netip.Prefix{}, fmt.Errorf("%s is IPv4 written as IPv6, which matches no client: write it as IPv4", quote(s))
	case p != p.Masked():
		return netip.Prefix{}, fmt.Errorf("%s is an address in a network: write %s for the network, or %s for the address alone", quote(s), p.Masked(), p.Addr())
	}
	return p, nil
}

// addressOf is a host's address; the zero Addr if it is a name, which only a resolver knows.
func addressOf(host string) netip.Addr {
	if isLocalhost(host) {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap().WithZone("")
}

// isLocalhost reports whether a name is the loopback's by convention (RFC 6761, section 6.3).
func isLocalhost(host string) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || host == "localhost.localdomain" || host == "ip6-localhost"
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// portIn gives the scheme and the port that stand in a URL.
func portIn(raw string) (scheme, port string) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", ""
	}
	return u.Scheme, u.Port()
}
