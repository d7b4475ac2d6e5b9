// Package config reads whittle.yaml into the words of package whittle, with
// every default filled in, and reports what is wrong with it by file, line,
// column and field, saying what to write instead.
package config

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
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
	Monolith    whittle.Upstream
	Routes      []whittle.Route
	// State is the path of the state file. Default: whittle.db next to the
	// config.
	State     string
	Limits    whittle.Limits
	Drain     Drain
	Clients   whittle.Clients
	Forwarded Forwarded
	// Underscores says that fields whose names have an underscore are passed on.
	// Default: they are dropped.
	Underscores bool
	Trace       Trace
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

// Trace says where spans go.
type Trace struct {
	// Endpoint is an OTLP/HTTP base URL. Empty: trace context is passed on and
	// nothing is exported.
	Endpoint string
	// Sample is the part of the requests to trace that carry no sampling decision.
	// Default 1 %.
	Sample whittle.Share
}

// Log says what is logged and how.
type Log struct {
	// Level is the least that is logged. Default info, which is the zero value.
	Level slog.Level
	// Format is "text" or "json". Default "text".
	Format string
}

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
	r := newReader(path)
	r.listed = matchFiles
	return r.parsed(src, func(p string) ([]byte, error) { return readBounded(p, maxDescriptor) })
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
	return newReader(name).parsed(src, read)
}

func (r *reader) parsed(src []byte, read func(path string) ([]byte, error)) (*File, error) {
	f := r.parse(src, read)
	if err := r.err(); err != nil {
		return nil, err
	}
	return f, nil
}

func (r *reader) parse(src []byte, read func(path string) ([]byte, error)) *File {
	root, err := parseYAML(src)
	if err != nil {
		if e, ok := errors.AsType[*syntaxError](err); ok {
			if other := otherLanguage(src); other != nil {
				e = other
			}
			if e.text == emptyFile {
				e.text += "; it needs at least: monolith: http://127.0.0.1:3000"
			}
			r.fail(e.at, "", "%s", e.text)
		}
		return nil
	}
	if root.kind == isScalar {
		if other := otherLanguage(src); other != nil {
			r.fail(other.at, "", "%s", other.text)
			return nil
		}
		if unspaced.MatchString(root.text) {
			r.fail(root.at, "", "write KEY: VALUE, with a colon and a space after the key, such as monolith: http://127.0.0.1:3000")
			return nil
		}
	}
	return r.file(root, read)
}

// file reads the whole tree.
func (r *reader) file(root *node, read func(path string) ([]byte, error)) *File {
	f := &File{Path: r.name, where: r.where}
	o, ok := r.object(root, "", "listen:, monolith:, routes: and so on")
	if !ok {
		return nil
	}
	files := folder{dir: filepath.Dir(r.name), read: read, match: r.listed}
	r.server(o, f, files)
	r.record(o, f, files)
	r.redact(o, &f.Redact)
	r.notify(o, f, files)
	r.prometheus(o, f, files)
	r.fleet(o, f, files)
	o.list("routes", "one entry with match: for each route", maxRoutes, func(n *node, path string) {
		r.oneRoute(n, path, f, files)
	})
	r.include(o, f, files)
	o.done()
	f.sources = r.sources
	if len(r.problems) == 0 {
		r.checkOverlap(f.Routes)
		r.checkNotices(f)
		r.checkQueries(f)
		r.checkLoops(f)
		r.checkPorts(f)
		r.checkFiles(f)
		r.checkRedirects(f)
		r.checkUnderscores(f)
		r.checkNames(f)
		r.checkWarnings(f)
	}
	sortProblems(r.warnings)
	for _, w := range r.warnings {
		f.Warnings = append(f.Warnings, r.sources.placed(w))
	}
	return f
}

// folder resolves and reads what a config names.
type folder struct {
	dir  string
	read func(path string) ([]byte, error)
	// match gives the files that include: means; nil where there are none.
	match func(pattern string) ([]string, error)
}

func (d folder) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(d.dir, p)
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
