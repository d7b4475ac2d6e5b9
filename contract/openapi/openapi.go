// Package openapi reads an OpenAPI document, 3.0 or 3.1, as a contract.
package openapi

import (
	"fmt"
	"slices"
	"strings"

	"whittle"
	"whittle/contract"
)

// Bounds of what is made of a document.
const (
	maxMethods  = 2_000
	maxMessages = 10_000
	maxRefs     = 64 // one after another
	maxFiles    = 2_000
	maxSchemas  = 1 << 20 // of schemas
)

// Read reads a document, JSON or YAML. Its errors are Invalid and name the line. $ref is
// followed within the document, and into the files that files gives by their paths from
// the document's folder, with slashes; nil: there are none. name is the document's own. What a contract has no words
// for is said in its guesses: parameters in headers and cookies, several kinds
// of responses, alternatives (oneOf, anyOf) that become a google.protobuf.Value.
func Read(name string, data []byte, files func(path string) ([]byte, error)) (*contract.Contract, error) {
	c, err := read(name, data, files)
	if err != nil {
		return nil, whittle.Errorf(whittle.CodeOf(err), "read OpenAPI document %s: %w", name, err)
	}
	return c, nil
}

func read(name string, data []byte, files func(path string) ([]byte, error)) (c *contract.Contract, err error) {
	defer whittle.Caught(&err)
	r := &reader{
		root: parse(data, ""), name: name, files: files, bytes: len(data), docs: map[string]*node{},
		c: &contract.Contract{}, taken: map[string]bool{}, byRef: map[string]string{}, open: map[string]bool{},
		enums: map[string]string{}, presence: map[string]map[string]presence{},
	}
	r.read()
	return r.c, nil
}

// reader makes a contract of a document.
type reader struct {
	root  *node
	name  string // the document's
	files func(path string) ([]byte, error)
	docs  map[string]*node // files that were read
	bytes int              // of all of them
	c     *contract.Contract
	// taken are the names of messages, enums and methods.
	taken map[string]bool
	// byRef are the messages by the $ref that they come from, enums the enums
	// by their words.
	byRef map[string]string
	// open are the $refs that are being read and are no message yet.
	open  map[string]bool
	enums map[string]string
	// presence is how members of messages may be missing.
	presence    map[string]map[string]presence
	schemasRead int
	at          *contract.Method // the method that is being read
}

// presence is how a member may be missing.
type presence struct{ optional, nullable bool }

func (r *reader) guess(path, chosen, against, evidence string) {
	g := contract.Guess{Path: path, Chosen: chosen, Against: against, Evidence: evidence}
	list := &r.c.Guesses
	if r.at != nil {
		list = &r.at.Guesses
	}
	if !slices.Contains(*list, g) {
		*list = append(*list, g)
	}
}

func (r *reader) read() {
	switch v := r.root.str("openapi"); {
	case strings.HasPrefix(v, "3.0"), strings.HasPrefix(v, "3.1"):
	case r.root.str("swagger") != "":
		panic(whittle.Errorf(whittle.Unsupported, "%s: it is Swagger %s, and OpenAPI 3.0 and 3.1 are read",
			r.root.at, r.root.str("swagger")).WithHint("convert it to OpenAPI 3 first (npx swagger2openapi FILE)"))
	case v == "":
		panic(invalid(r.root.at, "it has no member openapi, and OpenAPI 3.0 and 3.1 are read"))
	default:
		panic(invalid(r.root.at, "openapi is %q, and 3.0 and 3.1 are read", v))
	}
	title := contract.TypeName(r.root.get("info").str("title"))
	title = strings.TrimSuffix(strings.TrimSuffix(title, "Api"), "Service")
	if title == "" || title == "Thing" {
		title = "Monolith"
	}
	r.c.Service = title + "Service"
	r.c.Package = strings.ReplaceAll(contract.FieldName(title), "_", "") + ".v1"
	r.taken[r.c.Service] = true
	paths := r.root.get("paths")
	if paths == nil || paths.kind != isObject {
		panic(invalid(r.root.at, "it has no paths"))
	}
	for i, path := range paths.keys {
		if !strings.HasPrefix(path, "/") {
			continue // an extension
		}
		item, _ := r.follow(paths.items[i])
		r.item(path, item)
	}
	if len(r.c.Methods) == 0 {
		panic(whittle.Errorf(whittle.Invalid, "%s: paths has no operation that can be a method", paths.at).WithHint(r.hint()))
	}
	if _, err := r.c.Descriptor(); err != nil {
		panic(whittle.Errorf(whittle.Unsupported, "%w", err))
	}
}

func (r *reader) hint() string {
	if len(r.c.Guesses) == 0 {
		return ""
	}
	g := r.c.Guesses[0]
	return g.Path + " was left out: " + g.Evidence
}

// add adds a message and gives its index.
func (r *reader) add(name string, at place) int {
	if len(r.c.Messages) >= maxMessages {
		panic(invalid(at, "the document has more than %d objects", maxMessages))
	}
	r.taken[name] = true
	r.c.Messages = append(r.c.Messages, contract.Message{Name: name})
	return len(r.c.Messages) - 1
}

// free gives a name that nothing has: hint, or hint with above before it.
func (r *reader) free(hint, above string) string {
	name := contract.TypeName(hint)
	if r.taken[name] && above != "" {
		name = contract.TypeName(above + "_" + hint)
	}
	return contract.Unique(name, "", func(n string) bool { return r.taken[n] })
}

// label names a line for a guess.
func label(n *node, what string) string { return fmt.Sprintf("%s (%s)", what, n.at) }
