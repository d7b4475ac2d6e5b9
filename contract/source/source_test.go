package source

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whittle"
	"whittle/contract/infer"
	"whittle/internal/fatal"
	"whittle/whittletest"
)

// TestOtherForms are refused, each by what it lacks.
func TestOtherForms(t *testing.T) {
	for file, tc := range map[string]struct{ text, says string }{
		"events.yaml":    {"asyncapi: 2.6.0\nchannels: {}\n", "has no member openapi"},
		"archive.json":   {`{"log": {"version": "1.2"}}`, "has no member openapi"},
		"schema.graphql": {"type Query { a: Int }\n", "is of no form that is known"},
		"notes.txt":      {"hello", "is of no form that is known"},
		"00000001.wcap":  {"hello", "none of 0 exchanges shows an endpoint"}, // a log's segment is read by itself, too
	} {
		t.Run(file, func(t *testing.T) {
			path := fatal.Write(t, filepath.Join(t.TempDir(), file), tc.text)
			s, err := Open(path, "", nil)
			if err == nil {
				_, err = s.Contract(t.Context(), nil, infer.Options{})
			}
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestADocumentOfTooMuchIsTakenInParts(t *testing.T) {
	doc := "openapi: 3.0.0\npaths:\n"
	for i := range maxEndpoints + 1 {
		doc += fmt.Sprintf("  /a%d: {get: {responses: {'204': {description: none}}}}\n", i)
	}
	path := fatal.Write(t, filepath.Join(t.TempDir(), "document.yaml"), doc)
	read := func(routes ...string) error {
		s, err := Open(path, "", routes)
		if err == nil {
			_, err = s.Contract(t.Context(), nil, infer.Options{})
		}
		return err
	}
	whittletest.Refused(t, read(), whittle.ResourceExhausted, "", "has 251 endpoints")
	fatal.If(t, read("GET /a7", "GET /a250"))
}

// TestADocumentInFiles: an OpenAPI document's files are read from its folder and those in
// it, not from elsewhere, also not by a link. Of what --route leaves out no message stays.
func TestADocumentInFiles(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(top, path)
		fatal.Write(t, path, text)
	}
	write("elsewhere.yaml", "type: object\nproperties: {secret: {type: string}}\n")
	write("api/schemas/user.yaml", "type: object\nproperties: {name: {type: string}, state: {type: string, enum: [on, off]}}\n")
	write("api/schemas/order.yaml", "type: object\nproperties: {kind: {type: string, enum: [big, small]}}\n")
	write("api/api.yaml", `openapi: 3.0.3
paths:
  /user: {get: {operationId: getUser, responses: {'200': {content: {application/json: {schema: {$ref: schemas/user.yaml}}}}}}}
  /order: {get: {operationId: getOrder, responses: {'200': {content: {application/json: {schema: {$ref: schemas/order.yaml}}}}}}}
`)
	link := filepath.Join(top, "api", "schemas", "link.yaml")
	fatal.If(t, os.Symlink(filepath.Join(top, "elsewhere.yaml"), link))
	write("api/link.yaml", "openapi: 3.0.3\npaths: {/a: {get: {responses: {'200': {content: {application/json: {schema: {$ref: schemas/link.yaml}}}}}}}}\n")
	read := func(name string, routes ...string) (string, error) {
		s, err := Open(filepath.Join(top, "api", name), "", routes)
		fatal.If(t, err)
		c, err := s.Contract(t.Context(), nil, infer.Options{})
		if err != nil {
			return "", err
		}
		return string(c.Proto()), nil
	}
	all, err := read("api.yaml")
	if err != nil || !strings.Contains(all, "message User ") || !strings.Contains(all, "message Order ") {
		t.Errorf("%v\n%s", err, all)
	}
	one, err := read("api.yaml", "GET /user")
	if err != nil || !strings.Contains(one, "message User ") || !strings.Contains(one, "enum State ") || strings.Contains(one, "Order") {
		t.Errorf("%v\n%s", err, one)
	}
	if text, err := read("link.yaml"); err == nil || !strings.Contains(err.Error(), `line 2: $ref "schemas/link.yaml": `) {
		t.Errorf("%v\n%s", err, text)
	}
}
