package scaffold

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"go/format"
	"strings"
	"text/template"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"whittle"
)

//go:embed files
var embedded embed.FS

// templates have [[ and ]] around what is filled in, since Go, YAML and
// whittle's own configs have braces of their own.
var templates = template.Must(template.New("").Delims("[[", "]]").
	ParseFS(embedded, "files/*.tmpl", "files/*/*.tmpl", "files/*/*/*.tmpl"))

// layout maps the templates to the project's files. Nobody should edit a
// generated one.
var layout = []struct {
	template, path string
	generated      bool
}{
	{"binding.go.tmpl", "internal/binding/binding.go", true},
	{"write.go.tmpl", "internal/binding/write.go", true},
	{"read.go.tmpl", "internal/binding/read.go", true},
	{"holds.go.tmpl", "internal/binding/holds.go", true},
	{"same.go.tmpl", "internal/binding/same.go", true},
	{"read_test.go.tmpl", "internal/binding/read_test.go", true},
	{"words.go.tmpl", "internal/binding/words.go", true},
	{"words_test.go.tmpl", "internal/binding/words_test.go", true},
	{"request.go.tmpl", "internal/binding/request.go", true},
	{"response_text.go.tmpl", "internal/binding/response.go", true},
	{"response.go.tmpl", "internal/response/response.go", false},
	{"delegate.go.tmpl", "internal/delegate/delegate.go", false},
	{"forward.go.tmpl", "internal/delegate/forward.go", false},
	{"header.go.tmpl", "internal/delegate/header.go", false},
	{"delegate_test.go.tmpl", "internal/delegate/delegate_test.go", false},
	{"service.go.tmpl", "internal/service/service.go", false},
	{"zz_bindings.go.tmpl", "internal/service/zz_bindings.go", true},
	{"main.go.tmpl", "cmd/[[.Name]]/main.go", false},
	{"config.go.tmpl", "internal/server/config.go", false},
	{"failure.go.tmpl", "internal/server/failure.go", false},
	{"public.go.tmpl", "internal/server/public.go", false},
	{"zz_routes.go.tmpl", "internal/server/zz_routes.go", true},
	{"metrics.go.tmpl", "internal/server/metrics.go", false},
	{"admin.go.tmpl", "internal/server/admin.go", false},
	{"run.go.tmpl", "internal/server/run.go", false},
	{"recorded_test.go.tmpl", "internal/server/recorded_test.go", false},
	{"edges_test.go.tmpl", "internal/server/edges_test.go", false},
	{"zz_calls_test.go.tmpl", "internal/server/zz_calls_test.go", true},
	{"go.mod.tmpl", "go.mod", false},
	{"go.sum.tmpl", "go.sum", false},
	{"buf.yaml.tmpl", "buf.yaml", false},
	{"buf.gen.yaml.tmpl", "buf.gen.yaml", false},
	{"Makefile.tmpl", "Makefile", false},
	{"Dockerfile.tmpl", "Dockerfile", false},
	{"dockerignore.tmpl", ".dockerignore", false},
	{"gitignore.tmpl", ".gitignore", false},
	{"golangci.yml.tmpl", ".golangci.yml", false},
	{"ci.yml.tmpl", ".github/workflows/ci.yml", false},
	{"README.md.tmpl", "README.md", false},
}

// files are all of the project's but the generators'.
func (v *view) files() ([]file, error) {
	plan := v.loadPlan() // first, since the papers say how much of what was recorded it sends
	var out []file
	for _, l := range layout {
		content, err := v.render(l.template, v)
		if err != nil {
			return nil, err
		}
		out = append(out, file{strings.ReplaceAll(l.path, "[[.Name]]", v.Name), content, l.generated})
	}
	for _, m := range v.Methods {
		content, err := v.render("method.go.tmpl", struct {
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
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		return nil, whittle.Errorf(whittle.Internal, "write %s: %w", name, err)
	}
	if !strings.HasSuffix(name, ".go.tmpl") {
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
