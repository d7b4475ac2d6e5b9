package config

import (
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/carve/gateway/accesslog"
	"whittle/internal/http1"
)

const (
	day          = 24 * time.Hour
	kib    int64 = 1 << 10
	mib    int64 = 1 << 20
	gib    int64 = 1 << 30
	maxNum       = 1 << 20
)

// server reads everything but the routes.
func (r *reader) server(o *object, f *File, files folder) {
	r.listen(o, f, files)
	r.admin(o, f, files)
	f.Monolith = upstreamDefaults()
	f.Monolith.Timeout, f.Monolith.WaitTimeout, f.Monolith.MaxConns = time.Minute, 10*time.Second, 1024
	if n, ok := o.get("monolith"); ok {
		if u, ok := r.upstream(n, "monolith", &f.Monolith, files); ok {
			r.healthGRPC(u, &f.Monolith, false)
			u.done()
		}
	} else if _, given := r.where["monolith"]; !given {
		r.fail(top, "monolith", "is missing; write monolith: http://127.0.0.1:3000, the server that responds today")
	}
	f.State = files.path("whittle.db")
	if o.file("state", &f.State, files) && strings.HasSuffix(f.State, ":memory:") {
		r.failField("state", "%s would be a file of that name, and state is kept in one, over restarts: write one such as whittle.db", quote(f.State))
	}
	f.Limits = whittle.Limits{}.WithDefaults()
	if l, ok := o.child("limits", "connections:, header:, body: and so on"); ok {
		r.limits(l, &f.Limits)
	}
	r.drain(o, f)
	r.clients(o, f)
	o.flag("underscores_in_headers", &f.Underscores)
	if fw, ok := o.child("forwarded", "trust: [10.0.0.0/8]"); ok {
		f.Forwarded.Trust = fw.networks("trust")
		fw.done()
	}
	f.Trace.Sample = whittle.Percent(1)
	if t, ok := o.child("trace", "otlp: http://127.0.0.1:4318"); ok {
		read(t, "otlp", "a URL such as http://127.0.0.1:4318", &f.Trace.Endpoint, func(s string) (string, error) {
			return parseBase(s, "/v1/traces")
		})
		t.share("sample", &f.Trace.Sample)
		t.done()
	}
	f.Log.Format = "text"
	if l, ok := o.child("log", "{level: info, format: text}"); ok {
		choose(l, "level", &f.Log.Level, []string{"debug", "info", "warn", "error"}, slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError)
		choose(l, "format", &f.Log.Format, []string{"text", "json"}, "text", "json")
		access := false
		if l.flag("access", &access); access {
			f.Access = defaultAccess()
		}
		l.done()
	}
	r.access(o, f, files)
}

// minToken is a length that cannot be guessed online.
const minToken = 16

func (r *reader) admin(o *object, f *File, files folder) {
	f.Admin = "127.0.0.1:8081"
	n, ok := o.get("admin")
	if !ok {
		return
	}
	if n.kind != isMapping {
		readNode(r, n, "admin", "an address such as 127.0.0.1:8081, off, or {listen, token_file, token_env, viewer_token_file, viewer_token_env}", &f.Admin, parseAdmin)
	} else {
		a, _ := r.object(n, "admin", "")
		read(a, "listen", "an address such as 127.0.0.1:8081", &f.Admin, parseAdmin)
		r.secret(a, "token", &f.AdminToken, files)
		r.secret(a, "viewer_token", &f.ViewerToken, files)
		a.done()
		switch {
		case f.ViewerToken == "" || r.failed("admin"):
		case f.AdminToken == "":
			r.fail(n.at, "admin", "has a token for viewers and none for operators, so everybody could order; write token_file: FILE or token_env: NAME too")
		case f.ViewerToken == f.AdminToken:
			r.fail(n.at, "admin", "gives viewers and operators the same token")
		}
	}
	if f.Admin != "" && f.AdminToken == "" && !isLoopback(f.Admin) && !r.failed("admin") {
		r.fail(n.at, "admin", "%s can be reached from other machines, so a token is needed: write {listen: %s, token_file: FILE} or token_env: NAME, or listen on 127.0.0.1",
			quote(f.Admin), strconv.Quote(f.Admin))
	}
}

// failed reports whether a problem of the field, or below it, is known already.
func (r *reader) failed(field string) bool {
	for _, p := range r.problems {
		if rest, ok := strings.CutPrefix(p.field, field); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// secret reads one word of a file or of the environment, by the keys NAME_file and NAME_env.
// It reports whether one of them was given.
func (r *reader) secret(o *object, name string, into *string, files folder) (given bool) {
	text, field, given := r.kept(o, name, files)
	if *into = text; field != "" && (len(text) < minToken || strings.ContainsAny(text, " \t\r\n")) {
		what := name[strings.LastIndexByte(name, '_')+1:] // "token" or "key"
		r.failField(field, "holds no %s: one word of at least %d characters is needed, such as 32 random hex digits", what, minToken)
	}
	return given
}

// kept reads a text that may be a secret, which the config cannot hold since it lies in
// repositories: it is in a file or the environment, by the keys NAME_file and NAME_env. field
// is where that is said; empty: neither is given, or it cannot be read. No problem shows it.
func (r *reader) kept(o *object, name string, files folder) (text, field string, given bool) {
	var path, env string
	inFile, inEnv := name+"_file", name+"_env"
	fromFile, fromEnv := o.file(inFile, &path, files), o.text(inEnv, &env)
	switch {
	case fromFile && fromEnv:
		r.failField(o.sub(inEnv), "cannot be set together with %s; keep one of them", inFile)
	case fromFile:
		b, err := files.read(path)
		if err != nil {
			r.failField(o.sub(inFile), "cannot be read: %v", err)
			break
		}
		text, field = string(b), o.sub(inFile)
	case fromEnv:
		v, ok := r.env(env)
		if !ok {
			r.failField(o.sub(inEnv), "the environment variable %s is not set", quote(env))
			break
		}
		text, field = v, o.sub(inEnv)
	}
	return strings.TrimSpace(text), field, fromFile || fromEnv
}

func (r *reader) limits(o *object, l *whittle.Limits) {
	o.count("connections", &l.Connections, 1, maxNum)
	header := int64(l.HeaderBytes)
	o.size("header", &header, kib, 16*mib)
	l.HeaderBytes = int(header)
	sizeOrOff := func(least int64, off string) func(string) (int64, error) {
		return func(s string) (int64, error) {
			switch s {
			case "off":
				return -1, nil
			case "0", "-1": // as other servers have it
				return 0, fmt.Errorf("%s is no size: write off for %s", quote(s), off)
			}
			return parseSize(s, least, 1<<50)
		}
	}
	read(o, "body", "a size such as 10MiB, or off", &l.BodyBytes, sizeOrOff(1, "no bound"))
	o.size("copies", &l.CopyBytes, mib, 1<<50)
	o.size("buffer", &l.BufferBytes, 4*kib, gib)
	read(o, "buffers", "a size such as 64MiB, or off", &l.BuffersBytes, sizeOrOff(mib, "none"))
	if l.BuffersBytes >= 0 && l.BuffersBytes < l.BufferBytes {
		r.failField(o.sub("buffers"), "holds less than one buffer (%s): write at least that, or off", size(l.BufferBytes))
	}
	o.count("streams", &l.Streams, 1, 100_000)
	o.duration("header_timeout", &l.HeaderTimeout, time.Millisecond, time.Hour)
	o.duration("idle_timeout", &l.IdleTimeout, time.Millisecond, day)
	o.duration("stall_timeout", &l.StallTimeout, time.Millisecond, day)
	o.duration("upgrade_idle", &l.UpgradeIdle, time.Millisecond, 30*day)
	o.duration("grace", &l.Grace, time.Millisecond, time.Hour)
	o.done()
}

// Access says what is logged of each request.
type Access struct {
	// File is where lines go. Empty: to the log.
	File string
	// Fields of a line. Default accesslog.Default.
	Fields []string
	// Sample is how many requests that went well there are for one that is logged.
	// Default 1.
	Sample int
	// RequestID is the field that names requests, canonically. Empty: they have no
	// names. Respond says that responses carry it too.
	RequestID string
	Respond   bool
}

// defaultAccess is what is logged where nothing more is said.
func defaultAccess() *Access {
	return &Access{Fields: accesslog.Default, Sample: 1}
}

const maxFields = 100

// access reads what is logged of each request; in log.access it is only said that it is.
func (r *reader) access(o *object, f *File, files folder) {
	a, ok := o.child("access", "{file: access.log}")
	if !ok {
		return
	}
	f.Access = defaultAccess()
	f.Access.RequestID = "X-Request-Id"
	a.file("file", &f.Access.File, files)
	for _, e := range a.n.entries {
		if e.key == "file" {
			r.noDevice(e.value, a.sub("file"))
		}
	}
	if n, given := a.get("fields"); given {
		r.fields(a, n, f.Access)
	}
	read(a, "sample", "a whole number", &f.Access.Sample, func(s string) (int, error) {
		if share, err := parsePercent(s); err == nil && share > 0 {
			return 0, fmt.Errorf("%s is not a whole number: one in so many is logged, so write %d", quote(s), int(math.Round(1/share)))
		}
		return parseCount(s, 1, 1_000_000)
	})
	if n, given := a.get("request_id"); given {
		r.requestID(a, n, f.Access)
	}
	a.done()
}

// noDevice refuses names that other servers take for something else than a file.
func (r *reader) noDevice(n *node, path string) {
	switch s := n.text; {
	case n.kind != isScalar:
	case s == "-" || s == "stdout" || s == "stderr":
		r.fail(n.at, path, "%s would be a file of that name: leave it out for the log, which is standard error, or write /dev/stdout", quote(s))
	case strings.HasPrefix(s, "syslog:"):
		r.fail(n.at, path, "%s would be a file of that name: leave it out for the log, which systemd hands on", quote(s))
	case s == "off" || s == "false":
		r.fail(n.at, path, "%s would be a file of that name: leave access: out, so that requests are not logged", quote(s))
	}
}

func (r *reader) fields(a *object, n *node, into *Access) {
	into.Fields = nil
	a.list("fields", "["+strings.Join(accesslog.Default[:3], ", ")+"]", maxFields, func(n *node, path string) {
		var field string
		if readNode(r, n, path, "a field such as status, or header:NAME", &field, parseField) {
			if slices.Contains(into.Fields, field) {
				r.fail(n.at, path, "%s is given twice", quote(field))
			}
			into.Fields = append(into.Fields, field)
		}
	})
	if n.kind == isSequence && len(n.items) == 0 {
		r.fail(n.at, a.sub("fields"), "is empty; leave it out for the usual ones")
	}
}

func (r *reader) requestID(a *object, n *node, into *Access) {
	const want = "a header such as X-Request-ID, off, or {header: X-Request-ID, respond: true}"
	if n.kind != isMapping {
		readNode(r, n, a.sub("request_id"), want, &into.RequestID, orOff(parseFieldName))
		return
	}
	c, _ := r.object(n, a.sub("request_id"), want)
	read(c, "header", "a header such as X-Request-ID", &into.RequestID, parseFieldName)
	c.flag("respond", &into.Respond)
	c.done()
}

func parseFieldName(s string) (string, error) {
	switch {
	case !http1.IsToken(s):
		return "", fmt.Errorf("%s is not the name of a header: write X-Request-ID", quote(s))
	case slices.Contains([]string{"true", "false", "yes", "no", "on", "none"}, strings.ToLower(s)):
		return "", fmt.Errorf("%s would be the name of the header: write X-Request-ID, or request_id: off", quote(s))
	case strings.Contains(s, "_"):
		return "", fmt.Errorf("%s has an underscore, and many servers drop such headers: write X-Request-ID", quote(s))
	}
	switch name := http.CanonicalHeaderKey(s); name {
	case "Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Te", "Trailer", "Cdn-Loop", "Forwarded":
		return "", fmt.Errorf("%s has a meaning of its own: write X-Request-ID", quote(s))
	default:
		return name, nil
	}
}

func parseField(s string) (string, error) {
	for _, prefix := range []string{accesslog.RequestHeader, accesslog.ResponseHeader} {
		if name, ok := strings.CutPrefix(s, prefix); ok {
			if !http1.IsToken(name) {
				return "", fmt.Errorf("%s names no header: write %sX-Tenant", quote(s), prefix)
			}
			return s, nil
		}
	}
	name, err := oneOf(s, accesslog.Names)
	if strings.Contains(s, ":") && err != nil {
		return "", fmt.Errorf("%s is unknown; of headers write %sX-Tenant or %sX-Tenant", quote(s), accesslog.RequestHeader, accesslog.ResponseHeader)
	}
	return name, err
}
