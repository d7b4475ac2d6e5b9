package contract

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"whittle"
)

// Descriptor returns the descriptor set of Proto with its imports and without comments,
// as a gateway needs it, without running a compiler. It checks the contract as a
// whole; its error names the part that is inconsistent.
func (c *Contract) Descriptor() (*descriptorpb.FileDescriptorSet, error) {
	f := &descriptorpb.FileDescriptorProto{
		Name:    new(c.FileName()),
		Package: new(c.Package),
		Syntax:  new("proto3"),
	}
	set := &descriptorpb.FileDescriptorSet{}
	f.Dependency = c.imports()
	if err := addFiles(set, f.Dependency); err != nil {
		return nil, err
	}
	if c.GoPackage != "" {
		f.Options = &descriptorpb.FileOptions{GoPackage: new(c.GoPackage)}
	}
	for i := range c.Messages {
		f.MessageType = append(f.MessageType, c.describeMessage(&c.Messages[i]))
	}
	for i := range c.Enums {
		f.EnumType = append(f.EnumType, describeEnum(&c.Enums[i]))
	}
	service := &descriptorpb.ServiceDescriptorProto{Name: new(c.Service)}
	for i := range c.Methods {
		m := &c.Methods[i]
		service.Method = append(service.Method, &descriptorpb.MethodDescriptorProto{
			Name: new(m.Name), InputType: new(c.fullName(m.Input)), OutputType: new(c.fullName(m.Output)),
		})
	}
	f.Service = []*descriptorpb.ServiceDescriptorProto{service}
	set.File = append(set.File, f)
	if _, err := protodesc.NewFiles(set); err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "check contract: %w", err)
	}
	return set, nil
}

// addFiles adds known files to a set, each after those that it imports, once.
func addFiles(set *descriptorpb.FileDescriptorSet, paths []string) error {
	for _, path := range paths {
		if slices.ContainsFunc(set.File, func(f *descriptorpb.FileDescriptorProto) bool { return f.GetName() == path }) {
			continue
		}
		file, err := protoregistry.GlobalFiles.FindFileByPath(path)
		if err != nil {
			return whittle.Errorf(whittle.Internal, "check contract: %w", err)
		}
		d := protodesc.ToFileDescriptorProto(file)
		if err := addFiles(set, d.Dependency); err != nil {
			return err
		}
		set.File = append(set.File, d)
	}
	return nil
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
func (c *Contract) FullService() string { return c.fullName(c.Service)[1:] }

func (c *Contract) fullName(name string) string {
	if c.Package == "" {
		return "." + name
	}
	return "." + c.Package + "." + name
}

func (c *Contract) describeMessage(m *Message) *descriptorpb.DescriptorProto {
	d := &descriptorpb.DescriptorProto{Name: new(m.Name)}
	for _, n := range m.Reserved {
		d.ReservedRange = append(d.ReservedRange, &descriptorpb.DescriptorProto_ReservedRange{Start: new(n), End: new(n + 1)})
	}
	for i := range m.Fields {
		f := &m.Fields[i]
		fd := &descriptorpb.FieldDescriptorProto{
			Name: new(f.Name), Number: new(f.Number), JsonName: new(f.JSONName()),
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}
		c.describeType(fd, f)
		switch {
		case f.Map:
			d.NestedType = append(d.NestedType, mapEntry(fd, c.fullName(m.Name)))
		case f.Repeated:
			fd.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		}
		d.Field = append(d.Field, fd)
	}
	// The oneofs that stand for "optional" come after all fields are known, so
	// that their names meet no field's.
	for i := range m.Fields {
		if f := &m.Fields[i]; f.explicit() {
			d.Field[i].Proto3Optional = new(true)
			d.Field[i].OneofIndex = new(int32(len(d.OneofDecl)))
			d.OneofDecl = append(d.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: new(oneofName(m, f.Name))})
		}
	}
	return d
}

// oneofName follows protoc: an underscore before the name, and as many X before
// that as it takes to be unique.
func oneofName(m *Message, field string) string {
	name := "_" + field
	for slices.ContainsFunc(m.Fields, func(f Field) bool { return f.Name == name }) {
		name = "X" + name
	}
	return name
}

func (c *Contract) describeType(fd *descriptorpb.FieldDescriptorProto, f *Field) {
	switch f.Type {
	case MessageType:
		fd.Type, fd.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), new(c.fullName(f.Ref))
	case EnumType:
		fd.Type, fd.TypeName = descriptorpb.FieldDescriptorProto_TYPE_ENUM.Enum(), new(c.fullName(f.Ref))
	default:
		if f.Type.wellKnown() {
			fd.Type, fd.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), new("."+string(f.Type))
			return
		}
		n := descriptorpb.FieldDescriptorProto_Type_value["TYPE_"+strings.ToUpper(string(f.Type))]
		fd.Type = descriptorpb.FieldDescriptorProto_Type(n).Enum()
	}
}

// mapEntry makes fd a map field: repeated, of an entry message that it gives.
func mapEntry(fd *descriptorpb.FieldDescriptorProto, parent string) *descriptorpb.DescriptorProto {
	value := proto.CloneOf(fd)
	value.Name, value.Number, value.JsonName = new("value"), new(int32(2)), new("value")
	name := entryName(fd.GetName())
	fd.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	fd.Type, fd.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), new(parent+"."+name)
	return &descriptorpb.DescriptorProto{
		Name: new(name),
		Field: []*descriptorpb.FieldDescriptorProto{
			{
				Name: new("key"), Number: new(int32(1)), JsonName: new("key"),
				Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(),
			},
			value,
		},
		Options: &descriptorpb.MessageOptions{MapEntry: new(true)},
	}
}

// entryName is protoc's name of a map field's entry: "by_id" has "ByIdEntry".
func entryName(field string) string {
	name := DefaultJSON(field)
	if isLower(name[0]) {
		name = string(name[0]-'a'+'A') + name[1:]
	}
	return name + "Entry"
}

func describeEnum(e *Enum) *descriptorpb.EnumDescriptorProto {
	d := &descriptorpb.EnumDescriptorProto{Name: new(e.Name)}
	for _, v := range e.Values {
		d.Value = append(d.Value, &descriptorpb.EnumValueDescriptorProto{Name: new(v.Name), Number: new(v.Number)})
	}
	return d
}

// JSONName is the field's name in JSON: JSON, or protobuf's own.
func (f *Field) JSONName() string {
	if f.JSON != "" {
		return f.JSON
	}
	return DefaultJSON(f.Name)
}

// Message gives a message by its name, nil where there is none.
func (c *Contract) Message(name string) *Message {
	for i := range c.Messages {
		if c.Messages[i].Name == name {
			return &c.Messages[i]
		}
	}
	return nil
}

// Field finds a field by its proto name, nil where there is none; a nil message
// has none.
func (m *Message) Field(name string) *Field {
	return m.find(func(f *Field) bool { return f.Name == name })
}

// FieldOf finds a field by its name in JSON.
func (m *Message) FieldOf(json string) *Field {
	return m.find(func(f *Field) bool { return f.JSONName() == json })
}

func (m *Message) find(is func(*Field) bool) *Field {
	if m == nil {
		return nil
	}
	for i := range m.Fields {
		if is(&m.Fields[i]) {
			return &m.Fields[i]
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
