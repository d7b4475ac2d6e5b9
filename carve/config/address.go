package config

import (
	"cmp"
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
	if err != nil || u.Scheme == "" || !strings.Contains(s, "://") {
		return "", fmt.Errorf("%s is not a URL: %s", quote(s), urlAdvice(s, schemes))
	}
	if _, err := oneOf(u.Scheme, schemes); err != nil {
		return "", fmt.Errorf("%s: the scheme %w", quote(s), err)
	}
	want := schemes[0] + "://HOST:PORT"
	switch {
	case u.Hostname() == "":
		return "", fmt.Errorf("%s names no host: write %s", quote(s), want)
	case strings.ContainsAny(u.Hostname(), "*$"):
		return "", fmt.Errorf("%s: %s is not a host; an environment variable is written ${NAME}", quote(s), quote(u.Hostname()))
	case u.User != nil:
		return "", errors.New("a URL with a user or a password in it is not taken: a config is no place for secrets")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", fmt.Errorf("%s: a query or a fragment has no meaning here", quote(s))
	case !portIsFine(u):
		return "", fmt.Errorf("%s: the port is not a number from 1 to 65535%s", quote(s), bracketed(s, u.Scheme))
	case hostFault(u.Hostname()) != "":
		return "", fmt.Errorf("%s: %s %s", quote(s), quote(u.Hostname()), hostFault(u.Hostname()))
	case strings.ContainsAny(s, " \t\r\n"):
		return "", fmt.Errorf("%s: a space in a URL is written %%20", quote(s))
	case u.Path != "" && urlpath.Clean(u.Path) != strings.TrimRight(u.Path, "/") && strings.Contains(u.Path+"/", "./"):
		return "", fmt.Errorf("%s: a path with . or .. in it: write %s://%s%s", quote(s), u.Scheme, u.Host, urlpath.Clean(u.EscapedPath()))
	}
	return strings.TrimSuffix(u.Scheme+s[len(u.Scheme):], "/"), nil
}

// parseBase reads the base URL of an API, to which a path is appended.
func parseBase(s, path string) (string, error) {
	v, err := parseURL(s, "http", "https")
	if base, whole := strings.CutSuffix(v, path); err == nil && whole {
		return "", fmt.Errorf("%s: %s is put behind it: write %s", quote(s), path, base)
	}
	return v, err
}

// urlAdvice says what to write in place of a text that is no URL.
func urlAdvice(s string, schemes []string) string {
	scheme, rest, whole := strings.Cut(s, "://")
	trimmed := strings.TrimSpace(s)
	switch {
	case trimmed != s && trimmed != "":
		return "it has spaces or an end of line around it: write " + trimmed
	case strings.Trim(s, "“”„‘’«»") != s:
		return `its quotes are a part of the text: write "`
	case shellName(s) != "":
		return "an environment variable is written ${NAME}: write ${" + shellName(s) + "}"
	case strings.Contains(s, "[") && strings.Contains(s, "%") && !strings.Contains(s, "%25"):
		return "the zone of an address is behind %25: write " + strings.Replace(s, "%", "%25", 1)
	case strings.Contains(s, "{{") || strings.Contains(s, "<%"):
		return "a template is filled in before whittle reads it; an environment variable is written ${NAME}"
	case strings.Contains(s, ","):
		return "write a list: [" + strings.Join(strings.FieldsFunc(s, func(c rune) bool { return c == ',' || c == ' ' }), ", ") + "]"
	}
	socket := len(schemes) > 0 && schemes[len(schemes)-1] == "unix"
	switch path, isUnix := strings.CutPrefix(s, "unix:"); {
	case socket && isUnix && strings.HasPrefix(path, "/"):
		return "write unix://" + path
	case socket && (isUnix || strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "//")):
		return "write unix:///run/app.sock for a socket, with its whole path"
	case socket && scheme == "http+unix":
		if path, err := url.PathUnescape(rest); err == nil && strings.HasPrefix(path, "/") {
			return "write unix://" + path
		}
		return "write unix:///run/app.sock for a socket, with its whole path"
	}
	if !whole {
		scheme, rest = schemes[0], s
	}
	host, port, err := net.SplitHostPort(rest)
	switch named, behind, _ := strings.Cut(s, ":"); {
	case !whole && slices.Contains(append(schemes, ""), named) && strings.Trim(behind, `/\`) != "":
		return "write " + cmp.Or(named, schemes[0]) + "://" + strings.TrimLeft(behind, `/\`)
	case !whole && strings.HasPrefix(s, "//"):
		return "write " + schemes[0] + ":" + s
	case bracketed(rest, scheme) != "":
		return strings.TrimPrefix(bracketed(rest, scheme), "; ")
	case !whole && isPort(rest):
		return fmt.Sprintf("it is only a port; write %s://127.0.0.1:%s", scheme, rest)
	case !whole && err == nil && host != "" && isPort(port) && hostFault(host) == "":
		return "write " + scheme + "://" + rest
	case !whole && rest != "" && hostFault(rest) == "":
		return "write " + scheme + "://" + rest + ", or " + scheme + "://" + rest + ":PORT"
	}
	return "write " + schemes[0] + "://HOST:PORT"
}

var otherVariable = regexp.MustCompile(`^(?:\$([A-Za-z_]\w*)|\$\(([A-Za-z_]\w*)\)|%([A-Za-z_]\w*)%)$`)

// shellName is the name of the variable if a text is one as a shell, Make, Kubernetes or
// Windows writes it; "": it is none.
func shellName(s string) string {
	m := otherVariable.FindStringSubmatch(s)
	if m == nil {
		return ""
	}
	return m[1] + m[2] + m[3]
}

// bracketed puts the missing brackets around an IPv6 address in a URL or before a port;
// "": there is no such address. Where the end may be a port, it is taken for one.
func bracketed(s, scheme string) string {
	rest := strings.TrimPrefix(s, scheme+"://")
	rest, _, _ = strings.Cut(rest, "/")
	if scheme != "" {
		scheme += "://"
	}
	if i := strings.LastIndexByte(rest, ':'); i > 0 && isIPv6(rest[:i]) && isPort(rest[i+1:]) {
		return fmt.Sprintf("; an IPv6 address stands in brackets: write %s[%s]:%s", scheme, rest[:i], rest[i+1:])
	}
	if isIPv6(rest) {
		return fmt.Sprintf("; an IPv6 address stands in brackets: write %s[%s]:PORT", scheme, rest)
	}
	return ""
}

func isIPv6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6()
}

// hexNumber matches a name that other programs read as an address.
var hexNumber = regexp.MustCompile(`^(.*\.)?0[xX][0-9a-fA-F]*$`)

// maxHost is the longest name that DNS has.
const maxHost = 253

// hostFault says why no resolver can find a host; "": one may.
func hostFault(host string) string {
	name := strings.TrimSuffix(host, ".")
	if _, err := netip.ParseAddr(host); err == nil {
		return ""
	}
	for _, c := range name {
		if c >= 0x80 {
			if ascii, err := idna.Lookup.ToASCII(name); err == nil {
				return "is no host as resolvers know it: write " + ascii
			}
			return "is no host: a name has letters, digits, dashes and dots"
		}
	}
	switch {
	case strings.Trim(name, "0123456789.") == "", hexNumber.MatchString(name):
		return "is no host: an IPv4 address has four numbers from 0 to 255, such as 10.0.0.5, and a name has a letter"
	case strings.Contains(name, ":"):
		return "is no IPv6 address: write one such as [2001:db8::1]"
	case len(name) > maxHost:
		return fmt.Sprintf("is no host: a name has at most %d letters", maxHost)
	}
	for _, label := range strings.Split(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' || strings.Trim(label, plainLetters) != "" {
			return "is no host: a name has letters, digits and dashes, with one dot between its parts, such as app.internal"
		}
	}
	return ""
}

// portIsFine reports whether a URL has no port or a possible one. A colon with nothing
// after it is left by an empty variable.
func portIsFine(u *url.URL) bool {
	return u.Port() == "" && !strings.HasSuffix(u.Host, ":") || isPort(u.Port())
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

// parseAddress reads host:port to listen on; port 0 lets the system choose.
func parseAddress(s string) (string, error) {
	host, port, err := net.SplitHostPort(s)
	switch {
	case err != nil && isPort(s):
		return "", fmt.Errorf("%s is only a port: write :%s for all addresses, or 127.0.0.1:%s for this machine", quote(s), s, s)
	case strings.Contains(s, "://"):
		return "", fmt.Errorf("%s is a URL, and here stands where to listen: write HOST:PORT, such as :8080 or 127.0.0.1:8080", quote(s))
	case strings.HasPrefix(s, "/"):
		return "", fmt.Errorf("%s is a path, and here stands where to listen: write :8080, or for users' requests unix:%s", quote(s), s)
	case err != nil && bracketed(s, "") != "":
		return "", fmt.Errorf("%s is not an address%s", quote(s), bracketed(s, ""))
	case err != nil && s != "" && s != "true" && s != "false" && hostFault(s) == "":
		return "", fmt.Errorf("%s has no port: write %s:8080", quote(s), s)
	case err != nil:
		return "", fmt.Errorf("%s is not an address: write HOST:PORT, such as :8080 or 127.0.0.1:8080", quote(s))
	case port != "0" && !isPort(port):
		return "", fmt.Errorf("%s: the port is not a number from 0 to 65535", quote(s))
	case host == "*":
		return "", fmt.Errorf("%s: write :%s for all addresses", quote(s), port)
	case host != "" && hostFault(host) != "":
		return "", fmt.Errorf("%s: %s %s", quote(s), quote(host), hostFault(host))
	}
	return s, nil
}

func parseAdmin(s string) (string, error) {
	if s == "off" {
		return "", nil
	}
	switch strings.ToLower(s) {
	case "false", "no", "none", "disabled", "0":
		return "", fmt.Errorf("%s is not an address: write off for no admin API", quote(s))
	}
	if strings.HasPrefix(s, "unix:") {
		return "", fmt.Errorf("%s: the admin API has an address of its own, and no socket: write 127.0.0.1:8081, or off", quote(s))
	}
	return parseAddress(s)
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// networks reads a list of networks.
func (o *object) networks(key string) (nets []netip.Prefix) {
	o.list(key, "networks such as 10.0.0.0/8", 1000, func(n *node, path string) {
		var p netip.Prefix
		if readNode(o.r, n, path, "a network such as 10.0.0.0/8", &p, parseNetwork) {
			nets = append(nets, p)
		}
	})
	return nets
}

// parseNetwork reads "10.0.0.0/8" or one address.
func parseNetwork(s string) (netip.Prefix, error) {
	if ip, err := netip.ParseAddr(s); err == nil && ip.Is4In6() {
		return netip.Prefix{}, fmt.Errorf("%s is an IPv4 address in IPv6's form, and is none of clients': write %s", quote(s), ip.Unmap())
	} else if err == nil && ip.Zone() == "" {
		return netip.PrefixFrom(ip, ip.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%s is not a network: write 10.0.0.0/8 or 127.0.0.1", quote(s))
	}
	if bits := p.Bits() - 96; p.Addr().Is4In6() && bits >= 0 {
		return netip.Prefix{}, fmt.Errorf("%s are IPv4 addresses in IPv6's form, and are none of clients': write %s", quote(s), netip.PrefixFrom(p.Addr().Unmap(), bits).Masked())
	}
	if p != p.Masked() {
		return netip.Prefix{}, fmt.Errorf("%s is an address in a network: write %s for the network, or %s for the address alone", quote(s), p.Masked(), p.Addr())
	}
	return p, nil
}

// addressOf is a host's address; the zero Addr if it is a name, which only a resolver
// knows.
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

// isLocalhost reports whether a name is the loopback's by convention (RFC 6761,
// section 6.3).
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
