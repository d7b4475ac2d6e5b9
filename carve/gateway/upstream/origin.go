package upstream

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"whittle"
	"whittle/carve/gateway/resolve"
)

// origin is one URL of an upstream: an instance, or a name that has some.
type origin struct {
	// url is as it was written, but for a scheme of http, https or h2c.
	url *url.URL
	// server is whom the certificate is for.
	server string
	// name is followed in DNS; nil: address is dialled, on network, as it is.
	name             *resolve.Name
	network, address string
}

// parseURLs reads the URLs of an upstream, which are of one kind.
func parseURLs(spec *whittle.Upstream) (all []origin, err error) {
	for _, raw := range append([]string{spec.URL}, spec.Others...) {
		s, err := parseURL(raw, spec.Resolver)
		if err != nil {
			return nil, err
		}
		if len(all) > 0 && (s.url.Scheme != all[0].url.Scheme || pathOf(s.url) != pathOf(all[0].url)) {
			return nil, badURL(raw, "the instances of an upstream have one scheme and one path")
		}
		all = append(all, s)
	}
	return all, nil
}

func parseURL(raw, resolver string) (s origin, err error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return s, badURL(raw, "it cannot be read")
	case u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return s, badURL(raw, "user, query and fragment cannot be used here")
	case u.Scheme == "unix":
		if u.Host != "" || !strings.HasPrefix(u.Path, "/") {
			return s, badURL(raw, "the path of a socket begins with a third /")
		}
		return origin{url: &url.URL{Scheme: "http", Host: "localhost"}, server: "localhost", network: "unix", address: u.Path}, nil
	case u.Hostname() == "":
		return s, badURL(raw, "it has no host")
	case u.Port() == "" && strings.HasSuffix(u.Host, ":"):
		return s, badURL(raw, "no port follows its colon") // as where a variable of a script is empty
	case u.Port() != "" && !isPort(u.Port()):
		return s, badURL(raw, "its port is not from 1 to 65535")
	}
	scheme, service := strings.CutPrefix(u.Scheme, "srv+")
	if scheme != "http" && scheme != "https" && scheme != "h2c" {
		return s, badURL(raw, "the scheme must be http, https or h2c, with srv+ before it for SRV records, or unix")
	}
	u.Scheme = scheme
	host := u.Hostname()
	s = origin{url: u, server: host, network: "tcp", address: withPort(u)}
	switch {
	case service:
		if u.Port() != "" {
			return s, badURL(raw, "SRV records say the port")
		}
		s.name = &resolve.Name{Host: host, Service: true, Server: resolver}
		s.server = domainOf(host)
		u.Host = s.server
	case net.ParseIP(strings.Trim(host, "[]")) == nil && !strings.Contains(host, "%") && !isLocalhost(host):
		_, port, _ := net.SplitHostPort(s.address)
		s.name = &resolve.Name{Host: host, Port: port, Server: resolver}
	}
	return s, nil
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// isLocalhost reports whether a host is this machine by its name: its addresses are
// two of one server.
func isLocalhost(host string) bool {
	return strings.EqualFold(host, "localhost") || strings.HasSuffix(strings.ToLower(host), ".localhost")
}

// domainOf is the name whose service is meant: shop.example for
// _web._tcp.shop.example.
func domainOf(service string) string {
	for strings.HasPrefix(service, "_") {
		_, rest, ok := strings.Cut(service, ".")
		if !ok {
			break
		}
		service = rest
	}
	return service
}

func pathOf(u *url.URL) string { return strings.TrimSuffix(u.EscapedPath(), "/") }

func badURL(raw, why string) error {
	return whittle.Errorf(whittle.Invalid, "read upstream %q: %s", raw, why).
		WithHint("write it as http://127.0.0.1:3000, https://host or h2c://host:port").WithField("url")
}

func withPort(u *url.URL) string {
	if port := u.Port(); port != "" {
		return u.Host
	}
	if u.Scheme == "https" {
		return net.JoinHostPort(u.Hostname(), "443")
	}
	return net.JoinHostPort(u.Hostname(), "80")
}
