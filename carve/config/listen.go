package config

import (
	"crypto/tls"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Listener is an address at which users' requests arrive.
type Listener struct {
	// Address is HOST:PORT with the host possibly empty; or unix: with a path.
	Address string
	// Unix is the path of a Unix socket, and Mode that of its file. Empty: it is none.
	Unix string
	Mode fs.FileMode
	// TLS is nil where users speak plain HTTP.
	TLS *TLS
	// Redirect is nil where requests are served.
	Redirect *Redirect
	// Proxies are the load balancers that speak the PROXY protocol here. Empty: nobody
	// does.
	Proxies []netip.Prefix
}

// Redirect sends requests to HTTPS.
type Redirect struct {
	// Status is 308, or 301, 302 or 307.
	Status int
	// Port is that of HTTPS, as clients see it. Default 443.
	Port int
}

// TLS names files in PEM.
type TLS struct {
	// Field is where it stands in the config: "tls", or "listen[1].tls".
	Field string
	// Cert is a chain and Key its key; empty where there is only a folder.
	Cert, Key string
	// Folder has certificates by host. Empty: there is none.
	Folder string
	// MinVersion is crypto/tls's number of the lowest version.
	MinVersion uint16
	// ClientCA are the authorities of clients' certificates. Empty: none are asked for.
	ClientCA string
	// ClientOptional lets clients in that show none.
	ClientOptional bool
}

// Drain says how the gateway ends.
type Drain struct {
	// LameDuck is for how long new connections are still served after whittle was asked
	// to end, while /readyz says that it is not ready. Default 0.
	LameDuck time.Duration
	// Upgraded is how long upgraded connections may go on. Default limits.grace.
	Upgraded time.Duration
}

const (
	defaultListen = ":8080"
	maxListeners  = 64
	wantListen    = "an address such as :8080, {address: …}, or a list of these"
)

// listen reads where users' requests arrive.
func (r *reader) listen(o *object, f *File, files folder) {
	var shared *TLS
	if t, ok := o.child("tls", "{cert: FILE, key: FILE}"); ok {
		shared = r.readTLS(t, files)
	}
	f.Listen = []Listener{{Address: defaultListen, TLS: shared}}
	n, ok := o.get("listen")
	switch {
	case !ok:
	case n.kind == isSequence:
		f.Listen = nil
		o.list("listen", "[:8080, {address: :8443, tls: true}]", maxListeners, func(n *node, path string) {
			f.Listen = append(f.Listen, r.listener(n, path, shared, files))
		})
		if len(n.items) == 0 {
			r.fail(n.at, "listen", "is empty; write at least one address")
		}
		r.checkListeners(f, shared)
	default:
		f.Listen = []Listener{r.listener(n, "listen", shared, files)}
		_, said := r.where["listen.tls"]
		switch l := &f.Listen[0]; {
		case l.TLS != nil || l.Redirect != nil:
		case !said:
			l.TLS = shared
		case shared != nil && !r.failed("listen"):
			r.failField("listen.tls", "is false, and tls: is for no other listener; leave one of the two out")
		}
	}
}

// checkListeners holds the entries of a list to each other and to tls.
func (r *reader) checkListeners(f *File, shared *TLS) {
	used := shared == nil
	first := map[string]int{}
	for i, l := range f.Listen {
		used = used || l.TLS == shared
		if _, port, _ := net.SplitHostPort(l.Address); port == "0" || l.Address == "" {
			continue
		}
		if had, twice := first[l.Address]; twice {
			r.failField(fmt.Sprintf("listen[%d]", i), "%s is given twice; the first is listen[%d]", quote(l.Address), had)
		} else {
			first[l.Address] = i
		}
	}
	if !used && !r.failed("listen") {
		r.failField("tls", "is for no listener: write tls: true in the entry of listen that is to speak it")
	}
}

func (r *reader) listener(n *node, path string, shared *TLS, files folder) (l Listener) {
	parse := func(s string) (Listener, error) { return parseListener(s, files) }
	if n.kind != isMapping {
		readNode(r, n, path, wantListen, &l, parse)
		return l
	}
	o, _ := r.object(n, path, wantListen)
	o.need(read(o, "address", "an address such as :8080", &l, parse), "address", "write address: :8080")
	if mode, given := o.get("mode"); given {
		readNode(r, mode, o.sub("mode"), "a mode such as \"0660\"", &l.Mode, parseMode)
		if l.Unix == "" && !r.failed(path) {
			r.fail(mode.at, o.sub("mode"), "is of a Unix socket's file, and %s is none", quote(l.Address))
		}
	}
	l.TLS = r.listenerTLS(o, shared, files)
	l.Redirect = r.redirect(o)
	if l.Redirect != nil && l.TLS != nil {
		r.failField(o.sub("redirect"), "sends requests to HTTPS, which this listener speaks already")
	}
	if p, given := o.child("proxy_protocol", "trust: [10.0.0.0/8]"); given {
		l.Proxies = p.networks("trust")
		if len(l.Proxies) == 0 && !r.failed(p.path) {
			r.fail(p.n.at, p.sub("trust"), "is missing; write the networks of the load balancers: anybody else could claim to be any client")
		}
		p.done()
	}
	o.done()
	return l
}

// listenerTLS reads a listener's own tls; true takes the one that the file has for all.
func (r *reader) listenerTLS(o *object, shared *TLS, files folder) *TLS {
	n, ok := o.get("tls")
	if !ok {
		return nil
	}
	if n.kind == isMapping {
		t, _ := r.object(n, o.sub("tls"), "")
		return r.readTLS(t, files)
	}
	yes := false
	if readNode(r, n, o.sub("tls"), "true, or {cert: FILE, key: FILE}", &yes, parseFlag) && yes {
		if shared == nil && !r.failed("tls") {
			r.fail(n.at, o.sub("tls"), "there is no tls: in the file; write {cert: FILE, key: FILE} here or there")
		}
		return shared
	}
	return nil
}

func (r *reader) redirect(o *object) *Redirect {
	const want = "https, or {status: 308, port: 443}"
	n, ok := o.get("redirect")
	if !ok {
		return nil
	}
	to := &Redirect{Status: 308, Port: 443}
	if n.kind != isMapping {
		readNode(r, n, o.sub("redirect"), want, new(string), func(s string) (string, error) { return oneOf(s, []string{"https"}) })
		return to
	}
	c, _ := r.object(n, o.sub("redirect"), want)
	choose(c, "status", &to.Status, []string{"301", "302", "307", "308"}, 301, 302, 307, 308)
	c.count("port", &to.Port, 1, 65535)
	c.done()
	return to
}

func (r *reader) readTLS(t *object, files folder) *TLS {
	out := &TLS{Field: t.path, MinVersion: tls.VersionTLS12}
	t.file("cert", &out.Cert, files)
	t.file("key", &out.Key, files)
	t.folder("folder", &out.Folder, files)
	switch {
	case r.failed(t.path):
	case out.Cert == "" && out.Key == "" && out.Folder == "":
		r.fail(t.n.at, t.path, "names no certificate; write both cert: and key:, files in PEM, or a folder: of them")
	case out.Cert == "" && out.Key != "":
		r.failField(t.sub("key"), "belongs to a certificate; write cert: FILE too")
	case out.Cert != "" && out.Key == "":
		r.failField(t.sub("cert"), "needs its key; write key: FILE too")
	}
	choose(t, "min_version", &out.MinVersion, []string{"1.2", "1.3"}, tls.VersionTLS12, tls.VersionTLS13)
	if c, ok := t.child("client", "{ca: FILE, required: true}"); ok {
		c.file("ca", &out.ClientCA, files)
		c.need(out.ClientCA != "", "ca", "write the file of the authorities whose certificates clients show, in PEM")
		required := true
		c.flag("required", &required)
		out.ClientOptional = !required
		c.done()
	}
	t.done()
	return out
}

// drain reads how the gateway ends.
func (r *reader) drain(o *object, f *File) {
	f.Drain.Upgraded = f.Limits.Grace
	if d, ok := o.child("drain", "{lame_duck: 10s, upgraded: 5m}"); ok {
		d.duration("lame_duck", &f.Drain.LameDuck, 0, time.Hour)
		d.duration("upgraded", &f.Drain.Upgraded, time.Millisecond, 7*day)
		d.done()
	}
}

func parseListener(s string, files folder) (Listener, error) {
	path, unix := strings.CutPrefix(s, "unix:")
	if !unix {
		at, err := parseAddress(s)
		return Listener{Address: at}, err
	}
	if path == "" || strings.ContainsAny(path, "\x00@") {
		return Listener{}, fmt.Errorf("%s names no file: write unix:/run/whittle.sock", quote(s))
	}
	if err := pathFault(path); err != nil {
		return Listener{}, err
	}
	if path = files.path(path); len(path) > maxUnix {
		return Listener{}, fmt.Errorf("%s is longer than the %d bytes that a Unix socket's path has at most", quote(path), maxUnix)
	}
	return Listener{Address: "unix:" + path, Unix: path}, nil
}

// maxUnix is the longest path of a Unix socket on every system.
const maxUnix = 103

func parseMode(s string) (fs.FileMode, error) {
	n, err := strconv.ParseUint(s, 8, 32)
	if err != nil || n > 0o777 || len(s) != 4 {
		return 0, fmt.Errorf("%s is not a mode: write \"0660\"", quote(s))
	}
	if n == 0 {
		return 0, fmt.Errorf("%s lets nobody in: write \"0660\"", quote(s))
	}
	return fs.FileMode(n), nil
}

func parseFlag(s string) (bool, error) {
	switch s {
	case "true", "false":
		return s == "true", nil
	case "yes", "Yes", "YES", "on", "On", "ON", "y", "Y", "1", "True", "TRUE":
		return false, fmt.Errorf("%s is neither true nor false: write true", quote(s))
	case "no", "No", "NO", "off", "Off", "OFF", "n", "N", "0", "False", "FALSE":
		return false, fmt.Errorf("%s is neither true nor false: write false", quote(s))
	}
	return false, fmt.Errorf("%s is neither true nor false", quote(s))
}
