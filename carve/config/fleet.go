package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"whittle"
	"whittle/internal/units"
)

// Fleet says which gateways make one rollout together, and over which NATS servers.
type Fleet struct {
	// NATS has the servers' URLs, separated by commas.
	NATS string
	// Name is the fleet's, Member this gateway's within it. Default: the host's name.
	Name, Member string
	// Lease is after which silence a gateway has no users on a candidate. Default 5 s.
	Lease time.Duration
	// Credentials is a .creds file. Empty: none.
	Credentials string
	// TLS has the files that the servers are spoken to by.
	TLS whittle.UpstreamTLS
	// Replicas is how many servers keep a copy. 0: three in a cluster, otherwise one.
	Replicas int
	// PerSecond bounds the exchanges that the fleet compares together. Default 500.
	PerSecond int
	// MaxBytes and MaxAge bound the stream of exchanges. Default 1 GiB and an hour.
	MaxBytes int64
	MaxAge   time.Duration
}

// fleet reads which fleet this gateway is of; without the section it is alone.
func (r *reader) fleet(o *object, f *File, files folder) {
	c, ok := o.child("fleet", "{nats: nats://127.0.0.1:4222, name: shop}")
	if !ok {
		return
	}
	fl := &Fleet{Lease: 5 * time.Second, PerSecond: 500, MaxBytes: gib, MaxAge: time.Hour}
	if !read(c, "nats", "the URLs of NATS servers, such as nats://a:4222,nats://b:4222", &fl.NATS, parseNATS) && !r.failed(c.sub("nats")) {
		r.fail(c.n.at, c.sub("nats"), "is missing; write nats: nats://HOST:4222, the servers that the gateways share")
	}
	if !read(c, "name", "a name such as shop", &fl.Name, parseFleetName) && !r.failed(c.sub("name")) {
		r.fail(c.n.at, c.sub("name"), "is missing; write name: NAME, which all gateways of the fleet have")
	}
	if !read(c, "member", "a name such as gateway-1", &fl.Member, parseFleetName) && !r.failed(c.sub("member")) {
		host, err := os.Hostname()
		if fl.Member = unfit.ReplaceAllString(host, "-"); err != nil || fl.Member == "" {
			r.failField(c.path, "needs member: NAME, since this machine has no name")
		}
		fl.Member = fl.Member[:min(len(fl.Member), maxFleetName)]
	}
	c.duration("lease", &fl.Lease, 500*time.Millisecond, time.Minute)
	if c.text("credentials", &fl.Credentials) {
		fl.Credentials = files.path(fl.Credentials)
		if _, err := files.read(fl.Credentials); err != nil {
			r.failField(c.sub("credentials"), "cannot be read: %v", err)
		}
	}
	r.fleetTLS(c, fl, files)
	c.count("replicas", &fl.Replicas, 1, 5)
	if e, ok := c.child("evidence", "{per_second: 500, max_bytes: 1GiB, max_age: 1h}"); ok {
		e.count("per_second", &fl.PerSecond, 1, 100_000)
		e.size("max_bytes", &fl.MaxBytes, 16*mib, 1<<50)
		e.duration("max_age", &fl.MaxAge, time.Minute, 7*day)
		e.done()
	}
	c.done()
	f.Fleet = fl
}

func (r *reader) fleetTLS(c *object, fl *Fleet, files folder) {
	t, ok := c.child("tls", "{ca: FILE, cert: FILE, key: FILE}")
	if !ok {
		return
	}
	for _, file := range []struct {
		key string
		dst *string
	}{{"ca", &fl.TLS.CA}, {"cert", &fl.TLS.Certificate}, {"key", &fl.TLS.Key}} {
		if t.text(file.key, file.dst) {
			*file.dst = files.path(*file.dst)
		}
	}
	read(t, "server_name", "a name such as nats.internal", &fl.TLS.ServerName, parseServerName)
	t.done()
	for _, part := range [][2]string{{"cert", "key"}, {"key", "cert"}} {
		_, one := r.where[t.sub(part[0])]
		if _, other := r.where[t.sub(part[1])]; one && !other {
			r.failField(t.sub(part[0]), "has no effect without %s:, which belongs to it; both are files in PEM", part[1])
		}
	}
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
	for _, one := range strings.Split(s, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		switch {
		case err != nil || u.Hostname() == "" || u.Scheme != "nats" && u.Scheme != "tls":
			return "", errors.New("is not the URL of a NATS server: write nats://HOST:4222 or tls://HOST:4222, several with commas between them")
		case u.Port() != "" && !isPort(u.Port()):
			return "", errors.New("has a port that is not a number from 1 to 65535")
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
	line(b, "fleet", "%s, this gateway is %s, by %s", fl.Name, fl.Member, strings.Join(hosts, ", "))
	line(b, "", "without users on a candidate after %s of silence; %s exchanges a second compared by all together, at most %s and %s old",
		units.Span(fl.Lease), units.Grouped(fl.PerSecond), size(fl.MaxBytes), units.Span(fl.MaxAge))
}
