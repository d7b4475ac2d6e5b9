// Package source reads the inputs of a contract (recorded exchanges, a HAR file, an
// OpenAPI document, .proto files), and reports the result.
package source

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"whittle"
	"whittle/cmdline"
	"whittle/contract"
	"whittle/contract/infer"
	"whittle/contract/infer/verify"
	"whittle/contract/openapi"
	"whittle/contract/proto"
	"whittle/record/capture"
	"whittle/record/redact"
	"whittle/record/replay"
)

// Source is what a contract is made of: a log, or a document.
type Source struct {
	path      string
	log       replay.Log // nil: a document
	har       bool
	redactor  *redact.Redactor
	only      *contract.Router // the endpoints of --route; nil: all
	routes    []string
	met       map[string]bool // which of the routes the log has exchanges of
	document  []byte
	protoPath string
	seen      int
	// proof says how the log held against the contract; nil: a document.
	proof *verify.Proof
}

// Open finds out what a path holds by its name and its first bytes.
func Open(path, protoPath string, routes []string) (*Source, error) {
	s := &Source{path: path, protoPath: protoPath, routes: routes, met: map[string]bool{}}
	if err := s.narrow(); err != nil {
		return nil, err
	}
	st, err := os.Stat(path)
	if err != nil {
		return nil, whittle.Errorf(whittle.NotFound, "open source: %w", err).
			WithHint("give the folder that whittle record wrote, a .har file, an OpenAPI document or a .proto file")
	}
	switch ext := strings.ToLower(filepath.Ext(path)); {
	case !st.IsDir() && (ext == ".yaml" || ext == ".yml" || ext == ".json" || ext == ".proto"):
		s.document, err = whittle.ReadFile("document", path, maxDocument)
		return s, err
	case !st.IsDir() && ext != ".har" && ext != ".wcap":
		return nil, whittle.Errorf(whittle.Unsupported, "open source: %s is of no form that is known", path).
			WithHint("whittle new takes a folder that whittle record wrote, a .har file, an OpenAPI document (.yaml, .json) or a .proto file")
	case ext == ".har":
		s.har = true
		// What browsers save is not redacted; a recorded log is.
		if s.redactor, err = redact.New(redact.Rules{}, redact.NewKey()); err != nil {
			return nil, err
		}
	}
	s.log, err = replay.OpenLog(path)
	return s, err
}

// narrow reads --route.
func (s *Source) narrow() error {
	if len(s.routes) == 0 {
		return nil
	}
	s.only = contract.NewRouter()
	for _, r := range s.routes {
		method, pattern, ok := strings.Cut(r, " ")
		if !ok || method == "" || !strings.HasPrefix(pattern, "/") {
			return whittle.Errorf(whittle.Invalid, "--route %q is not METHOD /PATH, such as 'POST /Count' or 'GET /users/{id}'", r)
		}
		if err := s.only.Add(r); err != nil {
			return whittle.Errorf(whittle.Invalid, "--route %q: %w", r, err)
		}
	}
	return nil
}

// wanted reports whether an exchange is of the endpoints of --route, and notes
// of which.
func (s *Source) wanted(e *capture.Entry) bool {
	if s.only == nil {
		return true
	}
	pattern, _ := s.only.Of(&e.Request)
	if pattern == "" {
		return false
	}
	s.met[pattern] = true
	// Which parts of the path are wildcards is known then, and not guessed.
	e.Route = pattern
	return true
}

// Entries reads the log; nil for a document. It may be read several times.
func (s *Source) Entries(ctx context.Context) iter.Seq2[*capture.Entry, error] {
	if s.log == nil {
		return nil
	}
	return func(yield func(*capture.Entry, error) bool) {
		s.seen = 0
		for e, err := range s.log.Entries(ctx) {
			if err == nil {
				if !s.wanted(e) {
					continue
				}
				if s.redactor != nil {
					s.redactor.Request(&e.Request)
					s.redactor.Response(&e.Response)
				}
				s.seen++
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// Contract infers or reads it.
func (s *Source) Contract(ctx context.Context, screen *cmdline.Screen, o infer.Options) (*contract.Contract, error) {
	if s.log != nil {
		c, p, err := infer.Learn(func() iter.Seq2[*capture.Entry, error] { return progressing(s.Entries(ctx), screen) }, o)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s.proof = p
		if r := s.unmet(); r != "" && (err == nil || whittle.CodeOf(err) == whittle.NotFound) {
			return nil, s.leftOut(whittle.Errorf(whittle.NotFound, "--route: %s has no exchange of %s", s.path, r).
				WithHint("leave it out, or name one of those that it has"))
		}
		return c, s.leftOut(err)
	}
	c, err := s.read(o)
	if err != nil {
		return nil, err
	}
	if err := s.keepOnly(c); err != nil {
		return nil, err
	}
	if n := len(c.Methods); n > maxEndpoints {
		return nil, whittle.Errorf(whittle.ResourceExhausted, "%s has %d endpoints, and a project at most %d", s.path, n, maxEndpoints).
			WithHint("take those that you carve: --route \"" + c.Methods[0].Endpoint() + "\"")
	}
	return c, nil
}

// unmet is the first of the routes that the log has no exchange of; empty: none is.
func (s *Source) unmet() string {
	for _, r := range s.routes {
		if !s.met[r] {
			return r
		}
	}
	return ""
}

// leftOut adds to an error that the log shows no endpoint why it has less than it
// may seem: entries that were left out.
func (s *Source) leftOut(err error) error {
	damage := s.log.Damage()
	if e, ok := errors.AsType[*whittle.Error](err); ok && e.Code == whittle.NotFound && len(damage) > 0 {
		return whittle.Errorf(e.Code, "%w", err).WithHint("of what it had, some could not be used: " + damage[0])
	}
	return err
}

func (s *Source) read(o infer.Options) (*contract.Contract, error) {
	if strings.ToLower(filepath.Ext(s.path)) != ".proto" {
		c, err := s.readOpenAPI()
		if err == nil {
			rename(c, o)
		}
		return c, err
	}
	root := s.protoPath
	root = cmp.Or(root, filepath.Dir(s.path))
	name, err := filepath.Rel(root, s.path)
	if err != nil || !filepath.IsLocal(name) {
		return nil, whittle.Errorf(whittle.Invalid, "read %s: it does not lie below --proto-path %s", s.path, root)
	}
	return proto.Read(filepath.ToSlash(name), o.Service, func(path string) ([]byte, error) {
		if local := filepath.FromSlash(path); filepath.IsLocal(local) {
			return whittle.ReadFile("document", filepath.Join(root, local), maxDocument)
		}
		return nil, fs.ErrNotExist
	})
}

// readOpenAPI reads the document, and the files in its folder that it names.
func (s *Source) readOpenAPI() (*contract.Contract, error) {
	folder, err := os.OpenRoot(filepath.Dir(s.path))
	if err != nil {
		return nil, whittle.Errorf(whittle.NotFound, "open source: %w", err)
	}
	defer func() { _ = folder.Close() }()
	return openapi.Read(filepath.Base(s.path), s.document, func(path string) ([]byte, error) {
		f, err := folder.Open(filepath.FromSlash(path))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, maxDocument+1))
		if len(data) > maxDocument {
			err = whittle.Errorf(whittle.ResourceExhausted, "it is longer than %d MiB", maxDocument>>20)
		}
		return data, err
	})
}

// rename gives a document's service the names that were asked for.
func rename(c *contract.Contract, o infer.Options) {
	if o.Package != "" {
		c.Package = o.Package
	}
	if o.Service != "" {
		c.Service = o.Service
	}
}

// keepOnly drops the methods that --route does not name, and what only they need.
func (s *Source) keepOnly(c *contract.Contract) error {
	if s.only == nil {
		return nil
	}
	all := c.Endpoints()
	for _, r := range s.routes {
		if !slices.Contains(all, r) {
			return whittle.Errorf(whittle.NotFound, "--route: %s is no endpoint of the document", r).
				WithHint("it has: " + strings.Join(all, ", "))
		}
	}
	c.KeepOnly(func(m *contract.Method) bool { return slices.Contains(s.routes, m.Endpoint()) })
	return nil
}

// Words say what the source is.
func (s *Source) Words() string {
	name := filepath.Base(s.path)
	switch {
	case s.log == nil:
		return name
	case s.har:
		return contract.Count(s.seen, "exchange") + " of " + name
	}
	return contract.Count(s.seen, "recorded exchange")
}

func (s *Source) damage() []string {
	if s.log == nil {
		return nil
	}
	return s.log.Damage()
}

// progressing passes entries on and shows how many there were.
func progressing(in iter.Seq2[*capture.Entry, error], screen *cmdline.Screen) iter.Seq2[*capture.Entry, error] {
	return func(yield func(*capture.Entry, error) bool) {
		n := 0
		for e, err := range in {
			if n++; n%1000 == 0 {
				screen.Progress("%d exchanges read", n)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// maxEndpoints bounds those of a document, as the gateway's config bounds its routes.
const maxEndpoints = 250

// maxDocument bounds an OpenAPI document and a .proto file, in bytes.
const maxDocument = 16 << 20
