package wire

import (
	"net/url"
	"strings"
	"sync"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// maxOrigins bounds the servers that one run sends to: redirects and captured
// URLs may lead anywhere.
const maxOrigins = 256

// origins are the servers of a run, each with its slot among a virtual user's own
// connections.
type origins struct {
	insecure bool
	target   string
	protocol string                           // of all of them; Config.Protocol
	proxy    func(*url.URL) (*url.URL, error) // nil: none

	mu sync.Mutex
	// The following is guarded by mu.
	known map[string]origin
	slots map[string]int // by scheme and address
}

// origin is a server, and the path of the base URL that led to it.
type origin struct {
	*endpoint
	slot   int
	prefix string
	login  string // the authorization header's value, of the base URL's; empty: none
}

// find returns the origin of a base URL, empty for the target's.
func (o *origins) find(base string) (origin, error) {
	if base == "" {
		base = o.target
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if found, ok := o.known[base]; ok {
		return found, nil
	}
	e, err := parseEndpoint(base, o.insecure, o.protocol == HTTP2)
	if err != nil {
		return origin{}, err
	}
	if err := o.goesStraight(base); err != nil {
		return origin{}, err
	}
	_, user := plan.SplitLogin(base)
	found := origin{endpoint: e, prefix: e.prefix, login: plan.BasicLogin(user)}
	key := scheme(e) + e.address
	slot, ok := o.slots[key]
	if !ok {
		if len(o.slots) >= maxOrigins {
			return origin{}, whittle.Errorf(whittle.ResourceExhausted, "the run leads to more than %d servers", maxOrigins)
		}
		slot = len(o.slots)
		o.slots[key] = slot
	}
	for _, other := range o.known {
		if other.slot == slot && other.host == e.host {
			found.endpoint = other.endpoint // so that connections are shared
		}
	}
	found.slot = slot
	if len(o.known) < 4*maxOrigins {
		o.known[base] = found
	}
	return found, nil
}

// goesStraight refuses a base URL for which the environment has a proxy.
func (o *origins) goesStraight(base string) error {
	if o.proxy == nil {
		return nil
	}
	u, err := url.Parse(base)
	if err != nil {
		return err
	}
	if via, err := o.proxy(u); via == nil && err == nil {
		return nil
	}
	return whittle.Errorf(whittle.Unsupported, "HTTP_PROXY or HTTPS_PROXY would lead what is for %s through a proxy, whose time would be in every figure", u.Host).
		WithHint("put the host into NO_PROXY, or unset them")
}

func scheme(e *endpoint) string {
	if e.tls != nil {
		return "https://"
	}
	return "http://"
}

// count is how many connections a virtual user may have so far.
func (o *origins) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.slots)
}

// prepareURL prepares a request whose URL was known only once it was rendered.
func (o *origins) prepareURL(q *plan.Request, address string) (*request, error) {
	r := *q
	r.Address = nil
	base, path := "", address
	if n := plan.OriginLength(address); n > 0 {
		base, path = address[:n], address[n:]
		if u, err := url.Parse(base); err != nil || u.Host == "" {
			return nil, whittle.Errorf(whittle.Invalid, "%q is not a url", base)
		}
	}
	if q.WholeURL && base == "" && !strings.HasPrefix(path, "/") {
		return nil, whittle.Errorf(whittle.Invalid, "invalid URL %.200q: it begins with a slash or a scheme", path)
	}
	at, err := o.find(base)
	if err != nil {
		return nil, err
	}
	if path == "" || path[0] != '/' {
		path = "/" + path
	}
	r.Path = expr.Template(nil).Literal(path)
	return prepareRequest(&r, at), nil
}
