// Package proto reads .proto files as a contract.
package proto

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"

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
	maxFiles = 1000
	// maxNesting bounds how deep braces nest: the compiler recurses.
	maxNesting = 100
)

// Read compiles the file called main and gives one of its services as a contract: the
// one that is named, or the first. read
// gives files by their import paths, and is asked only for main and for what it
// imports. It need not have the files of google.protobuf and
// google/api/annotations.proto. Methods without a
// google.api.http rule are bound to a POST of their procedure's path with JSON
// both ways.
//
// A syntax error is Invalid and names file, line and column. A method is left out if
// it streams, or reaches what is not taken over: proto2 and editions, map keys other
// than strings. The guesses say so, as they do of what a contract says with other words
// (oneof). A service of which nothing is left is Unsupported.
func Read(main, service string, read func(path string) ([]byte, error)) (*contract.Contract, error) {
	fd, err := compile(main, read)
	if err != nil {
		return nil, err
	}
	chosen, err := choose(main, service, fd.Services())
	if err != nil {
		return nil, err
	}
	r := newReader(fd)
	if err := r.service(chosen); err != nil {
		return nil, whittle.Errorf(whittle.CodeOf(err), "read %s: %w", main, err)
	}
	for i := range fd.Services().Len() {
		if s := fd.Services().Get(i); s != chosen {
			r.guess(string(s.Name()), "left out", "a part of the contract", "a contract has one service; --service "+string(s.Name())+" takes this one")
		}
	}
	if len(r.c.Methods) == 0 {
		return nil, whittle.Errorf(whittle.Unsupported, "read %s: no method of %s can be read%s", main, r.c.Service, leftOut(r.c.Guesses))
	}
	if _, err := r.c.Descriptor(); err != nil {
		return nil, whittle.Errorf(whittle.Unsupported, "read %s: %w", main, err)
	}
	return r.c, nil
}

// choose finds a file's service by its name; without one, it is the first.
func choose(main, name string, all protoreflect.ServiceDescriptors) (protoreflect.ServiceDescriptor, error) {
	if all.Len() == 0 {
		return nil, whittle.Errorf(whittle.Invalid, "read %s: it has no service", main).
			WithHint("give the file that declares the service; messages may lie in files that it imports")
	}
	if name == "" {
		return all.Get(0), nil
	}
	if s := all.ByName(protoreflect.Name(name)); s != nil {
		return s, nil
	}
	names := make([]string, all.Len())
	for i := range names {
		names[i] = string(all.Get(i).Name())
	}
	return nil, whittle.Errorf(whittle.NotFound, "read %s: it has no service %s", main, name).
		WithHint("it has: " + strings.Join(names, ", "))
}

// leftOut says why the first method was left out.
func leftOut(guesses []contract.Guess) string {
	if len(guesses) == 0 {
		return ": it has none"
	}
	return fmt.Sprintf(": %s was left out: %s", guesses[0].Path, guesses[0].Evidence)
}

func compile(main string, read func(path string) ([]byte, error)) (linker.File, error) {
	files := &sources{main: main, read: read}
	c := protocompile.Compiler{
		Resolver: protocompile.CompositeResolver{
			&protocompile.SourceResolver{Accessor: files.open}, contract.Linked,
		},
		MaxParallelism: 1,
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	out, err := c.Compile(context.Background(), main)
	switch {
	case files.refused != nil:
		return nil, files.refused
	case err != nil:
		return nil, invalid(main, err)
	}
	return out[0], nil
}

// sources are the files that a compilation asks for, read and bounded as it does.
type sources struct {
	main  string
	read  func(path string) ([]byte, error)
	mu    sync.Mutex
	count int
	bytes int
	// refused says which bound was met.
	refused error
}

func (s *sources) open(path string) (io.ReadCloser, error) {
	b, err := s.read(path)
	switch {
	case err == nil:
		err = s.bound(path, b)
	case path == s.main:
		err = s.refuse(err)
	}
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

func (s *sources) bound(path string, b []byte) error {
	s.mu.Lock()
	s.count, s.bytes = s.count+1, s.bytes+len(b)
	count, size := s.count, s.bytes
	s.mu.Unlock()
	switch {
	case size > maxBytes || count > maxFiles:
		return s.refuse(whittle.Errorf(whittle.ResourceExhausted, "read %s: with what it imports it is longer than %d MiB, or more than %d files", s.main, maxBytes>>20, maxFiles))
	case nesting(b) > maxNesting:
		return s.refuse(whittle.Errorf(whittle.ResourceExhausted, "read %s: %s nests deeper than %d", s.main, path, maxNesting))
	}
	return nil
}

func (s *sources) refuse(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused == nil {
		s.refused = err
	}
	return err
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
		if err := r.method(d); err != nil {
			return fmt.Errorf("method %s: %w", d.Name(), err)
		}
	}
	return nil
}

// method adds a method with its messages, or says why it is left out.
func (r *reader) method(d protoreflect.MethodDescriptor) error {
	messages, enums, names, taken := len(r.c.Messages), len(r.c.Enums), maps.Clone(r.names), maps.Clone(r.taken)
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
	if whittle.CodeOf(err) == whittle.Unsupported {
		r.c.Messages, r.c.Enums, r.names, r.taken = r.c.Messages[:messages], r.c.Enums[:enums], names, taken
		r.guess(m.Name, "left out", "a method", err.Error())
		return nil
	}
	if err == nil {
		r.c.Methods = append(r.c.Methods, m)
	}
	return err
}

// comment is what stands before a declaration, as one text.
func comment(d protoreflect.Descriptor) string {
	c := d.ParentFile().SourceLocations().ByDescriptor(d).LeadingComments
	return strings.Join(strings.Fields(c), " ")
}
