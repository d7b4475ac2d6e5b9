package scaffold

import (
	"strings"

	"google.golang.org/protobuf/types/descriptorpb"
)

// Numbers of the fields by which a descriptor's parts are named in
// SourceCodeInfo (descriptor.proto).
const (
	fileMessages, fileEnums, fileServices = 4, 5, 6
	partFields, partValues, partMethods   = 2, 2, 2
)

// comment gives the parts of a descriptor the comments that stand above them in
// its .proto file, so that the generated code has them too. It reads what
// contract.Proto writes: a declaration a line, comments above.
func comment(f *descriptorpb.FileDescriptorProto, text []byte) {
	info := &descriptorpb.SourceCodeInfo{}
	var above []string
	var parent []int32
	counts := map[int32]int32{}
	inner := int32(0)
	for line := range strings.SplitSeq(string(text), "\n") {
		line = strings.TrimSpace(line)
		if body, ok := strings.CutPrefix(line, "//"); ok {
			above = append(above, body)
			continue
		}
		path := []int32(nil)
		kind := int32(0)
		switch word, _, _ := strings.Cut(line, " "); word {
		case "message":
			kind = fileMessages
		case "enum":
			kind = fileEnums
		case "service":
			kind = fileServices
		case "", "}", "syntax", "package", "import", "option", "reserved":
		default:
			if parent != nil {
				inside := map[int32]int32{fileMessages: partFields, fileEnums: partValues, fileServices: partMethods}[parent[0]]
				path = append(append(path, parent...), inside, inner)
				inner++
			}
		}
		if kind != 0 {
			parent, inner = []int32{kind, counts[kind]}, 0
			path = parent
			counts[kind]++
		}
		if path != nil && len(above) > 0 {
			info.Location = append(info.Location, &descriptorpb.SourceCodeInfo_Location{
				Path: path, Span: []int32{0, 0, 0}, LeadingComments: new(strings.Join(above, "\n") + "\n"),
			})
		}
		above = nil
	}
	f.SourceCodeInfo = info
}
