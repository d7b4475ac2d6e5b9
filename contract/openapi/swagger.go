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
		panic(invalid(r.root.at, "it has no paths"))
	}
	s := swagger{r: r, consumes: preferred(r.root.get("consumes")), produces: preferred(r.root.get("produces"))}
	out := objectAt(paths.at)
	for i, path := range paths.keys {
		item, _ := r.follow(paths.items[i])
		out.set(path, s.item(item))
	}
	root := r.root.without("paths", "servers")
	root.set("paths", out)
	base := r.root.get("basePath")
	if base != nil {
		server := objectAt(base.at)
		server.set("url", textAt(base.at, "/"+strings.TrimLeft(base.text, "/")))
		root.set("servers", listAt(base.at, server))
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
	out := objectAt(item.at)
	for i, key := range item.keys {
		if op, _ := s.r.follow(item.items[i]); key != "parameters" && op.kind == isObject {
			out.set(key, s.operation(item, op))
		}
	}
	return out
}

func (s *swagger) operation(item, op *node) *node {
	out := op.without("parameters", "consumes", "produces", "responses", "servers", "requestBody")
	parameters := listAt(op.at)
	form := objectAt(op.at)
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
				required = append(required, textAt(p.at, p.str("name")))
			}
		default:
			parameters.items = append(parameters.items, parameterOf(p))
		}
	}
	out.set("parameters", parameters)
	if len(form.keys) > 0 {
		schema := objectAt(form.at)
		schema.set("type", textAt(form.at, "object"))
		schema.set("properties", form)
		schema.set("required", listAt(form.at, required...))
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
	out := objectAt(p.at)
	for _, key := range []string{"name", "in", "required", "description"} {
		if v := p.get(key); v != nil {
			out.set(key, v)
		}
	}
	out.set("schema", p.without(schemaKeys...))
	if p.str("collectionFormat") != "multi" {
		out.set("explode", &node{at: p.at, kind: isBool, text: "false"})
	}
	return out
}

// formSchema is the schema of a form's part. An array in one part is a text.
func formSchema(p *node) *node {
	schema := p.without(schemaKeys...)
	if p.str("type") == "array" && p.str("collectionFormat") != "multi" {
		schema = objectAt(p.at)
		schema.set("type", textAt(p.at, "string"))
	}
	if words := p.get("description"); words != nil {
		schema.set("description", words)
	}
	return schema
}

func (s *swagger) body(p, op, schema *node) *node {
	out := objectAt(p.at)
	if required := p.get("required"); required != nil {
		out.set("required", required)
	}
	out.set("content", contentOf(p.at, s.mediaType(op, "consumes", s.consumes), schema))
	return out
}

func (s *swagger) formBody(op, schema *node, required, file bool) *node {
	const urlencoded, multipart = "application/x-www-form-urlencoded", "multipart/form-data"
	mediaType := urlencoded
	if file || strings.HasPrefix(s.mediaType(op, "consumes", s.consumes), multipart) {
		mediaType = multipart
	}
	out := objectAt(schema.at)
	if required {
		out.set("required", &node{at: schema.at, kind: isBool, text: "true"})
	}
	out.set("content", contentOf(schema.at, mediaType, schema))
	return out
}

func (s *swagger) responses(op, responses *node) *node {
	out := objectAt(responses.at)
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
			to.set("content", contentOf(schema.at, kind, schema))
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

func contentOf(at place, mediaType string, schema *node) *node {
	media := objectAt(at)
	if schema != nil {
		media.set("schema", schema)
	}
	out := objectAt(at)
	out.set(mediaType, media)
	return out
}

func objectAt(at place) *node { return &node{at: at, kind: isObject} }

func listAt(at place, items ...*node) *node { return &node{at: at, kind: isList, items: items} }

func textAt(at place, text string) *node { return &node{at: at, kind: isText, text: text} }

func (n *node) set(key string, value *node) {
	n.keys, n.items = append(n.keys, key), append(n.items, value)
}

// without is an object's copy that lacks some members.
func (n *node) without(keys ...string) *node {
	out := objectAt(n.at)
	for i, k := range n.keys {
		if !slices.Contains(keys, k) {
			out.set(k, n.items[i])
		}
	}
	return out
}
