package config

import (
	"crypto/tls"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/carve/gateway/accesslog"
	"whittle/internal/http1"
	"whittle/record/redact"
)

// config is the whole file.
func (f *File) config() value {
	var shared *TLS
	if len(f.Listen) == 0 {
		f.Listen = []Listener{{}}
	}
	keys := []key{
		{"tls", optional(&shared, tlsOf), "(none)", "the server's certificate, for `listen` entries with `tls: true`"},
		{"listen", listeners(f), ":8080", "addresses that accept users' requests"},
		{"admin", adminAPI(f), "127.0.0.1:8081", "address and tokens of the admin API"},
		{"monolith", monolith(&f.Monolith), required, "the server that responds today"},
		{"state", file(&f.State), "whittle.db", "state file: shares, evidence, ledgers"},
		{"limits", limits(&f.Limits), "", "bounds on what clients can make the gateway hold"},
		{"drain", mapping("{lame_duck: 10s, upgraded: 5m}", nil,
			key{
				"lame_duck", span(&f.Drain.LameDuck, 0, time.Hour),
				"(`0s`, or `7s` with `forwarded.trust` or `proxy_protocol`)", "after SIGTERM, how long `/readyz` fails while new connections are served",
			},
			key{"upgraded", span(&f.Drain.Upgraded, time.Millisecond, 7*day), "(`limits.grace`)", "for upgraded connections (WebSocket) to finish when whittle ends or is replaced"}), "", "how whittle ends"},
		{"underscores_in_headers", boolean(&f.Underscores), "false", "forwards headers such as `X_User`, which many servers read as `X-User`"},
		{"forwarded", mapping("trust: [10.0.0.0/8]", nil,
			key{"trust", networks(&f.Forwarded.Trust, 0), "(none)", "networks whose `Forwarded` and `X-Forwarded-*` headers are kept. Those of others are replaced"}), "", "proxies that may name the client"},
		{"log", mapping("{level: info, format: text}", nil,
			key{"level", choice(&f.Log.Level, []string{"debug", "info", "warn", "error"}, slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError), "info", "lowest severity to log"},
			key{"format", choice(&f.Log.Format, []string{"text", "json"}, "text", "json"), "text", "format of the lines"}), "", "the log"},
		{"access", optional(&f.Access, access), "(none)", "a line for each request"},
		{"record", optional(&f.Record, record), "(none)", "records users' exchanges"},
		{"redact", redaction(&f.Redact), "", "secrets in addition to the defaults, in recordings and in samples of differences"},
		{"notify", notices(f), "(none)", "webhooks for decisions, verdicts and waits"},
		{"prometheus", optional(&f.Prometheus, prometheus), "(none)", "the server that `guard.query` asks"},
		{"fleet", optional(&f.Fleet, func(fl *Fleet) value { return fleet(f, fl) }), "(none)", "one rollout of many gateways, over NATS JetStream"},
		{"routes", routes(f), "(none)", "the endpoints to carve out"},
		{"include", include(f), "(none)", "more files with routes, such as `services/*/routes.yaml`"},
	}
	return value{block: func() block {
		return block{like: "listen:, monolith:, routes: and so on", keys: keys, check: func(a at) {
			f.checkListeners(a, shared)
			if strings.HasSuffix(f.State, ":memory:") {
				a.failKey("state", "%s would be a file of that name, but the state must be kept over restarts", quote(f.State))
			}
			if !a.given("drain.upgraded") {
				f.Drain.Upgraded = f.Limits.Grace
			}
			if f.behind() && !a.given("drain.lame_duck") {
				f.Drain.LameDuck = behindLameDuck
			}
			if f.behind() && !a.given("limits.idle_timeout") {
				f.Limits.IdleTimeout = behindIdle
			}
		}, idle: func(key string) bool { return key == "tls" || key == "include" || key == "routes" }}
	}}
}

// Defaults behind a proxy, chosen so that the proxies' own are right.
const (
	// behindLameDuck is longer than HAProxy's checks take to fail: three, 2 s apart.
	behindLameDuck = 7 * time.Second
	// behindIdle is longer than proxies keep an idle connection: Envoy does for an hour.
	// Whoever closes it first must be the proxy, or a write may be on its way to it.
	behindIdle = 65 * time.Minute
)

// behind reports whether the config names a proxy in front.
func (f *File) behind() bool {
	return len(f.Forwarded.Trust) > 0 || slices.ContainsFunc(f.Listen, func(l Listener) bool { return len(l.Proxies) > 0 })
}

// routes are those of the config itself; the reader counts them, with those of further files.
func routes(f *File) value {
	v := listOf(&f.Routes, 0, maxRoutes, f.route)
	v.list.clear = func() {}
	return v
}

// adminAPI is an address, or a mapping with tokens.
func adminAPI(f *File) value {
	token, viewer := kept{name: "token", into: &f.AdminToken}, kept{name: "viewer_token", into: &f.ViewerToken}
	hook := kept{name: "hook_key", into: &f.HookKey}
	address := adminAddress(&f.Admin)
	check := func(a at, n *node) {
		if f.Admin != "" && f.AdminToken == "" && !isLoopback(f.Admin) && !a.failed("") {
			a.fail("%s can be reached from other machines, so a token is needed: write {listen: %s, token_file: FILE} or token_env: NAME, or listen on 127.0.0.1", quote(f.Admin), strconv.Quote(f.Admin))
		}
	}
	v := mapping("{listen, token_file, viewer_token_file, hook_key_file}", func(a at) {
		token.secret(a)
		viewer.secret(a)
		hook.secret(a)
		if f.HookKey != "" && (f.HookKey == f.AdminToken || f.HookKey == f.ViewerToken) {
			a.fail("gives the hooks, whose key is in URLs, the same key as a token")
		}
		switch {
		case f.ViewerToken == "" || a.failed(""):
		case f.AdminToken == "":
			a.fail("has a token for viewers and none for operators, so anybody could give orders; also write token_file: FILE or token_env: NAME")
		case f.ViewerToken == f.AdminToken:
			a.fail("gives viewers and operators the same token")
		}
		check(a, a.n)
	}, slices.Concat([]key{{"listen", address, "127.0.0.1:8081", "its address"}},
		token.keys("(none)", "the operators' token: one word of at least 16 characters. Required unless the address is on loopback"),
		viewer.keys("(none)", "the viewers' token: they give no orders. Needs an operators' token"),
		hook.keys("(none)", "the key of Flagger's webhooks, `POST /hooks/ROUTE/{rise,live,rollback}?key=KEY`"))...)
	v.form = address.form
	v.text = func(a at, s string) error {
		err := address.text(a, s)
		if err == nil {
			check(a, a.n)
		}
		return err
	}
	return v
}

func limits(l *whittle.Limits) value {
	header := scalarInt(&l.HeaderBytes)
	*l = l.WithDefaults()
	return mapping("connections:, header:, body: and so on", func(a at) {
		if l.BuffersBytes >= 0 && l.BuffersBytes < l.BufferBytes {
			a.failKey("buffers", "holds less than one buffer (%s): write at least that, or off", size(l.BufferBytes))
		}
	},
		key{"connections", count(&l.Connections, 1, maxNum), "", "open client connections; more wait"},
		key{"header", header, "", "a request's line and headers; above it, 431"},
		key{"body", offIs(&l.BodyBytes, -1, amount(&l.BodyBytes, 1, 1<<50)), "", "a request's body; above it, 413. Bodies pass in constant memory"},
		key{"copies", amount(&l.CopyBytes, mib, 1<<50), "", "memory for the copies of all routes; above it, mirroring sheds"},
		key{"buffer", amount(&l.BufferBytes, 4*kib, gib), "", "read-ahead of a response to a slow client; longest request body that is read before a connection is taken"},
		key{"buffers", offIs(&l.BuffersBytes, -1, amount(&l.BuffersBytes, mib, 1<<50)), "", "read-ahead of all responses together"},
		key{"streams", count(&l.Streams, 1, 100_000), "", "concurrent HTTP/2 streams on a connection"},
		key{"header_timeout", span(&l.HeaderTimeout, time.Millisecond, time.Hour), "", "for all headers to arrive"},
		key{"idle_timeout", span(&l.IdleTimeout, time.Millisecond, day), "(`2m`, or `65m` with `forwarded.trust` or `proxy_protocol`)", "for the next request on an idle connection"},
		key{"stall_timeout", span(&l.StallTimeout, time.Millisecond, day), "", "for the next byte of a body, in either direction"},
		key{"upgrade_idle", span(&l.UpgradeIdle, time.Millisecond, 30*day), "", "for the next byte on an upgraded connection (WebSocket)"},
		key{"grace", span(&l.Grace, time.Millisecond, time.Hour), "", "for requests under way when whittle ends"})
}

// scalarInt is a size that is kept as an int.
func scalarInt(dst *int) value {
	n := new(int64)
	v := amount(n, kib, 16*mib)
	text := v.text
	v.text = func(a at, s string) error { err := text(a, s); *dst = int(*n); return err }
	v.show = func() string { return size(int64(*dst)) }
	return v
}

const maxFields = 100

// access is what is logged of each request.
func access(c *Access) value {
	fields := words(&c.Fields, 1, maxFields, matching("`"+strings.Join(accesslog.Names, "`, `")+"` or `header:NAME`", `^[a-z_]+$|^header:[^\s:]+$`), parseField)
	id := orOff(&c.RequestID, word(&c.RequestID, headerForm, parseFieldName))
	file := file(&c.File)
	text := file.text
	file.text = func(a at, s string) error {
		if slices.Contains([]string{"-", "stdout", "stderr", "off", "false"}, s) || strings.HasPrefix(s, "syslog:") {
			return fmt.Errorf("%s would be a file of that name: leave it out for the log, which is standard error, or write /dev/stdout", quote(s))
		}
		return text(a, s)
	}
	return mapping("{file: access.log}", func(a at) {
		for i, field := range c.Fields {
			if slices.Contains(c.Fields[:i], field) {
				a.failKey(fmt.Sprintf("fields[%d]", i), "%s is given twice", quote(field))
			}
		}
	},
		key{"file", file, "(the log)", "a file of JSON lines, or `/dev/stdout`. For logrotate, use copytruncate"},
		key{"fields", fields, "[" + strings.Join(accesslog.Default, ", ") + "]", "the fields of a line, in this order"},
		key{"request_id", id, "X-Request-Id", "header with the request's id. Only a trusted peer's is kept"})
}

func parseFieldName(s string) (string, error) {
	name := http.CanonicalHeaderKey(s)
	if !http1.IsToken(s) || strings.Contains(s, "_") || slices.Contains([]string{"true", "false", "yes", "no", "on", "none"}, strings.ToLower(s)) ||
		slices.Contains([]string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Te", "Trailer", "Cdn-Loop", "Forwarded"}, name) {
		return "", fmt.Errorf("%s is not the name of a header of one's own that all servers take: write X-Request-ID, or request_id: off", quote(s))
	}
	return name, nil
}

func parseField(s string) (string, error) {
	if name, ok := strings.CutPrefix(s, accesslog.RequestHeader); ok {
		if !http1.IsToken(name) {
			return "", fmt.Errorf("%s names no header: write %sX-Tenant", quote(s), accesslog.RequestHeader)
		}
		return s, nil
	}
	return oneOf(s, accesslog.Names)
}

// record is what is kept of the users' exchanges.
func record(c *Record) value {
	return mapping("{sample: 10%}", func(a at) {
		if absolute(c.Dir) == absolute(a.r.dir) {
			a.failKey("dir", "is the folder of the config: write one that holds nothing else, such as recorded")
		}
		if !a.given("key_file") {
			c.KeyFile = filepath.Clean(c.Dir) + ".key"
		}
	},
		key{"dir", folder(&c.Dir), "recorded", "the log's folder"},
		key{"key_file", file(&c.KeyFile), "(the folder's name with `.key`)", "key of the tokens that replace secrets; created if missing"},
		key{"sample", orOff(&c.Sample, share(&c.Sample)), "10%", "share of exchanges to record, also without a route; `off`: only routes with their own `record`"},
		key{"max_body", amount(&c.MaxBody, 1, 16*mib), "1MiB", "of a body; longer ones are left out"},
		key{"max_bytes", amount(&c.MaxBytes, mib, 1<<50), "1GiB", "of the folder; the oldest exchanges go first"},
		key{"max_age", span(&c.MaxAge, time.Minute, 3650*day), "168h", "of an exchange"})
}

// redaction is what is secret in addition to the defaults. Paths and patterns are checked where
// they are compiled.
func redaction(d *redact.Rules) value {
	name := func(s string) (string, error) {
		if strings.TrimSpace(s) == "" {
			return "", fmt.Errorf("%s is no name; write one such as phone_number", quote(s))
		}
		return s, nil
	}
	whole := func(s string) (string, error) {
		if strings.ContainsAny(s, "*?^$|\\()") {
			return "", fmt.Errorf("%s: a name is compared as a whole, and its signs are left out: write each name, or a pattern under patterns", quote(s))
		}
		return name(s)
	}
	text := matching("text", "", "number", "boolean")
	return mapping("{fields: [phone], headers: [X-Tenant]}", nil,
		key{"headers", words(&d.Headers, 0, maxNames, text, whole), "(none)", "more secret headers"},
		key{"fields", words(&d.Fields, 0, maxNames, text, whole), "(none)", "more secret names, of JSON members, form fields, parameters, cookies and XML elements"},
		key{"paths", paths(&d.Paths), "(none)", "JSON paths: `$.user.phone`"},
		key{"patterns", words(&d.Patterns, 0, maxNames, text, name), "(none)", "regular expressions (RE2) of secrets: the first group, or the whole match"},
		key{"keep", words(&d.Keep, 0, maxNames, text, name), "(none)", "names that are no secrets, or `shape-email`, `shape-card`, `shape-token`, `shape-other`"})
}

const maxListeners = 64

// theFiles stands for the tls: of the whole file until it is known.
var theFiles = &TLS{}

// listeners is an address, a mapping, or a list of both.
func listeners(f *File) value {
	one := listener(&f.Listen[0])
	many := listOf(&f.Listen, 1, maxListeners, listener)
	return value{text: one.text, form: one.form, block: one.block, list: many.list, show: func() string {
		if len(f.Listen) == 1 {
			one := listener(&f.Listen[0])
			text := one.shown()
			if l := f.Listen[0]; text == "address: "+l.Address {
				return l.Address
			}
			return braced(one, text)
		}
		return many.show()
	}}
}

// checkListeners gives the listeners their certificates, and holds them to each other.
func (f *File) checkListeners(a at, shared *TLS) {
	used := shared == nil
	first := map[string]int{}
	for i := range f.Listen {
		l, field := &f.Listen[i], a.r.listenField(f, i)
		if !a.given("listen[0]") && l.TLS == nil && l.Redirect == nil && !a.given("listen.tls") {
			l.TLS = shared
		}
		if l.TLS == theFiles {
			if l.TLS = shared; shared == nil && !a.failed("tls") {
				a.failKey(field+".tls", "there is no tls: in the file; write {cert: FILE, key: FILE} here or there")
			}
		}
		if l.TLS != nil && l.TLS != shared {
			l.TLS.Field = field + ".tls"
		}
		used = used || l.TLS == shared
		if l.Redirect != nil && l.TLS != nil {
			a.failKey(field+".redirect", "sends requests to HTTPS, which this listener speaks already")
		}
		if _, port, _ := net.SplitHostPort(l.Address); port == "0" || l.Address == "" {
			continue
		}
		if had, twice := first[l.Address]; twice {
			a.failKey(field, "%s is given twice; the first is listen[%d]", quote(l.Address), had)
		} else {
			first[l.Address] = i
		}
	}
	if shared != nil {
		shared.Field = "tls"
	}
	if !used && !a.failed("listen") {
		a.failKey("tls", "belongs to no listener: write tls: true where it applies, or leave it out")
	}
}

// listenField is a listener's field in the file.
func (r *reader) listenField(f *File, i int) string {
	if _, many := r.where["listen[0]"]; many || len(f.Listen) > 1 {
		return fmt.Sprintf("listen[%d]", i)
	}
	return "listen"
}

func listener(l *Listener) value {
	address := value{
		form: matching("HOST:PORT, or `unix:PATH`", `^[^/@\s]*:[0-9]{1,5}$|^unix:.`),
		text: func(a at, s string) (err error) {
			*l, err = parseListener(a.r, s)
			return err
		},
		show: func() string { return l.Address },
	}
	v := mapping("{address: :8080}", func(a at) {
		if l.Mode != 0 && l.Unix == "" && !a.failed("") {
			a.failKey("mode", "is for a Unix socket's file, and %s is not one", quote(l.Address))
		}
		if l.Sink || l.Candidates != nil {
			a.useless("where nobody waits for a response", "redirect")
		}
		if l.Sink && l.Candidates != nil {
			a.failKey("ext_proc", "and a mirror send different things: write a listener for each")
		}
	},
		key{"address", address, required, "the address"},
		key{"mode", scalar(&l.Mode, matching("mode, such as `\"0660\"`", `^0[0-7]{3}$`), parseMode, showMode), "(by the umask)", "of a Unix socket's file"},
		key{"tls", listenerTLS(l), "(none)", "`true` for the top-level `tls`, or a mapping like it"},
		key{"sink", boolean(&l.Sink), "false", "takes a proxy's mirrored requests: responds 204 at once, and asks both sides"},
		key{"ext_proc", value{block: func() block {
			return block{like: "candidates: [shop-candidate]", keys: []key{{
				"candidates", words(&l.Candidates, 1, maxNames, matching("name of a cluster", `^\S+$`, "number", "boolean"), parseCluster), required,
				"Envoy's clusters that are the candidate; all others are the monolith",
			}}}
		}, open: func() {}, absent: func() bool { return l.Candidates == nil }}, "(none)", "takes users' exchanges from Envoy's `ext_proc` filter, and asks the other side"},
		key{"redirect", optional(&l.Redirect, redirect), "(none)", "redirects every request to HTTPS"},
		key{"proxy_protocol", value{block: func() block {
			return block{like: "trust: [10.0.0.0/8]", keys: []key{{"trust", networks(&l.Proxies, 1), required, "load balancers that send its header"}}}
		}, open: func() {}, absent: func() bool { return len(l.Proxies) == 0 }}, "(none)", "accepts the PROXY protocol"})
	whole := v.block
	v.block = func() block {
		b := whole()
		b.idle = func(key string) bool { return key == "sink" && !l.Sink }
		return b
	}
	v.text, v.form = address.text, address.form
	return v
}

func parseCluster(s string) (string, error) {
	if s == "" || strings.ContainsAny(s, " \t\r\n") {
		return "", fmt.Errorf("%s is no cluster of Envoy's: write its name", quote(s))
	}
	return s, nil
}

func listenerTLS(l *Listener) value {
	v := optional(&l.TLS, tlsOf)
	v.form = matching("`true` or `false`", `^(true|false)$`, "boolean")
	v.text = func(_ at, s string) error {
		yes, err := parseFlag(s)
		if l.TLS = nil; yes {
			l.TLS = theFiles
		}
		return err
	}
	return v
}

func redirect(to *Redirect) value {
	statuses := []int{301, 302, 307, 308}
	var https string
	v := mapping("{status: 308, port: 443}", nil,
		key{"status", choice(&to.Status, []string{"301", "302", "307", "308"}, statuses...), "308", "307 and 308 keep the method; most clients turn 301 and 302 into GET"},
		key{"port", count(&to.Port, 1, 65535), "443", "HTTPS port, as clients see it"})
	word := choice(&https, []string{"https"}, "https")
	v.text, v.form = word.text, word.form
	return v
}

func tlsOf(t *TLS) value {
	keys := []key{
		{"cert", file(&t.Cert), "(required without `folder`)", "certificate chain in PEM, the server's own first"},
		{"key", file(&t.Key), "(required without `folder`)", "its key in PEM"},
		{"folder", folder(&t.Folder), "(none)", "certificates by host: `NAME.crt` or `.pem` with `NAME.key`, or folders with `fullchain.pem` and `privkey.pem`, or `tls.crt` and `tls.key`"},
		{"min_version", choice(&t.MinVersion, []string{"1.2", "1.3"}, tls.VersionTLS12, tls.VersionTLS13), "1.2", "least version"},
		{"client", value{block: func() block {
			return block{like: "{ca: FILE, required: true}", keys: []key{
				{"ca", file(&t.ClientCA), required, "PEM file of the authorities that sign clients' certificates"},
				{"required", booleanOf(&t.ClientOptional, false), "true", "`false` also admits clients without a certificate"},
			}}
		}, open: func() {}, absent: func() bool { return t.ClientCA == "" }}, "(none)", "client certificates"},
	}
	return mapping("{cert: FILE, key: FILE}", func(a at) {
		switch {
		case a.failed(""):
		case t.Cert == "" && t.Key == "" && t.Folder == "":
			a.fail("names no certificate; write cert: and key:, both files in PEM, or a folder: of them")
		case (t.Cert == "") != (t.Key == ""):
			a.useless("without the other; a certificate and its key belong together, both files in PEM", "cert", "key")
		}
	}, keys...)
}

// maxUnix is the longest path of a Unix socket on every system.
const maxUnix = 103

func parseListener(r *reader, s string) (Listener, error) {
	path, unix := strings.CutPrefix(s, "unix:")
	if !unix {
		address, err := parseAddress(s)
		return Listener{Address: address}, err
	}
	if path == "" || strings.ContainsAny(path, "\x00@") || len(r.resolve(path)) > maxUnix {
		return Listener{}, fmt.Errorf("%s names no file: write unix:/run/whittle.sock, of at most %d bytes", quote(s), maxUnix)
	}
	path, err := r.resolve(path), pathFault(path)
	return Listener{Address: "unix:" + path, Unix: path}, err
}

func parseMode(s string) (fs.FileMode, error) {
	n, err := strconv.ParseUint(s, 8, 32)
	if err != nil || n > 0o777 || len(s) != 4 || n == 0 {
		return 0, fmt.Errorf("%s is not a mode that lets anybody in: write \"0660\"", quote(s))
	}
	return fs.FileMode(n), nil
}

func showMode(m fs.FileMode) string {
	if m == 0 {
		return ""
	}
	return fmt.Sprintf("%04o", m)
}
