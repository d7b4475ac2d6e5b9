// Package proto reads .proto files as a contract.
package proto

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/linker"
	"github.com/bufbuild/protocompile/reporter"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"whittle"
	"whittle/contract"

	// google/api/annotations.proto can be imported without being given.
	_ "google.golang.org/genproto/googleapis/api/annotations"
)

// Bounds of what is read.
const (
	maxBytes = 4 << 20
	// maxNesting bounds how deep braces nest: the compiler recurses.
	maxNesting = 100
)

// Read compiles the file called main, of files by their import paths, and gives
// its first service as a contract. The files of google.protobuf and
// google/api/annotations.proto need not be among them. Methods without a
// google.api.http rule are bound to a POST of their procedure's path with JSON
// both ways.
//
// A syntax error is Invalid and names file, line and column. Not taken over, and
// Unsupported: proto2 and editions, map keys other than strings. A method that
// streams is left out; the guesses say so, as they do of what a contract says
// with other words (oneof).
func Read(main string, files map[string][]byte) (*contract.Contract, error) {
	fd, err := compile(main, files)
	if err != nil {
		return nil, err
	}
	if fd.Services().Len() == 0 {
		return nil, whittle.Errorf(whittle.Invalid, "read %s: it has no service", main).
			WithHint("give the file that declares the service; messages may lie in files that it imports")
	}
	r := newReader(fd)
	if err := r.service(fd.Services().Get(0)); err != nil {
		return nil, whittle.Errorf(whittle.CodeOf(err), "read %s: %w", main, err)
	}
	for i := 1; i < fd.Services().Len(); i++ {
		r.guess(string(fd.Services().Get(i).Name()), "left out", "a part of the contract", "a contract has one service, the file's first")
	}
	if len(r.c.Methods) == 0 {
		return nil, whittle.Errorf(whittle.Unsupported, "read %s: no method of %s has one message each way", main, r.c.Service)
	}
	if _, err := r.c.Descriptor(); err != nil {
		return nil, whittle.Errorf(whittle.Unsupported, "read %s: %w", main, err)
	}
	return r.c, nil
}

func compile(main string, files map[string][]byte) (linker.File, error) {
	sources := map[string]string{}
	total := 0
	for path, b := range files {
		if total += len(b); total > maxBytes {
			return nil, whittle.Errorf(whittle.ResourceExhausted, "read %s: the files are longer than 4 MiB together", main)
		}
		if nesting(b) > maxNesting {
			return nil, whittle.Errorf(whittle.ResourceExhausted, "read %s: %s nests deeper than %d", main, path, maxNesting)
		}
		sources[path] = string(b)
	}
	if _, ok := sources[main]; !ok {
		return nil, whittle.Errorf(whittle.NotFound, "read %s: it is not among the files", main)
	}
	known := protocompile.ResolverFunc(func(path string) (protocompile.SearchResult, error) {
		d, err := protoregistry.GlobalFiles.FindFileByPath(path)
		if err != nil || !strings.HasPrefix(path, "google/") {
			return protocompile.SearchResult{}, protoregistry.NotFound
		}
		return protocompile.SearchResult{Desc: d}, nil
	})
	c := protocompile.Compiler{
		Resolver: protocompile.CompositeResolver{
			&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(sources)}, known,
		},
		MaxParallelism: 1,
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	out, err := c.Compile(context.Background(), main)
	if err != nil {
		return nil, invalid(main, err)
	}
	return out[0], nil
}

// invalid says where a file is wrong.
func invalid(main string, err error) error {
	if at, ok := errors.AsType[reporter.ErrorWithPos](err); ok {
		p := at.GetPosition()
		return whittle.Errorf(whittle.Invalid, "%s:%d:%d: %s", p.Filename, p.Line, p.Col, at.Unwrap())
	}
	if at, ok := errors.AsType[protocompile.PanicError](err); ok {
		return whittle.Errorf(whittle.Invalid, "read %s: the compiler gave up: %v", main, at.Value)
	}
	e := whittle.Errorf(whittle.Invalid, "read %s: %w", main, err)
	if errors.Is(err, protoregistry.NotFound) {
		return e.WithHint("give the imported files too, by the paths under which they are imported")
	}
	return e
}

// nesting is how deep braces and brackets nest, comments and strings counted as
// if they were none.
func nesting(b []byte) int {
	depth, deepest := 0, 0
	for {
		i := bytes.IndexAny(b, "{}[]()<>")
		if i < 0 {
			return deepest
		}
		switch b[i] {
		case '{', '[', '(', '<':
			depth++
			deepest = max(deepest, depth)
		default:
			depth = max(0, depth-1)
		}
		b = b[i+1:]
	}
}

// reader makes a contract of a file.
type reader struct {
	c *contract.Contract
	// names are the contract's names for messages and enums.
	names map[protoreflect.FullName]string
	taken map[string]bool
	at    *contract.Method // the method that is being read
}

func newReader(fd linker.File) *reader {
	return &reader{
		c:     &contract.Contract{Package: string(fd.Package()), GoPackage: goPackage(fd)},
		names: map[protoreflect.FullName]string{}, taken: map[string]bool{},
	}
}

func (r *reader) guess(path, chosen, against, evidence string) {
	g := contract.Guess{Path: path, Chosen: chosen, Against: against, Evidence: evidence}
	if r.at != nil {
		r.at.Guesses = append(r.at.Guesses, g)
		return
	}
	r.c.Guesses = append(r.c.Guesses, g)
}

func (r *reader) service(s protoreflect.ServiceDescriptor) error {
	r.c.Service = string(s.Name())
	r.taken[r.c.Service] = true
	for i := range s.Methods().Len() {
		d := s.Methods().Get(i)
		if d.IsStreamingClient() || d.IsStreamingServer() {
			r.guess(string(d.Name()), "left out", "a method", "it streams")
			continue
		}
		m := contract.Method{Name: string(d.Name()), Doc: comment(d)}
		r.at = &m
		var err error
		if m.Input, err = r.message(d.Input()); err == nil {
			m.Output, err = r.message(d.Output())
		}
		if err == nil {
			err = r.bind(&m, d)
		}
		r.at = nil
		if err != nil {
			return fmt.Errorf("method %s: %w", d.Name(), err)
		}
		r.c.Methods = append(r.c.Methods, m)
	}
	return nil
}

// comment is what stands before a declaration, as one text.
func comment(d protoreflect.Descriptor) string {
	c := d.ParentFile().SourceLocations().ByDescriptor(d).LeadingComments
	return strings.Join(strings.Fields(c), " ")
}
