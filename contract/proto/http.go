package proto

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"whittle/contract"
)

// bind gives a method its HTTP: that of its google.api.http rule, or a POST of
// the procedure's path.
func (r *reader) bind(m *contract.Method, d protoreflect.MethodDescriptor) error {
	plain := contract.Binding{Response: contract.Response{Status: 200, ContentType: "application/json", Form: contract.Object}}
	m.HTTP = plain
	rule, err := ruleOf(d)
	if err != nil {
		return err
	}
	if rule != nil {
		why := r.bindRule(m, d, rule)
		if why == "" {
			if len(rule.GetAdditionalBindings()) > 0 {
				r.guess("google.api.http", "the first binding", "additional bindings", fmt.Sprintf("%d further bindings are not taken over", len(rule.GetAdditionalBindings())))
			}
			m.Safe = rule.GetGet() != ""
			return nil
		}
		r.guess("google.api.http", "a POST of the procedure's path", "the rule", why)
		m.HTTP = plain
	}
	m.HTTP.Method = "POST"
	m.HTTP.Pattern = fmt.Sprintf("/%s/%s", d.Parent().FullName(), d.Name())
	m.HTTP.Body = contract.Body{Form: contract.Object, ContentType: "application/json"}
	return nil
}

// ruleOf reads the method's rule, nil where there is none. The options were
// compiled without the extension's Go type, and are read again with it.
func ruleOf(d protoreflect.MethodDescriptor) (*annotations.HttpRule, error) {
	b, err := proto.Marshal(d.Options())
	if err != nil {
		return nil, err
	}
	var o descriptorpb.MethodOptions
	if err := proto.Unmarshal(b, &o); err != nil {
		return nil, err
	}
	if !proto.HasExtension(&o, annotations.E_Http) {
		return nil, nil
	}
	rule, _ := proto.GetExtension(&o, annotations.E_Http).(*annotations.HttpRule)
	return rule, nil
}

// bindRule says why a rule cannot be taken over, "" where it was.
func (r *reader) bindRule(m *contract.Method, d protoreflect.MethodDescriptor, rule *annotations.HttpRule) string {
	h := &m.HTTP
	var path string
	switch p := rule.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		h.Method, path = "GET", p.Get
	case *annotations.HttpRule_Put:
		h.Method, path = "PUT", p.Put
	case *annotations.HttpRule_Post:
		h.Method, path = "POST", p.Post
	case *annotations.HttpRule_Delete:
		h.Method, path = "DELETE", p.Delete
	case *annotations.HttpRule_Patch:
		h.Method, path = "PATCH", p.Patch
	default:
		return "it has no method of HTTP that is known here"
	}
	if why := r.bindPath(h, d.Input(), path); why != "" {
		return why
	}
	switch body := rule.GetBody(); {
	case body == "*":
		h.Body = contract.Body{Form: contract.Object, ContentType: "application/json"}
	case body != "":
		if d.Input().Fields().ByName(protoreflect.Name(body)) == nil {
			return "its body names no field of " + m.Input
		}
		h.Body = contract.Body{Form: contract.Whole, ContentType: "application/json", Field: body}
		h.Query = query(d.Input(), h)
	default:
		h.Body = contract.Body{Form: contract.NoBody}
		h.Query = query(d.Input(), h)
	}
	if f := rule.GetResponseBody(); f != "" {
		if d.Output().Fields().ByName(protoreflect.Name(f)) == nil {
			return "its response_body names no field of " + m.Output
		}
		h.Response.Form, h.Response.Field = contract.Whole, f
	}
	return ""
}

// bindPath makes net/http's pattern of a path template: "/users/{user.id}" is
// "/users/{user_id}".
func (r *reader) bindPath(h *contract.Binding, in protoreflect.MessageDescriptor, path string) string {
	if !strings.HasPrefix(path, "/") {
		return fmt.Sprintf("its path %q does not begin with /", path)
	}
	segments := strings.Split(path[1:], "/")
	for i, s := range segments {
		if !strings.ContainsAny(s, "{}*:") {
			continue
		}
		field, ok := strings.CutPrefix(s, "{")
		field, closed := strings.CutSuffix(field, "}")
		field = strings.TrimSuffix(field, "=*")
		if !ok || !closed || strings.ContainsAny(field, "{}=*:") || scalarAt(in, field) == nil {
			return fmt.Sprintf("its path %q has %q, which is no single segment for one field", path, s)
		}
		name := strings.ReplaceAll(field, ".", "_")
		if slices.ContainsFunc(h.Path, func(p contract.Parameter) bool { return p.Name == name }) {
			return fmt.Sprintf("its path %q has {%s} twice", path, name)
		}
		segments[i] = "{" + name + "}"
		h.Path = append(h.Path, contract.Parameter{Name: name, Field: field})
	}
	h.Pattern = "/" + strings.Join(segments, "/")
	if strings.HasSuffix(h.Pattern, "/") {
		h.Pattern += "{$}"
	}
	return ""
}

// scalarAt finds a field by a dotted path, nil where it is not one single
// scalar.
func scalarAt(d protoreflect.MessageDescriptor, path string) protoreflect.FieldDescriptor {
	var f protoreflect.FieldDescriptor
	for name := range strings.SplitSeq(path, ".") {
		if d == nil {
			return nil
		}
		if f = d.Fields().ByName(protoreflect.Name(name)); f == nil || f.IsList() || f.IsMap() {
			return nil
		}
		d = f.Message()
	}
	if d != nil {
		return nil
	}
	return f
}

// query lists the fields that neither path nor body have: scalars, and lists of
// them.
func query(d protoreflect.MessageDescriptor, h *contract.Binding) []contract.Parameter {
	var out []contract.Parameter
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		name := string(f.Name())
		inPath := slices.ContainsFunc(h.Path, func(p contract.Parameter) bool { return p.Field == name })
		if inPath || name == h.Body.Field || f.IsMap() || f.Message() != nil {
			continue
		}
		out = append(out, contract.Parameter{Name: f.JSONName(), Field: name})
	}
	return out
}
