package config

import (
	"fmt"
	"strings"
	"time"

	"whittle"
	"whittle/internal/units"
)

var steerWays = []string{"haproxy", "envoy", "nginx", "httproute", "command"}

const (
	maxProxies = 32
	// maxSteerTimeout leaves an attempt that fails another one within the time of a rise.
	maxSteerTimeout = 10 * time.Second
)

// steer says which proxies of the team's own send a route's users to the candidate.
func steer(s *whittle.Steer) value {
	return mapping("{haproxy: {sockets: [unix:/run/haproxy/admin.sock], map: /etc/haproxy/whittle.map}}", func(a at) {
		given := 0
		for _, way := range steerWays {
			if a.given(way) {
				given++
			}
		}
		if given != 1 && !a.failed("") {
			a.fail("names %d ways to set the share; write one of %s", given, strings.Join(steerWays, ", "))
		}
	},
		key{"haproxy", optional(&s.HAProxy, steerHAProxy), "(one is required)", "an entry of a map, by HAProxy's runtime API"},
		key{"envoy", optional(&s.Envoy, steerEnvoy), "(one is required)", "two weights in the runtime, by Envoy's admin interface"},
		key{"nginx", optional(&s.Nginx, steerNginx), "(one is required)", "a file that nginx includes, SIGHUP, and a flag file for a fall to 0"},
		key{"httproute", optional(&s.HTTPRoute, steerHTTPRoute), "(one is required)", "the weights of two backends of an HTTPRoute, by the Kubernetes API"},
		key{"command", optional(&s.Command, steerCommand), "(one is required)", "programs of your own"},
		key{"timeout", span(&s.Timeout, 10*time.Millisecond, maxSteerTimeout), "5s", "to set and confirm a share"},
		key{"every", span(&s.Every, time.Second, time.Hour), "10s", "time between two checks of the share in force"})
}

// runtimeWord is what may stand in a command of HAProxy's runtime API, where spaces and
// semicolons begin something else.
var runtimeWord = shaped("letters, digits and `._/@+-`", "/etc/haproxy/whittle.map", `^[A-Za-z0-9._/@+-]{1,255}$`)

func steerHAProxy(h *whittle.SteerHAProxy) value {
	return mapping("{sockets: [unix:/run/haproxy/admin.sock], map: /etc/haproxy/whittle.map}", nil,
		key{"sockets", listOf(&h.Sockets, 1, maxProxies, runtimeSocket), required, "runtime APIs of all instances, of level operator"},
		key{"map", runtimeWord.of(&h.Map), required, "the map, as HAProxy's configuration names it"},
		key{"key", runtimeWord.of(&h.Key), "share", "the entry that holds the share, from 0 to 10000. HAProxy has to have one"})
}

// runtimeSocket is where a runtime API listens.
func runtimeSocket(dst *string) value {
	v := word(dst, matching("`unix:` with a path, or `HOST:PORT`", `^unix:.|:[0-9]{1,5}$`), filled)
	v.text = func(a at, s string) error {
		if path, is := strings.CutPrefix(s, "unix:"); is {
			if err := pathFault(path); err != nil {
				return err
			}
			*dst = "unix:" + a.r.resolve(path)
			return nil
		}
		if _, err := parseAddress(s); err != nil || strings.HasPrefix(s, ":") || strings.HasSuffix(s, ":0") {
			return fmt.Errorf("%s is no runtime API: write unix:PATH or HOST:PORT", quote(s))
		}
		*dst = s
		return nil
	}
	return v
}

func steerEnvoy(e *whittle.SteerEnvoy) value {
	return mapping("{admin: [http://127.0.0.1:9901], candidate: routing.items.candidate, monolith: routing.items.monolith}", func(a at) {
		if e.Candidate == e.Monolith && !a.failed("") {
			a.failKey("monolith", "is also the key of the candidate's weight")
		}
	},
		key{"admin", listOf(&e.Admin, 1, maxProxies, func(s *string) value { return baseURL(s, "/runtime_modify") }), required, "admin interfaces of all instances, whose runtime has an admin_layer"},
		key{"candidate", runtimeWord.of(&e.Candidate), required, "runtime key of the candidate's weight: `runtime_key_prefix`, a dot and the cluster"},
		key{"monolith", runtimeWord.of(&e.Monolith), required, "that of the monolith's. Both add up to 10000"})
}

func steerNginx(n *whittle.SteerNginx) value {
	return mapping("{file: /etc/nginx/whittle-split.conf, pid_file: /run/nginx.pid, flag: /run/whittle-off, url: http://127.0.0.1:8079/share}", nil,
		key{"file", file(&n.File), required, "what nginx includes in `http`; whittle writes it"},
		key{"pid_file", file(&n.PIDFile), required, "nginx's, for SIGHUP"},
		key{"flag", file(&n.Flag), required, "a file that exists while the share is 0"},
		key{
			"url", word(&n.URL, webURL, func(s string) (string, error) { return parseURL(s, "http", "https") }), required,
			"where nginx reports two shares, in force and in the file, from 0 to 10000",
		},
		key{
			"name", shaped("letters, digits and `_`", "items", `^[a-z][a-z0-9_]{0,40}$`).of(&n.Name), "whittle",
			"names nginx's variables: you set `$NAME_user`, whittle `$NAME_side` and `$NAME_share`",
		})
}

// kubernetesName is that of an object.
var kubernetesName = shaped("a name in Kubernetes", "items", `^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)

func steerHTTPRoute(h *whittle.SteerHTTPRoute) value {
	const account = "/var/run/secrets/kubernetes.io/serviceaccount/"
	return mapping("{namespace: shop, name: shop, candidate: items, monolith: shop}", func(a at) {
		if h.Candidate == h.Monolith && !a.failed("") {
			a.failKey("monolith", "is also the candidate's backend")
		}
	},
		key{"namespace", kubernetesName.of(&h.Namespace), required, "the HTTPRoute's"},
		key{"name", kubernetesName.of(&h.Name), required, "the HTTPRoute's"},
		key{"candidate", kubernetesName.of(&h.Candidate), required, "the name in `backendRefs` of the candidate's Service"},
		key{"monolith", kubernetesName.of(&h.Monolith), required, "that of the monolith's. Their rules have no other backend"},
		key{"server", baseURL(&h.Server, "/apis"), "(the cluster's own)", "URL of the Kubernetes API"},
		key{"token_file", file(&h.Token), account + "token", "the token, which may get and patch this HTTPRoute"},
		key{"ca_file", file(&h.CA), account + "ca.crt", "the authorities of the API's certificate"})
}

func steerCommand(c *whittle.SteerCommand) value {
	argument := matching("text", "", "number", "boolean")
	return mapping("{set: [/usr/local/bin/set-share]}", nil,
		key{
			"set", words(&c.Set, 1, maxNames, argument, filled), required,
			"program and arguments; `$WHITTLE_SHARE` is the share in percent, `$WHITTLE_SHARE_BP` from 0 to 10000. Exit status 0 confirms it",
		},
		key{"read", words(&c.Read, 1, maxNames, argument, filled), "(none)", "program and arguments; it prints the share in force, in percent"})
}

// checkSteer refuses keys that cannot hold where proxies send users to the candidate. Unless an
// observer says what these users get, whittle does not see it, and has the defaults of more off.
func checkSteer(a at, t *whittle.Route, observed bool) {
	p := &t.Rollout
	const unseen = "whittle does not see what users get from the candidate"
	for _, k := range []struct {
		key   string
		holds bool
		why   string
	}{
		{"group", t.Group == "", "the proxy draws its users, for each share apart"},
		{"rollout.harm", p.Harm == 0 || observed, unseen + ", so it keeps no budget of what may be wrong"},
		{"rollout.min_requests", p.MinRequests == 0 || observed, unseen + ", nor how much"},
		{"rollout.unseen", p.Unseen == whittle.UnseenShift, "the proxy does not know which shapes were compared"},
		{"rollout.preview", p.Preview == nil, "the proxy does not read tokens of previews"},
		{"guard.consecutive", observed, unseen + ", so no circuit breaker trips"},
		{"guard.exposure", false, "the proxy sends users to the candidate as it is told, without a bound on those without a good response"},
	} {
		if a.given(k.key) && !k.holds {
			a.failKey(k.key, "cannot hold with steer: %s; leave it out", k.why)
		}
	}
	p.AtProxy, p.Unseen = true, whittle.UnseenShift
	if !observed {
		p.Harm, p.MinRequests = 0, 0
	}
}

// steeredBy says who sends a route's users to the candidate.
func steeredBy(s *whittle.Steer) string {
	switch {
	case s.HAProxy != nil:
		return units.Counted(len(s.HAProxy.Sockets), "instance") + " of HAProxy"
	case s.Envoy != nil:
		return units.Counted(len(s.Envoy.Admin), "instance") + " of Envoy"
	case s.Nginx != nil:
		return "nginx"
	case s.HTTPRoute != nil:
		return "the Gateway of HTTPRoute " + s.HTTPRoute.Namespace + "/" + s.HTTPRoute.Name
	}
	return "the proxy behind the command " + s.Command.Set[0]
}

// checkSteering refuses a fleet, whose gateways send their users to the candidate themselves.
func (r *reader) checkSteering(f *File) {
	for i := range f.Routes {
		r.failIf(f.Fleet != nil && f.Routes[i].Steer != nil, fmt.Sprintf("routes[%d].steer", i),
			"cannot go with fleet:, whose gateways send users to the candidate themselves; leave one of them out")
	}
}
