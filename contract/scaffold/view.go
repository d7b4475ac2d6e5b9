package scaffold

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"

	"whittle"
	"whittle/contract"
)

// view is what the templates see.
type view struct {
	Options
	Contract *contract.Contract
	// Name of the command and of what is made of it in papers; Env and
	// MetricPrefix are it in the environment and in metrics.
	Name, Env, MetricPrefix string
	// Service is Go's name, FullService proto's with the package.
	Service, FullService string
	// GoImport and GoAlias are the generated code's import.
	GoImport, GoAlias string
	Methods           []method
	// Words are the values of the enums that JSON calls otherwise.
	Words []contract.EnumValue

	request *pluginpb.CodeGeneratorRequest
	samples map[string]*samples // by method
}

// method is one of the service's with what Go calls things.
type method struct {
	*contract.Method
	// Name shadows the contract's: it is Go's.
	Name, Proto       string
	InputGo, OutputGo string
	// Var is the binding, Delegate the function that asks the monolith, File
	// the handler's.
	Var, Delegate, File string
	// Words are those of the service that the method's messages can hold.
	Words []contract.EnumValue
}

// newView sets the contract's go_package and gives everything a name.
func newView(c *contract.Contract, o Options) (*view, error) {
	if len(c.Methods) == 0 {
		return nil, whittle.Errorf(whittle.Invalid, "make project: the contract has no method").
			WithHint("record requests of the endpoint first, or name another --route")
	}
	name := plainName(o.Module[strings.LastIndexByte(o.Module, '/')+1:])
	v := &view{
		Options: o, Contract: c, Name: name,
		Env: strings.ToUpper(strings.ReplaceAll(name, "-", "_")), MetricPrefix: strings.ReplaceAll(name, "-", "_"),
		FullService: c.FullService(), samples: map[string]*samples{},
	}
	parts := strings.Split(c.Package, ".")
	if c.Package == "" {
		parts = []string{strings.ToLower(c.Service)}
	}
	v.GoAlias = strings.ReplaceAll(strings.Join(parts[max(0, len(parts)-2):], ""), "_", "") + "pb"
	v.GoImport = o.Module + "/internal/gen"
	for _, part := range parts {
		v.GoImport += "/" + goFolder(part)
	}
	c.GoPackage = v.GoImport + ";" + v.GoAlias
	if err := v.goNames(); err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, e := range c.Enums {
		all[e.Name] = true
	}
	v.Words = wordsOf(c, all)
	for i := range v.Methods {
		v.Methods[i].Words = wordsOf(c, c.Reached(v.Methods[i].Input, v.Methods[i].Output))
	}
	return v, v.checkPatterns()
}

// goFolder is a part of a proto package as a folder that Go imports from and builds.
func goFolder(part string) string {
	switch {
	case part == "internal", part == "vendor", part == "testdata":
		return part + "pb"
	case strings.HasPrefix(part, "_"):
		return "x" + part
	}
	return part
}

// wordsOf are the words of some enums, but of such as are called in JSON as in
// proto.
func wordsOf(c *contract.Contract, enums map[string]bool) (out []contract.EnumValue) {
	for _, e := range c.Enums {
		if !enums[e.Name] || !slices.ContainsFunc(e.Values, func(v contract.EnumValue) bool { return v.JSON != v.Name }) {
			continue
		}
		for _, value := range e.Values {
			if value.JSON != "" {
				out = append(out, value)
			}
		}
	}
	return out
}

// goNames gives everything the name that the generators give it in Go.
func (v *view) goNames() error {
	set, err := v.Contract.Descriptor()
	if err != nil {
		return err
	}
	main := v.Contract.FileName()
	v.request = &pluginpb.CodeGeneratorRequest{FileToGenerate: []string{main}, ProtoFile: set.GetFile()}
	at := slices.IndexFunc(set.GetFile(), func(f *descriptorpb.FileDescriptorProto) bool { return f.GetName() == main })
	service := set.GetFile()[at].GetService()[0]
	v.Service = goName(service.GetName())
	taken := []string{"service", "zz_bindings"}
	for i, m := range service.GetMethod() {
		of, name := &v.Contract.Methods[i], goName(m.GetName())
		// Without an underscore a file's name says nothing of systems or tests.
		file := contract.Unique(strings.ToLower(strings.ReplaceAll(name, "_", "")), "", func(s string) bool {
			return slices.Contains(taken, s)
		})
		taken = append(taken, file)
		v.Methods = append(v.Methods, method{
			Method: of, Name: name, Proto: of.Name, InputGo: goMessage(set, m.GetInputType()), OutputGo: goMessage(set, m.GetOutputType()),
			Var: "bind" + name, Delegate: "delegate" + name, File: file,
		})
	}
	return nil
}

// goMessage is the Go name of a message that a method names in full, ".shop.v1.Order.Line".
func goMessage(set *descriptorpb.FileDescriptorSet, full string) string {
	longest := ""
	for _, f := range set.GetFile() {
		if p := f.GetPackage(); len(p) > len(longest) && strings.HasPrefix(full, "."+p+".") {
			longest = p
		}
	}
	return goName(strings.TrimPrefix(strings.TrimPrefix(full, "."), longest+"."))
}

// goName is protoc-gen-go's name for one of proto's: a small letter behind anything but a
// letter becomes a capital, and takes the place of an underscore or a dot before it.
func goName(name string) string {
	is := func(i int, from, to byte) bool { return i >= 0 && i < len(name) && from <= name[i] && name[i] <= to }
	var out []byte
	for i := range len(name) {
		small := is(i+1, 'a', 'z')
		switch c := name[i]; {
		case c == '_' && (i == 0 || name[i-1] == '.'):
			out = append(out, 'X')
		case (c == '.' || c == '_') && small:
		case c == '.':
			out = append(out, '_')
		case is(i, 'a', 'z') && !is(i-1, 'a', 'z') && !is(i-1, 'A', 'Z'):
			out = append(out, c-'a'+'A')
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// checkPatterns finds endpoints between which net/http, and so the gateway,
// cannot choose.
func (v *view) checkPatterns() error {
	router := contract.NewRouter()
	for _, m := range v.Methods {
		if err := router.Add(m.Endpoint()); err != nil {
			return whittle.Errorf(whittle.Invalid, "make project: %s: %w", m.Endpoint(), err).
				WithHint("take one endpoint at a time: --route \"" + m.Endpoint() + "\"")
		}
	}
	return nil
}

// plainName keeps small letters, digits and dashes.
func plainName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		case r == '_' || r == '.' || r == ' ' || r == '-':
			return '-'
		}
		return -1
	}, s)
	s = strings.Trim(s, "-")
	if s == "" || s[0] <= '9' {
		s = "service" + s
	}
	return s
}

// isModule is stricter than Go, so that a path is also a folder and a name.
func isModule(s string) bool {
	for part := range strings.SplitSeq(s, "/") {
		if part == "" || strings.Trim(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_~") != "" ||
			strings.Trim(part, ".") == "" || part == "internal" || part == "cmd" {
			return false
		}
	}
	return !slices.Contains([]string{"std", "main", "go", "test"}, s)
}

// Ports of a made service, public and admin. Browsers and Node's fetch refuse
// some ports whatever listens there (the fetch standard's bad ports, 6666 and
// 6667 among them); these are none of those, and not the gateway's 8080 and 8081.
const (
	servicePort = 8090
	adminPort   = 8091
)

// Recorded reports whether the project has recorded requests, for its tests and the load
// plan. One of a document has none.
func (v *view) Recorded() bool { return len(v.samples) > 0 }

// Port is the service's public one.
func (v *view) Port() int { return servicePort }

// AdminPort is that of health, metrics and profiles.
func (v *view) AdminPort() int { return adminPort }
