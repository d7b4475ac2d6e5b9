package contract

import (
	"context"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"whittle"
)

// Descriptor compiles Proto. The set has what it imports, each file after those that it
// imports itself, and Proto's own last, with its comments. The error names the line of
// Proto at which the contract is inconsistent.
func (c *Contract) Descriptor() (*descriptorpb.FileDescriptorSet, error) {
	compiler := protocompile.Compiler{
		Resolver: protocompile.CompositeResolver{
			&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(map[string]string{c.FileName(): string(c.Proto())})},
			Linked,
		},
		MaxParallelism: 1,
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(context.Background(), c.FileName())
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "check contract: %w", err)
	}
	set := &descriptorpb.FileDescriptorSet{}
	addFile(set, files[0])
	return set, nil
}

// addFile adds a file to a set after those that it imports, each once.
func addFile(set *descriptorpb.FileDescriptorSet, file protoreflect.FileDescriptor) {
	if slices.ContainsFunc(set.File, func(f *descriptorpb.FileDescriptorProto) bool { return f.GetName() == file.Path() }) {
		return
	}
	for i := range file.Imports().Len() {
		addFile(set, file.Imports().Get(i).FileDescriptor)
	}
	set.File = append(set.File, protoutil.ProtoFromFileDescriptor(file))
}

// FileName is where the .proto file lies below the root of the proto files:
// "shop/v1/shop.proto" for the package "shop.v1"; without a package, a file of the
// service's name.
func (c *Contract) FileName() string {
	if c.Package == "" {
		return strings.ToLower(c.Service) + ".proto"
	}
	parts := strings.Split(c.Package, ".")
	base := parts[len(parts)-1]
	if len(parts) > 1 {
		base = parts[len(parts)-2]
	}
	return strings.Join(parts, "/") + "/" + base + ".proto"
}

// FullService is the service's full name, "shop.v1.ShopService".
func (c *Contract) FullService() string { return strings.TrimPrefix(c.Package+"."+c.Service, ".") }

// JSONName is the field's name in JSON: JSON, or protobuf's own.
func (f *Field) JSONName() string {
	if f.JSON != "" {
		return f.JSON
	}
	return DefaultJSON(f.Name)
}

// Message gives a message by its name, nil where there is none.
func (c *Contract) Message(name string) *Message {
	return find(c.Messages, func(m *Message) bool { return m.Name == name })
}

// Field finds a field by its proto name, nil where there is none; a nil message
// has none.
func (m *Message) Field(name string) *Field {
	if m == nil {
		return nil
	}
	return find(m.Fields, func(f *Field) bool { return f.Name == name })
}

// FieldOf finds a field by its name in JSON, as Field does by its own.
func (m *Message) FieldOf(json string) *Field {
	if m == nil {
		return nil
	}
	return find(m.Fields, func(f *Field) bool { return f.JSONName() == json })
}

// find gives the first of some that is one, nil where there is none.
func find[T any](all []T, is func(*T) bool) *T {
	for i := range all {
		if is(&all[i]) {
			return &all[i]
		}
	}
	return nil
}

// Endpoint is the method's request line as routes have it, "POST /Count".
func (m *Method) Endpoint() string { return m.HTTP.Method + " " + m.HTTP.Pattern }

// Endpoints are those of all methods.
func (c *Contract) Endpoints() []string {
	out := make([]string, len(c.Methods))
	for i := range c.Methods {
		out[i] = c.Methods[i].Endpoint()
	}
	return out
}

// Reached are the names of messages and of all messages and enums that they can hold.
func (c *Contract) Reached(messages ...string) map[string]bool {
	reached := map[string]bool{}
	for len(messages) > 0 {
		name := messages[len(messages)-1]
		messages = messages[:len(messages)-1]
		m := c.Message(name)
		if m == nil || reached[name] {
			continue
		}
		reached[name] = true
		for _, f := range m.Fields {
			if f.Type == EnumType {
				reached[f.Ref] = true
			} else if f.Ref != "" {
				messages = append(messages, f.Ref)
			}
		}
	}
	return reached
}

// KeepOnly drops the methods that keep is false of, and the messages and enums that no
// other one can hold.
func (c *Contract) KeepOnly(keep func(*Method) bool) {
	c.Methods = slices.DeleteFunc(c.Methods, func(m Method) bool { return !keep(&m) })
	var used []string
	for _, m := range c.Methods {
		used = append(used, m.Input, m.Output)
	}
	reached := c.Reached(used...)
	c.Messages = slices.DeleteFunc(c.Messages, func(m Message) bool { return !reached[m.Name] })
	c.Enums = slices.DeleteFunc(c.Enums, func(e Enum) bool { return !reached[e.Name] })
}
