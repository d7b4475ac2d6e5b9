// Package config reads whittle.yaml into the types of package whittle, with every default
// filled in. It reports each fault by file, line, column and field, and says what to write
// instead.
//
// One table has every key: the variable that it sets, how it is written, its default and its
// purpose. The functions that return a [value] make up the table, from (*File).config down. The
// reader, the output of "whittle check", the JSON Schema and docs/config-keys.md all come from
// it.
package config

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"syscall"
	"time"

	"whittle"
	"whittle/record/redact"
)

// File is a valid config.
type File struct {
	// Path is the file's name as it was given; errors begin with it.
	Path string
	// Listen is where users' requests arrive. Default ":8080".
	Listen []Listener
	// Admin is the address of the admin API, host:port. Default
	// "127.0.0.1:8081"; empty where it is switched off.
	Admin string
	// AdminToken is what callers of the admin API must show. Empty: none is
	// asked for, which is allowed on a loopback address only.
	AdminToken string
	// ViewerToken lets callers of the admin API look and order nothing. Empty:
	// there are operators only.
	ViewerToken string
	// HookKey is what callers of hooks must show. Empty: there are no hooks.
	HookKey  string
	Monolith whittle.Upstream
	Routes   []whittle.Route
	// State is the path of the state file. Default: whittle.db next to the
	// config.
	State     string
	Limits    whittle.Limits
	Drain     Drain
	Forwarded Forwarded
	// Underscores says that fields whose names have an underscore are passed on.
	// Default: they are dropped.
	Underscores bool
	Log         Log
	// Access is nil where requests are not logged.
	Access *Access
	// Record is nil where nothing is recorded.
	Record *Record
	// Redact says what is secret in addition to the defaults, in what is recorded and in
	// what is shown of differences.
	Redact redact.Rules
	// Prometheus has the figures of routes' queries. Nil: there is none.
	Prometheus *whittle.Prometheus
	// Fleet is nil where this gateway is alone.
	Fleet *Fleet
	// Notices are the receivers of events. Default: none.
	Notices []whittle.Notice
	// Warnings are what is allowed and probably not meant, each one sentence
	// with its place in front, in the order of the file.
	Warnings []string

	where   map[string]position
	sources sources
}

// Forwarded says which proxies may name the client.
type Forwarded struct {
	// Trust are the networks whose Forwarded and X-Forwarded-* headers are
	// kept. Empty: nobody's are, and the connection's own address counts.
	Trust []netip.Prefix
}

// Record says what of the users' exchanges is kept, and where.
type Record struct {
	// Dir is the log's folder. Default: recorded, next to the config.
	Dir string
	// KeyFile holds the key of the tokens that stand for secrets. Default: the
	// folder's name with .key behind it.
	KeyFile string
	// Sample is the part of the exchanges of every route that says nothing
	// else, and of those without a route. Default 10 %.
	Sample whittle.Share
	// MaxBody bounds each body that is kept. Default 1 MiB.
	MaxBody int64
	// MaxBytes bounds what the folder takes, and MaxAge how old its exchanges
	// get. Default 1 GiB and a week.
	MaxBytes int64
	MaxAge   time.Duration
}

// Log says what is logged and how.
type Log struct {
	// Level is the least severity that is logged. Default info, which is the zero value.
	Level slog.Level
	// Format is "text" or "json". Default "text".
	Format string
}

// Access says what is logged of each request.
type Access struct {
	// File is where lines go. Empty: to the log.
	File string
	// Fields of a line. Default accesslog.Default.
	Fields []string
	// RequestID is the field that names requests, canonically. Empty: they have no names.
	RequestID string
}

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
	// Sink says that requests are those of a proxy's mirror, to which nobody waits for a response.
	Sink bool
	// Candidates are the clusters of candidates at an Envoy whose ext_proc filter sends here
	// what goes by. Nil: requests are users' or a mirror's.
	Candidates []string
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
	// to end, while /readyz says that it is not ready. Default 0, and 7 s behind a proxy.
	LameDuck time.Duration
	// Upgraded is how long upgraded connections may go on. Default limits.grace.
	Upgraded time.Duration
}

// maxDescriptor bounds a file that a config names; a contract with all of an API's imports has
// some hundred KiB.
const maxDescriptor = 16 << 20

// Load reads the config at path; the files it names are looked for in its folder.
// Every error has a code: Invalid for what the file says, NotFound where there
// is none.
func Load(path string) (*File, error) {
	src, err := readBounded(path, maxSource)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, whittle.Errorf(whittle.NotFound, "read config: %w", err).WithHint("name it with -c FILE, or write one: monolith: http://127.0.0.1:3000 is enough to begin with")
		}
		return nil, whittle.Errorf(whittle.Invalid, "read config: %w", err)
	}
	r := newReader(path, func(p string) ([]byte, error) { return readBounded(p, maxDescriptor) })
	r.listed = matchFiles
	return r.parse(src)
}

// Parse reads src as the config called name. Files that it names (descriptors,
// the admin token) are read with read, by a path that is relative to name's
// folder already resolved; with nil they cannot be read, which is a fault of whatever names
// one. Environment variables are the process's own. It includes nothing: include: is a
// fault.
//
// The error joins up to 20 *whittle.Error, one for each fault, in the order of
// the file.
func Parse(name string, src []byte, read func(path string) ([]byte, error)) (*File, error) {
	if read == nil {
		read = func(string) ([]byte, error) { return nil, errors.New("this config is read without files") }
	}
	return newReader(name, read).parse(src)
}

func (r *reader) parse(src []byte) (*File, error) {
	f := &File{Path: r.name, where: r.where}
	root, err := parseYAML(src)
	if e, ok := errors.AsType[*syntaxError](err); ok {
		r.fail(e.at, "", "%s", e.text)
		return nil, r.err()
	}
	v := f.config()
	r.defaults(v)
	r.read(v, root, "")
	f.sources = r.sources
	if len(r.problems) == 0 {
		r.checkFile(f)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	sortProblems(r.warnings)
	for _, w := range r.warnings {
		f.Warnings = append(f.Warnings, r.sources.placed(w))
	}
	return f, nil
}

// readBounded reads a whole file, or fails where it is longer than most. A pipe is read to
// its end; one that nobody writes to is empty.
func readBounded(path string, most int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		return nil, errors.New(path + " is a folder")
	}
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > most {
		return nil, errors.New(path + " is larger than " + size(most))
	}
	return b, nil
}
