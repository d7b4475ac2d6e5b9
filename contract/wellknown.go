package contract

import (
	"maps"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	// The files that a contract may import are in the registry once they are
	// linked in.
	_ "google.golang.org/protobuf/types/known/anypb"
	_ "google.golang.org/protobuf/types/known/durationpb"
	_ "google.golang.org/protobuf/types/known/emptypb"
	_ "google.golang.org/protobuf/types/known/fieldmaskpb"
	_ "google.golang.org/protobuf/types/known/structpb"
	_ "google.golang.org/protobuf/types/known/timestamppb"
	_ "google.golang.org/protobuf/types/known/wrapperspb"
)

// Linked resolves Google's own files that are linked in, such as google.protobuf's: nobody
// has to give them.
var Linked = protocompile.ResolverFunc(func(path string) (protocompile.SearchResult, error) {
	d, err := protoregistry.GlobalFiles.FindFileByPath(path)
	if err != nil || !strings.HasPrefix(path, "google/") {
		return protocompile.SearchResult{}, protoregistry.NotFound
	}
	return protocompile.SearchResult{Desc: d}, nil
})

// wellKnown says that the type is a message of google.protobuf.
func (t Type) wellKnown() bool { return strings.HasPrefix(string(t), "google.protobuf.") }

// file is the one that declares a message of google.protobuf, nil where there
// is no such message.
func (t Type) file() protoreflect.FileDescriptor {
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(t))
	if err != nil {
		return nil
	}
	return d.ParentFile()
}

// imports lists the files that the contract's fields need, sorted.
func (c *Contract) imports() []string {
	paths := map[string]bool{}
	for _, m := range c.Messages {
		for _, f := range m.Fields {
			if file := f.Type.file(); f.Type.wellKnown() && file != nil {
				paths[file.Path()] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(paths))
}
