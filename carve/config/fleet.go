package config

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"whittle"
	"whittle/internal/units"
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

// fleet reads which fleet this gateway is of; without the section it is alone.
func (r *reader) fleet(o *object, f *File, files folder) {
	c, ok := o.child("fleet", "{nats: nats://127.0.0.1:4222, name: shop}")
	if !ok {
		return
	}
	fl := &Fleet{Lease: 5 * time.Second, PerSecond: 500, MaxBytes: gib, MaxAge: time.Hour}
	c.need(read(c, "nats", "embedded, or the URLs of NATS servers, such as nats://a:4222,nats://b:4222", &fl.NATS, parseNATS),
		"nats", "write nats: nats://HOST:4222, the servers that the gateways share, or nats: embedded")
	c.need(read(c, "name", "a name such as shop", &fl.Name, parseFleetName), "name", "write name: NAME, which all gateways of the fleet have")
	if !read(c, "member", "a name such as gateway-1", &fl.Member, parseFleetName) && !r.failed(c.sub("member")) {
		host, err := os.Hostname()
		if fl.Member = unfit.ReplaceAllString(host, "-"); err != nil || fl.Member == "" {
			r.failField(c.path, "needs member: NAME, since this machine has no name")
		}
		fl.Member = fl.Member[:min(len(fl.Member), maxFleetName)]
	}
	c.duration("lease", &fl.Lease, 500*time.Millisecond, time.Minute)
	if c.file("credentials", &fl.Credentials, files) {
		if _, err := files.read(fl.Credentials); err != nil {
			r.failField(c.sub("credentials"), "cannot be read: %v", err)
		}
	}
	if t, ok := c.child("tls", "{ca: FILE, cert: FILE, key: FILE}"); ok {
		r.clientTLS(t, &fl.TLS, "nats.internal", files)
		t.done()
		t.checkPair()
	}
	c.count("replicas", &fl.Replicas, 1, 5)
	if e, ok := c.child("evidence", "{per_second: 500, max_bytes: 1GiB, max_age: 1h}"); ok {
		e.count("per_second", &fl.PerSecond, 1, 100_000)
		e.size("max_bytes", &fl.MaxBytes, 16*mib, 1<<50)
		e.duration("max_age", &fl.MaxAge, time.Minute, 7*day)
		e.done()
	}
	r.embedded(c, f, fl, files)
	c.done()
	f.Fleet = fl
}

const maxFleetName = 64

var (
	fleetName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	unfit     = regexp.MustCompile(`[^A-Za-z0-9_-]+`)
)

func parseFleetName(s string) (string, error) {
	if len(s) > maxFleetName || !fleetName.MatchString(s) {
		return "", fmt.Errorf("%s is no name: write up to %d letters, digits, - and _", quote(s), maxFleetName)
	}
	return s, nil
}

// parseNATS reads the URLs of servers. No message has them: one may have a password.
func parseNATS(s string) (string, error) {
	if s == natsEmbedded {
		return s, nil
	}
	for _, one := range strings.Split(s, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		switch {
		case err != nil || u.Hostname() == "" || u.Scheme != "nats" && u.Scheme != "tls":
			return "", errors.New("is not the URL of a NATS server: write nats://HOST:4222 or tls://HOST:4222, several with commas between them, or embedded")
		case !portIsFine(u):
			return "", errors.New("has a port that is not a number from 1 to 65535")
		case hostFault(u.Hostname()) != "":
			return "", errors.New("has a host that " + hostFault(u.Hostname()))
		case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
			return "", errors.New("has something behind the port, which has no meaning here")
		}
	}
	return s, nil
}

func (f *File) describeFleet(b *strings.Builder) {
	fl := f.Fleet
	if fl == nil {
		return
	}
	var hosts []string
	for _, one := range strings.Split(fl.NATS, ",") {
		if u, err := url.Parse(strings.TrimSpace(one)); err == nil {
			hosts = append(hosts, u.Scheme+"://"+u.Host)
		}
	}
	by := strings.Join(hosts, ", ")
	if fl.NATS == "" {
		by = fmt.Sprintf("the NATS servers of its %d gateways, with this one's at %s and its store in %s", len(fl.Peers), fl.Listen, fl.Store)
	}
	line(b, "fleet", "%s, this gateway is %s, by %s", fl.Name, fl.Member, by)
	line(b, "", "without users on a candidate after %s of silence; %s exchanges a second compared by all together, at most %s and %s old",
		units.Span(fl.Lease), units.Grouped(fl.PerSecond), size(fl.MaxBytes), units.Span(fl.MaxAge))
}

const (
	// natsEmbedded is in the place of URLs where the gateways run NATS themselves.
	natsEmbedded = "embedded"
	// maxPeers bounds the gateways that do: all of their servers speak to each other.
	maxPeers = 7
)

// embedded reads how the gateways of a fleet that run NATS themselves find each other.
func (r *reader) embedded(c *object, f *File, fl *Fleet, files folder) {
	e := &fl.Embedded
	c.names("peers", "{gateway-1: 10.0.0.1:6222, gateway-2: 10.0.0.2:6222, gateway-3: 10.0.0.3:6222}", &e.Peers)
	read(c, "listen", "an address such as 0.0.0.0:6222", &e.Listen, parseAddress)
	r.secret(c, "secret", &e.Secret, files)
	c.folder("store", &e.Store, files)
	if fl.NATS != natsEmbedded {
		if !r.failed(c.sub("nats")) {
			c.useless("without nats: embedded", "peers", "listen", "secret_file", "secret_env", "store")
		}
		return
	}
	fl.NATS = ""
	if e.Store == "" {
		e.Store = f.State + ".nats"
	}
	r.peers(c, fl)
	if e.Secret == "" && !r.failed(c.sub("secret_file")) && !r.failed(c.sub("secret_env")) {
		r.fail(c.n.at, c.path, "has no secret: write secret_file: FILE or secret_env: NAME, the same in all gateways; whoever has it can give orders")
	}
	c.useless("with nats: embedded; the gateways show each other their secret", "credentials")
	r.mutualTLS(c, fl)
}

// mutualTLS wants what both ends of a connection need, since every gateway is both.
func (r *reader) mutualTLS(c *object, fl *Fleet) {
	if fl.TLS == (whittle.UpstreamTLS{}) || r.failed(c.sub("tls")) {
		return
	}
	if fl.TLS.ServerName != "" {
		r.failField(c.sub("tls.server_name"), "has no effect with nats: embedded; a certificate is for the host in peers")
	}
	if fl.TLS.CA == "" || fl.TLS.Certificate == "" {
		r.failField(c.sub("tls"), "needs ca, cert and key with nats: embedded, since the gateways check each other")
	}
}

// peers holds the gateways' addresses to what makes a cluster.
func (r *reader) peers(c *object, fl *Fleet) {
	e, field := &fl.Embedded, c.sub("peers")
	if !c.given("peers") {
		r.fail(c.n.at, field, "is missing; write peers: {NAME: HOST:6222, ...}, each gateway's member with where the others reach it, this one among them")
		return
	}
	if r.failed(field) {
		return
	}
	if n := len(e.Peers); n < 2 || n > maxPeers {
		r.failField(field, "has %d gateways; from 2 to %d run NATS themselves, and larger fleets have NATS servers of their own (nats: nats://HOST:4222)", n, maxPeers)
		return
	}
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(e.Peers)) {
		at := field + "." + name
		host, port, err := net.SplitHostPort(e.Peers[name])
		if _, bad := parseFleetName(name); bad != nil {
			r.failField(at, "%v", bad)
		}
		if err != nil || host == "" || !isPort(port) || strings.ContainsAny(e.Peers[name], " /@?#") || addressOf(host).IsUnspecified() || hostFault(host) != "" {
			r.failField(at, "%s is no address that others can reach: write HOST:PORT, such as 10.0.0.1:6222", quote(e.Peers[name]))
		} else if other := seen[e.Peers[name]]; other != "" {
			r.failField(at, "%s has the same address", other)
		}
		seen[e.Peers[name]] = name
	}
	own, there := e.Peers[fl.Member]
	switch {
	case r.failed(field):
	case !there:
		r.failField(field, "has no %s, which is this gateway's name; write member: NAME, one of: %s", quote(fl.Member), strings.Join(slices.Sorted(maps.Keys(e.Peers)), ", "))
	case e.Listen == "":
		host, port, _ := net.SplitHostPort(own)
		if net.ParseIP(host) == nil {
			host = "" // a name may be another machine's that passes connections on
		}
		e.Listen = net.JoinHostPort(host, port)
	}
	if len(e.Peers) == 2 && !r.failed(field) {
		r.warn(field, "two gateways are no majority without each other: while one is away nobody is on a candidate; with three one may be")
	}
	if fl.Replicas > len(e.Peers) {
		r.failField(c.sub("replicas"), "is %d, and there are %d gateways to keep a copy", fl.Replicas, len(e.Peers))
	}
	if fl.Replicas == 0 {
		fl.Replicas = min(3, len(e.Peers))
	}
}
