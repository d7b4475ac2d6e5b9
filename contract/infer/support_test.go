package infer

import (
	"iter"
	"testing"
	"time"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"

	"whittle"
	"whittle/contract"
	"whittle/contract/infer/verify"
	"whittle/internal/fatal"
	"whittle/record/capture"
)

// entry is an exchange whose bodies are JSON, or the content type says what.
func entry(method, target, request, response string) *capture.Entry {
	x := &capture.Entry{
		At:       time.Unix(1_700_000_000, 0),
		Request:  whittle.Request{Method: method, Target: target, Host: "shop.example", Header: whittle.Header{}, Body: []byte(request)},
		Response: whittle.Response{Status: 200, Header: whittle.Header{"Content-Type": {"application/json"}}, Body: []byte(response)},
	}
	if request != "" {
		x.Request.Header["Content-Type"] = []string{"application/json"}
	}
	return x
}

// text is an exchange whose response is a text.
func text(method, target, response string) *capture.Entry {
	x := entry(method, target, "", response)
	x.Response.Header["Content-Type"] = []string{"text/html; charset=utf-8"}
	return x
}

func status(x *capture.Entry, status int) *capture.Entry {
	x.Response.Status = status
	return x
}

func of(entries ...*capture.Entry) iter.Seq2[*capture.Entry, error] {
	return func(yield func(*capture.Entry, error) bool) {
		for _, x := range entries {
			if !yield(x, nil) {
				return
			}
		}
	}
}

// learn infers a contract that every one of the entries must fit.
func learn(t *testing.T, o Options, entries ...*capture.Entry) *contract.Contract {
	t.Helper()
	c, err := Infer(of(entries...), o)
	fatal.If(t, err)
	p, err := verify.Check(of(entries...), c)
	if err != nil {
		t.Fatalf("%v\n%s", err, c.Proto())
	}
	if len(p.Broken) > 0 || p.Kept != p.Exchanges {
		t.Fatalf("%d of %d exchanges came back the same; broken: %+v\n%s\n%+v", p.Kept, p.Exchanges, p.Broken, c.Proto(), c.Methods)
	}
	return c
}

// method finds a method by its name.
func methodOf(t *testing.T, c *contract.Contract, name string) *contract.Method {
	t.Helper()
	for i := range c.Methods {
		if c.Methods[i].Name == name {
			return &c.Methods[i]
		}
	}
	t.Fatalf("there is no method %s in\n%s", name, c.Proto())
	return nil
}

// compiles holds the .proto file against the descriptor: a compiler must make
// the one of the other.
func compiles(t *testing.T, c *contract.Contract) {
	t.Helper()
	set, err := c.Descriptor()
	if err != nil {
		t.Fatalf("%v\n%s", err, c.Proto())
	}
	source := map[string]string{c.FileName(): string(c.Proto())}
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(source)})}
	files, err := compiler.Compile(t.Context(), c.FileName())
	if err != nil {
		t.Fatalf("%v\n%s", err, c.Proto())
	}
	want := proto.CloneOf(set.File[len(set.File)-1])
	want.SourceCodeInfo = nil // the comments
	if got := protodesc.ToFileDescriptorProto(files[0]); !proto.Equal(got, want) {
		t.Fatalf("compiled it is\n%s\nand described\n%s", prototext.Format(got), prototext.Format(want))
	}
}
