package scaffold

import (
	"testing"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"

	"whittle/internal/fatal"
)

// The generators give a method and its messages the names that the project's own code has.
func TestNamesAreTheGenerators(t *testing.T) {
	for _, name := range []string{"a", "get_user", "GetUser", "getHTTPUser", "_private", "x__y", "v2_list", "a1b", "A_b_C", "end_", "_9", "snake_9_lives", "ab.cd"} {
		inner := name
		if name == "ab.cd" {
			name, inner = "ab", "cd"
		}
		file := &descriptorpb.FileDescriptorProto{
			Name: new("a.proto"), Package: new("shop.v1"), Syntax: new("proto3"), Options: &descriptorpb.FileOptions{GoPackage: new("example.com/a;a")},
			MessageType: []*descriptorpb.DescriptorProto{{Name: &name, NestedType: []*descriptorpb.DescriptorProto{{Name: &inner}}}},
		}
		full := ".shop.v1." + name + "." + inner
		file.Service = []*descriptorpb.ServiceDescriptorProto{{Name: new("S"), Method: []*descriptorpb.MethodDescriptorProto{{Name: &name, InputType: &full, OutputType: &full}}}}
		set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file}}
		plugin, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{FileToGenerate: []string{"a.proto"}, ProtoFile: set.GetFile()})
		fatal.If(t, err)
		m := plugin.FilesByPath["a.proto"].Services[0].Methods[0]
		if got := [2]string{goName(name), goMessage(set, full)}; got != [2]string{m.GoName, m.Input.GoIdent.GoName} {
			t.Errorf("%q: %q, and the generators say %q and %q", name, got, m.GoName, m.Input.GoIdent.GoName)
		}
	}
}
