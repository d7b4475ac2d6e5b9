package openapi

import (
	"slices"
	"strings"

	"whittle/contract"
)

// fromSwagger makes a document of OpenAPI 3 of one of Swagger 2.0, with the lines and
// the places that $ref names as they were. Of several media types one is taken, as
// content would choose it.
func (r *reader) fromSwagger() {
	paths := r.root.get("paths")
	if paths == nil || paths.kind != isObject {
		panic(invalid(r.root.line, "it has no paths"))
	}
	s := swagger{r: r, consumes: preferred(r.root.get("consumes")), produces: preferred(r.root.get("produces"))}
	out := objectAt(paths.line)
	for i, path := range paths.keys {
		item, _ := r.follow(paths.items[i])
		out.set(path, s.item(item))
	}
	root := r.root.without("paths", "servers")
	root.set("paths", out)
	base := r.root.get("basePath")
	if base != nil {
		server := objectAt(base.line)
		server.set("url", textAt(base.line, "/"+strings.TrimLeft(base.text, "/")))
		root.set("servers", listAt(base.line, server))
	}
	r.root = root
}

// swagger turns operations of Swagger 2.0 into OpenAPI 3's.
type swagger struct {
	r *reader
	// consumes and produces are the document's media types; empty: none is named.
	consumes, produces string
}

func (s *swagger) item(item *node) *node {
	if item == nil || item.kind != isObject {
		return item
	}
	out := objectAt(item.line)
	for i, key := range item.keys {
		if op := item.items[i]; key != "parameters" && op.kind == isObject {
			out.set(key, s.operation(item, op))
		}
	}
	return out
}

func (s *swagger) operation(item, op *node) *node {
	out := op.without("parameters", "consumes", "produces", "responses", "servers", "requestBody")
	parameters := listAt(op.line)
	form := objectAt(op.line)
	var required []*node
	file := false
	for _, p := range s.r.parameters(item, op) {
		switch p.str("in") {
		case "body":
			out.set("requestBody", s.body(p, op, p.get("schema")))
		case "formData":
			form.set(p.str("name"), formSchema(p))
			file = file || p.str("type") == "file"
			if p.is("required") {
				required = append(required, textAt(p.line, p.str("name")))
			}
		default:
			parameters.items = append(parameters.items, parameterOf(p))
		}
	}
	out.set("parameters", parameters)
	if len(form.keys) > 0 {
		schema := objectAt(form.line)
		schema.set("type", textAt(form.line, "object"))
		schema.set("properties", form)
		schema.set("required", listAt(form.line, required...))
		out.set("requestBody", s.formBody(op, schema, len(required) > 0, file))
	}
	if responses := op.get("responses"); responses != nil {
		out.set("responses", s.responses(op, responses))
	}
	return out
}

// schemaKeys are the members of a parameter that are not of its schema.
var schemaKeys = []string{"name", "in", "required", "description", "collectionFormat", "allowEmptyValue"}

// parameterOf gives a parameter the schema that it was.
func parameterOf(p *node) *node {
	out := objectAt(p.line)
	for _, key := range []string{"name", "in", "required", "description"} {
		if v := p.get(key); v != nil {
			out.set(key, v)
		}
	}
	out.set("schema", p.without(schemaKeys...))
	if p.str("collectionFormat") != "multi" {
		out.set("explode", &node{line: p.line, kind: isBool, text: "false"})
	}
	return out
}

// formSchema is the schema of a form's part. An array in one part is a text.
func formSchema(p *node) *node {
	schema := p.without(schemaKeys...)
	if p.str("type") == "array" && p.str("collectionFormat") != "multi" {
		schema = objectAt(p.line)
		schema.set("type", textAt(p.line, "string"))
	}
	if words := p.get("description"); words != nil {
		schema.set("description", words)
	}
	return schema
}

func (s *swagger) body(p, op, schema *node) *node {
	out := objectAt(p.line)
	if required := p.get("required"); required != nil {
		out.set("required", required)
	}
	out.set("content", contentOf(p.line, s.mediaType(op, "consumes", s.consumes), schema))
	return out
}

func (s *swagger) formBody(op, schema *node, required, file bool) *node {
	const urlencoded, multipart = "application/x-www-form-urlencoded", "multipart/form-data"
	mediaType := urlencoded
	if file || strings.HasPrefix(s.mediaType(op, "consumes", s.consumes), multipart) {
		mediaType = multipart
	}
	out := objectAt(schema.line)
	if required {
		out.set("required", &node{line: schema.line, kind: isBool, text: "true"})
	}
	out.set("content", contentOf(schema.line, mediaType, schema))
	return out
}

func (s *swagger) responses(op, responses *node) *node {
	out := objectAt(responses.line)
	mediaType := s.mediaType(op, "produces", s.produces)
	for i, status := range responses.keys {
		from, _ := s.r.follow(responses.items[i])
		if from == nil || from.kind != isObject {
			continue
		}
		to := from.without("schema", "examples", "content")
		if schema := from.get("schema"); schema != nil {
			kind := mediaType
			if schema.str("type") == "file" && formOf(kind) == contract.Object {
				kind = "application/octet-stream"
			}
			to.set("content", contentOf(schema.line, kind, schema))
		}
		out.set(status, to)
	}
	return out
}

// mediaType is the one of an operation, else the document's, else JSON.
func (s *swagger) mediaType(op *node, key, document string) string {
	if own := preferred(op.get(key)); own != "" {
		return own
	}
	if document != "" {
		return document
	}
	return "application/json"
}

// preferred chooses of media types the one that content would choose.
func preferred(types *node) string {
	if types == nil || types.kind != isList || len(types.items) == 0 {
		return ""
	}
	for _, want := range []contract.BodyForm{contract.Object, contract.Form, contract.Text} {
		if i := slices.IndexFunc(types.items, func(t *node) bool { return formOf(t.text) == want }); i >= 0 {
			return types.items[i].text
		}
	}
	return types.items[0].text
}

func contentOf(line int, mediaType string, schema *node) *node {
	media := objectAt(line)
	if schema != nil {
		media.set("schema", schema)
	}
	out := objectAt(line)
	out.set(mediaType, media)
	return out
}

func objectAt(line int) *node { return &node{line: line, kind: isObject} }

func listAt(line int, items ...*node) *node { return &node{line: line, kind: isList, items: items} }

func textAt(line int, text string) *node { return &node{line: line, kind: isText, text: text} }

func (n *node) set(key string, value *node) {
	n.keys, n.items = append(n.keys, key), append(n.items, value)
}

// without is an object's copy that lacks some members.
func (n *node) without(keys ...string) *node {
	out := objectAt(n.line)
	for i, k := range n.keys {
		if !slices.Contains(keys, k) {
			out.set(k, n.items[i])
		}
	}
	return out
}
