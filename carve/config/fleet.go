package config

import (
	"errors"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"whittle"
)

// Fleet says which gateways make one rollout together, and over which NATS servers.
type Fleet struct {
	// NATS has the servers' URLs, separated by commas. Empty: each gateway has a server in
	// its own process, and Embedded says how they find each other.
	NATS string
	Embedded
	// Name is the fleet's, Member this gateway's within it. Default: the host's name.
	Name, Member string
	// Lease is how long a gateway may be silent and keep users on a candidate. Default 5 s.
	Lease time.Duration
	// Credentials is a .creds file. Empty: none.
	Credentials string
	// TLS has the files for connections to the servers.
	TLS whittle.UpstreamTLS
	// Replicas is how many servers keep a copy. 0: three in a cluster, otherwise one.
	Replicas int
	// PerSecond bounds the exchanges that the fleet compares together. Default 500.
	PerSecond int
	// MaxBytes and MaxAge bound the stream of exchanges. Default 1 GiB and an hour.
	MaxBytes int64
	MaxAge   time.Duration
}

// Embedded says where the NATS servers of a fleet are that the gateways run themselves.
type Embedded struct {
	// Peers are the gateways' addresses by member, this one's own among them.
	Peers map[string]string
	// Listen is where this one's server is reached. Default: its own address, or where
	// that is a name all of the machine's, at its port.
	Listen string
	// Secret is what the servers show to each other.
	Secret string
	// Store is the folder of this one's server. Default: the state file's path with .nats.
	Store string
}

const (
	// natsEmbedded is in the place of URLs where the gateways run NATS themselves.
	natsEmbedded = "embedded"
	// maxPeers bounds the gateways that do: all of their servers speak to each other.
	maxPeers     = 7
	maxFleetName = 64
)

var unfit = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// fleet says which fleet this gateway is of.
func fleet(f *File, fl *Fleet) value {
	secret := kept{name: "secret", into: &fl.Secret}
	nats := word(&fl.NATS, matching("`embedded`, or `nats://` or `tls://` URLs, separated by commas", `^\s*(nats|tls)://[^/?#\s]+|^embedded$`), parseNATS)
	nats.show = func() string { return natsHosts(fl) }
	tls := mapping("{ca: FILE, cert: FILE, key: FILE}", checkPair, clientTLS(&fl.TLS)...)
	tls.open = func() {}
	tls.absent = func() bool { return fl.TLS == whittle.UpstreamTLS{} }
	keys := slices.Concat([]key{
		{"nats", nats, required, "NATS servers; `embedded`: the gateways run their own"},
		{"name", fleetShape.of(&fl.Name), required, "the fleet's name, the same in all gateways"},
		{"member", fleetShape.of(&fl.Member), "(the host's name)", "this gateway's name, unique in the fleet"},
		{
			"peers", namesOf(&fl.Peers, "{gateway-1: 10.0.0.1:6222, gateway-2: 10.0.0.2:6222, gateway-3: 10.0.0.3:6222}"),
			"(required with `embedded`)", "`member` and NATS address of all 2 to 7 gateways",
		},
		{"listen", word(&fl.Listen, hostPort, parseAddress), "(the own address in `peers`; where that is a name, its port on all addresses)", "where this gateway's NATS server listens"},
	}, secret.keys("(one is required with `embedded`)", "the gateways' shared secret: at least 16 characters"), []key{
		{"store", folder(&fl.Store), "(the path of `state` with `.nats`)", "folder of this gateway's NATS server, with `embedded`"},
		{"lease", span(&fl.Lease, 500*time.Millisecond, time.Minute), "5s", "how long a gateway may be cut off before it sets its share to 0, and another one may lead"},
		{"credentials", file(&fl.Credentials), "(none)", "a NATS `.creds` file"},
		{"tls", tls, "(as the URLs say)", "requires TLS. With `embedded`: ca, cert and key of the gateways"},
		{"replicas", count(&fl.Replicas, 1, 5), "(three in a cluster, otherwise one)", "how many servers keep a copy"},
		{"evidence", mapping("{per_second: 500, max_bytes: 1GiB, max_age: 1h}", nil,
			key{"per_second", count(&fl.PerSecond, 1, 100_000), "500", "exchanges a second that the fleet compares"},
			key{"max_bytes", amount(&fl.MaxBytes, 16*mib, 1<<50), "1GiB", "size of their stream, set when it is created"},
			key{"max_age", span(&fl.MaxAge, time.Minute, 7*day), "1h", "age of an exchange in it, likewise"}), "", "bounds on exchanges sent to the leader"},
	})
	return mapping("{nats: nats://127.0.0.1:4222, name: shop}", func(a at) {
		if !a.given("member") {
			host, err := os.Hostname()
			if fl.Member = unfit.ReplaceAllString(host, "-"); err != nil || fl.Member == "" {
				a.fail("needs member: NAME, since this machine has no name")
			}
			fl.Member = fl.Member[:min(len(fl.Member), maxFleetName)]
		}
		if fl.Credentials != "" {
			if _, err := a.r.readFile(fl.Credentials); err != nil {
				a.failKey("credentials", "cannot be read: %v", err)
			}
		}
		given := secret.secret(a)
		if fl.NATS != natsEmbedded {
			if !a.failed("nats") {
				a.useless("without nats: embedded", "peers", "listen", "secret_file", "secret_env", "store")
			}
			return
		}
		fl.NATS = ""
		if !given {
			a.fail("has no secret: write secret_file: FILE or secret_env: NAME, the same in all gateways; whoever has it can give orders")
		}
		if fl.Store == "" {
			fl.Store = f.State + ".nats"
		}
		checkPeers(a, fl)
		a.useless("with nats: embedded; the gateways show each other their secret", "credentials")
		a.useless("with nats: embedded; a certificate is for the host in peers", "tls.server_name")
		if a.given("tls") && !a.failed("tls") && (fl.TLS.CA == "" || fl.TLS.Certificate == "") {
			a.failKey("tls", "needs ca, cert and key with nats: embedded, since the gateways check each other")
		}
	}, keys...)
}

// parseNATS reads the URLs of servers. No message has them: one may have a password.
func parseNATS(s string) (string, error) {
	if s == natsEmbedded {
		return s, nil
	}
	for _, one := range strings.Split(s, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
			return "", errors.New("is not the URL of a NATS server: write nats://HOST:4222 or tls://HOST:4222, several with commas between them, or embedded")
		}
		u.User = nil // it may have one, as nobody else may
		if err := hostPart(u); err != nil {
			return "", err
		}
	}
	return s, nil
}

// natsHosts shows the servers without their passwords.
func natsHosts(fl *Fleet) string {
	if fl.NATS == "" {
		return natsEmbedded
	}
	var hosts []string
	for _, one := range strings.Split(fl.NATS, ",") {
		if u, err := url.Parse(strings.TrimSpace(one)); err == nil && u.Host != "" {
			hosts = append(hosts, u.Scheme+"://"+u.Host)
		}
	}
	return strings.Join(hosts, ",")
}

// checkPeers holds the gateways' addresses to what makes a cluster.
func checkPeers(a at, fl *Fleet) {
	if !a.given("peers") {
		a.failKey("peers", "is missing; write peers: {NAME: HOST:6222, ...}, each gateway's member with where the others reach it, this one among them")
		return
	}
	if n := len(fl.Peers); !a.failed("peers") && (n < 2 || n > maxPeers) {
		a.failKey("peers", "has %d gateways; from 2 to %d run NATS themselves, and larger fleets have NATS servers of their own (nats: nats://HOST:4222)", n, maxPeers)
	}
	seen := map[string]string{}
	for _, name := range sortedKeys(fl.Peers) {
		where, key := fl.Peers[name], "peers."+name
		host, port, err := net.SplitHostPort(where)
		if _, bad := fleetShape.parse(name); bad != nil {
			a.failKey(key, "%v", bad)
		}
		if other := seen[where]; other != "" {
			a.failKey(key, "%s has the same address", other)
		} else if err != nil || host == "" || !isPort(port) || addressOf(host).IsUnspecified() || hostFault(host) != "" {
			a.failKey(key, "%s is no address that others can reach: write HOST:PORT, such as 10.0.0.1:6222", quote(where))
		}
		seen[where] = name
	}
	own, there := fl.Peers[fl.Member]
	switch {
	case a.failed("peers"):
		return
	case !there:
		a.failKey("peers", "has no %s, which is this gateway's name; write member: NAME, one of: %s", quote(fl.Member), strings.Join(sortedKeys(fl.Peers), ", "))
	case fl.Listen == "":
		host, port, _ := net.SplitHostPort(own)
		if net.ParseIP(host) == nil {
			host = "" // a name may be another machine's that passes connections on
		}
		fl.Listen = net.JoinHostPort(host, port)
	}
	if len(fl.Peers) == 2 {
		a.r.warn(a.sub("peers"), "with two gateways, neither is a majority alone: while one is away, no user is on a candidate; with three, one may be away")
	}
	if fl.Replicas > len(fl.Peers) {
		a.failKey("replicas", "is %d, but there are only %d gateways to keep a copy", fl.Replicas, len(fl.Peers))
	} else if fl.Replicas == 0 {
		fl.Replicas = min(3, len(fl.Peers))
	}
}
