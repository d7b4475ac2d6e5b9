package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"

	"whittle/internal/yamltree"
)

// The bounds on a config. The YAML parser takes time quadratic in the keys of one mapping.
const (
	maxSource   = 1 << 20 // bytes
	maxTokens   = 50_000
	maxSettings = 10_000
	maxDepth    = 16
)

// emptyFile is what is wrong with a file that holds nothing.
const emptyFile = "the file is empty"

// top is where a file begins.
var top = position{line: 1, column: 1}

type kind uint8

const (
	isNull kind = iota
	isScalar
	isMapping
	isSequence
)

// String is the kind in a YAML author's words, with its article.
func (k kind) String() string {
	return [...]string{"nothing", "a single value", "a mapping", "a list"}[k]
}

// position counts lines and columns from 1, and the files of a config from 0, its own.
type position struct{ line, column, file int }

// node is the part of a YAML tree that a config may have.
type node struct {
	at      position
	kind    kind
	text    string // of a scalar, unquoted
	entries []entry
	items   []*node
}

type entry struct {
	key   string
	at    position
	value *node
}

// syntaxError is a fault found before any field has a path.
type syntaxError struct {
	at   position
	text string
}

func (e *syntaxError) Error() string { return e.text }

// parseYAML reads one document. It does not panic, whatever the bytes.
func parseYAML(src []byte) (*node, error) {
	if len(src) > maxSource {
		return nil, &syntaxError{top, fmt.Sprintf("the file has %d bytes, and a config has at most %d", len(src), maxSource)}
	}
	src, err := asUTF8(src)
	if err != nil {
		return nil, err
	}
	settings := 0
	tree, err := yamltree.Parse(src, yamltree.Limits{Tokens: maxTokens, Nodes: maxTokens, Depth: maxDepth, Refuse: func(t *token.Token) string {
		if t.Type == token.MappingValueType {
			if settings++; settings > maxSettings {
				return fmt.Sprintf("the file has more than %d settings", maxSettings)
			}
		}
		return refusedTokens[t.Type]
	}})
	if e, ok := errors.AsType[*yamltree.Error](err); ok {
		text := strings.ReplaceAll(e.Text, "\t", `\t`)
		if strings.Contains(text, "must be specified") {
			text += `: between brackets a text with one of { } [ ] , in it needs quotes: match: "GET /items/{id}"`
		}
		return nil, &syntaxError{placed(e.Place), text}
	}
	if tree == nil {
		return nil, &syntaxError{top, emptyFile}
	}
	return nodeOf(tree), nil
}

// refusedTokens says what no config needs: anchors and aliases (a few lines of which can
// stand for billions of values), tags, directives and complex keys.
var refusedTokens = map[token.Type]string{
	token.AnchorType: noAnchors, token.AliasType: noAnchors, token.MergeKeyType: noAnchors,
	token.TagType:        "tags (!) are not read here; put quotes around the value if it is meant as text",
	token.DirectiveType:  "directives (%) are not read here; put quotes around the value if it is meant as text",
	token.MappingKeyType: "complex keys (?) are not read here",
}

const noAnchors = "anchors and aliases (&, *, <<) are not read here; write the value out, and put quotes around it if it is meant as text"

func placed(p yamltree.Place) position { return position{line: p.Line, column: p.Column} }

// nodeOf is the part of a tree that a config may have.
func nodeOf(y *yamltree.Node) *node {
	n := &node{at: placed(y.Place), text: y.Text}
	switch y.Kind {
	case yamltree.Null:
	case yamltree.List:
		n.kind = isSequence
		for _, item := range y.Items {
			n.items = append(n.items, nodeOf(item))
		}
	case yamltree.Map:
		n.kind = isMapping
		for _, f := range y.Fields {
			n.entries = append(n.entries, entry{key: f.Name, at: placed(f.Place), value: nodeOf(f.Value)})
		}
	default:
		n.kind = isScalar
	}
	return n
}

// asUTF8 is a file without the mark that editors on Windows put before it. What is not
// UTF-8 is refused: it would reach servers with other letters than the author sees.
func asUTF8(src []byte) ([]byte, error) {
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	if utf8.Valid(src) {
		return src, nil
	}
	bad := bytes.IndexFunc(src, func(r rune) bool { return r == utf8.RuneError })
	line := 1 + bytes.Count(src[:bad], []byte("\n"))
	return nil, &syntaxError{position{line: line, column: 1}, "this line is not UTF-8; save the file as UTF-8"}
}
