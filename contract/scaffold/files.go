package scaffold

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"go/format"
	"io/fs"
	"path"
	"strings"
	"text/template"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"whittle"
)

// embedded are the templates of the project's files, each where its file is in the project.
// They have [[ and ]] around what is filled in, since Go, YAML and whittle's own configs have
// braces of their own.
//
//go:embed all:files
var embedded embed.FS

// methodFile is made once for each method, under the method's own name.
const methodFile = "internal/service/method.go"

// files are all of the project's but the generators'.
func (v *view) files() ([]file, error) {
	plan := v.loadPlan() // first, since the papers say how much of what was recorded it sends
	var out []file
	err := fs.WalkDir(embedded, "files", func(name string, _ fs.DirEntry, err error) error {
		to, is := strings.CutSuffix(strings.TrimPrefix(name, "files/"), ".tmpl")
		if !is || to == methodFile {
			return err
		}
		content, err := v.render(to, v)
		generated := strings.HasPrefix(to, "internal/binding/") || strings.HasPrefix(path.Base(to), "zz_")
		out = append(out, file{strings.Replace(to, "cmd/", "cmd/"+v.Name+"/", 1), content, generated})
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, m := range v.Methods {
		content, err := v.render(methodFile, struct {
			*view
			Method method
		}{v, m})
		if err != nil {
			return nil, err
		}
		out = append(out, file{"internal/service/" + m.File + ".go", content, false})
		for i, x := range v.exchangesOf(&m) {
			b, err := json.MarshalIndent(x, "", "  ")
			if err != nil {
				return nil, whittle.Errorf(whittle.Internal, "write exchanges: %w", err)
			}
			out = append(out, file{fmt.Sprintf("internal/server/testdata/%s/%03d.json", m.Name, i+1), append(b, '\n'), false})
		}
	}
	set := &descriptorpb.FileDescriptorSet{}
	for _, f := range v.request.GetProtoFile() {
		f = proto.CloneOf(f)
		f.SourceCodeInfo = nil
		set.File = append(set.File, f)
	}
	descriptor, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err != nil {
		return nil, whittle.Errorf(whittle.Internal, "write descriptor: %w", err)
	}
	return append(out,
		file{"proto/" + v.Contract.FileName(), v.Contract.Proto(), true},
		file{v.Name + ".binpb", descriptor, true},
		file{"CONTRACT.md", v.contractPage(), true},
		file{configName, v.gatewayConfig(), false},
		file{routesName, v.gatewayRoutes(), false},
		file{"load.yaml", plan, false},
	), nil
}

func (v *view) exchangesOf(m *method) []exchange {
	if s := v.samples[m.Proto]; s != nil {
		return s.exchanges
	}
	return nil
}

func (v *view) render(name string, data any) ([]byte, error) {
	var b bytes.Buffer
	text, err := embedded.ReadFile("files/" + name + ".tmpl")
	if err == nil {
		err = template.Must(template.New(name).Delims("[[", "]]").Parse(string(text))).Execute(&b, data)
	}
	if err != nil {
		return nil, whittle.Errorf(whittle.Internal, "write %s: %w", name, err)
	}
	if !strings.HasSuffix(name, ".go") {
		return b.Bytes(), nil
	}
	out, err := format.Source(b.Bytes())
	if err != nil {
		return nil, whittle.Errorf(whittle.Internal, "write %s: %w\n%s", name, err, b.Bytes())
	}
	return out, nil
}

// jsonText writes v as JSON, which is also a value of YAML.
func jsonText(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}
