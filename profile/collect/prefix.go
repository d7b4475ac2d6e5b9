package collect

import (
	"strings"
	"time"

	"whittle/profile"
)

// reconcile holds the tables to the requests that came. An endpoint whose functions ran
// though no request meant it has lost its prefix: a dispatch cut it off before it handed
// the request on, or the table was found without what it is mounted into. Where all
// requests that end as the endpoint does have one prefix, that is it. Otherwise an
// endpoint that ran in other requests' turns, or may have any of several prefixes, is
// dropped, and the requests' own paths name the work.
func (r *router) reconcile(p *profile.Profile, m *marks, turn func(time.Duration) string) {
	requests := m.requests(r.endpoint)
	if len(requests) == 0 {
		return // they are not seen, as over HTTP/2
	}
	ran := r.ran(p, turn)
	rename := map[string]string{}
	for e, elsewhere := range ran {
		if requests[e] > 0 {
			continue
		}
		prefixes := map[string]bool{}
		for i, name := range m.names {
			if prefix := cutPrefix(name, e); prefix != "" && m.counts[i] > 0 {
				prefixes[prefix] = true
			}
		}
		switch {
		case len(prefixes) == 1:
			method, path, _ := strings.Cut(e, " ")
			for prefix := range prefixes {
				rename[e] = method + " " + prefix + path
			}
		case elsewhere || len(prefixes) > 1:
			rename[e] = ""
		}
	}
	for at, name := range r.named {
		switch now, ok := rename[name]; {
		case ok && now == "":
			delete(r.named, at)
		case ok:
			r.named[at] = now
		}
	}
	for i, e := range r.endpoints {
		if now := rename[e]; now != "" {
			r.endpoints[i] = now
		}
	}
}

// ran gives the endpoints whose functions ran, and whether they did in a turn that is
// another request's.
func (r *router) ran(p *profile.Profile, turn func(time.Duration) string) map[string]bool {
	of := make([]string, len(p.Functions))
	for i := range p.Functions {
		of[i] = r.of(&p.Functions[i])
	}
	out := map[string]bool{}
	for i := range p.Samples {
		s := &p.Samples[i]
		seen := map[string]bool{}
		for _, f := range s.Stack {
			if e := of[f.Function]; e != "" {
				seen[e] = true
			}
		}
		if len(seen) == 0 {
			continue
		}
		now := ""
		if s.Thread == 0 && s.At >= 0 {
			now = turn(s.At)
		}
		for e := range seen {
			out[e] = out[e] || now != "" && now != e
		}
	}
	return out
}

// cutPrefix gives what a request's path has before what an endpoint means, with its
// keys left open. "": nothing, or it does not end as the endpoint does.
func cutPrefix(name, endpoint string) string {
	method, path, ok := strings.Cut(name, " ")
	if _, of, _ := strings.Cut(endpoint, " "); !ok || strings.Trim(of, "/*") == "" {
		return "" // any path ends so
	}
	for at := 1; at < len(path); at++ {
		if path[at] == '/' && profile.SameEndpoint(endpoint, method+" "+path[at:]) {
			_, prefix, _ := strings.Cut(openPath(method+" "+path[:at]), " ")
			return prefix
		}
	}
	return ""
}
