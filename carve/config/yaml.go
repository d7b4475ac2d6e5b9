package config

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// The bounds on a config. The YAML parser recurses on nesting, where a stack
// that runs out cannot be recovered from, and takes time quadratic in the keys
// of one mapping; so both are counted on the tokens, before it is let near them.
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
	plain   bool   // a scalar written without quotes
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
func parseYAML(src []byte) (root *node, err error) {
	if len(src) > maxSource {
		return nil, &syntaxError{top, fmt.Sprintf("the file has %d bytes, and a config has at most %d", len(src), maxSource)}
	}
	// A panic of the parser is taken for an error in the file: it must never end a
	// running gateway.
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, &syntaxError{top, fmt.Sprintf("not readable as YAML: %v", r)}
		}
	}()
	src, err = asUTF8(src)
	if err != nil {
		return nil, err
	}
	tokens := lexer.Tokenize(string(src))
	if err := boundTokens(tokens); err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, fromParser(err)
	}
	var body ast.Node
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil:
		case body != nil:
			return nil, &syntaxError{positionOf(doc.Body), "a second document begins here, and a config is one"}
		default:
			body = doc.Body
		}
	}
	if body == nil {
		return nil, &syntaxError{top, emptyFile}
	}
	return convert(body, 0)
}

// boundTokens refuses what is too large, and what no config needs:
// anchors and aliases (a few lines of which can stand for billions of values),
// tags, directives and complex keys.
func boundTokens(tokens token.Tokens) error {
	if len(tokens) > maxTokens {
		return &syntaxError{at(tokens[maxTokens]), fmt.Sprintf("the file has more than %d words and signs", maxTokens)}
	}
	flow, settings, line, dashes := 0, 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, dashes = t.Position.Line, 0
		}
		refused := ""
		switch t.Type {
		case token.InvalidType:
			return &syntaxError{at(t), advised(t.Error)}
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			refused = "anchors and aliases (&, *, <<) are not read here; write the value out, and put quotes around it if it is meant as text"
		case token.TagType:
			refused = "tags (!) are not read here; put quotes around the value if it is meant as text"
		case token.DirectiveType:
			refused = "directives (%) are not read here; put quotes around the value if it is meant as text"
		case token.MappingKeyType:
			refused = "complex keys (?) are not read here"
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		case token.SequenceEntryType:
			dashes++
		case token.MappingValueType:
			settings++
		}
		switch {
		case refused != "":
			return &syntaxError{at(t), refused}
		case flow > maxDepth || dashes > maxDepth:
			return &syntaxError{at(t), fmt.Sprintf("nested deeper than %d levels", maxDepth)}
		case settings > maxSettings:
			return &syntaxError{at(t), fmt.Sprintf("the file has more than %d settings", maxSettings)}
		}
	}
	return nil
}

func fromParser(err error) error {
	if e, ok := errors.AsType[yaml.Error](err); ok && e.GetToken() != nil {
		return &syntaxError{at(e.GetToken()), advised("not readable as YAML: " + e.GetMessage())}
	}
	return &syntaxError{top, "not readable as YAML: " + err.Error()}
}

// asUTF8 is a file without the mark that editors on Windows put before it. What is not
// UTF-8 is refused: it would reach servers with other letters than the author sees.
func asUTF8(src []byte) ([]byte, error) {
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	if utf8.Valid(src) {
		return src, nil
	}
	good := 0
	for r, size := utf8.DecodeRune(src); r != utf8.RuneError || size > 1; r, size = utf8.DecodeRune(src[good:]) {
		good += size
	}
	line := 1 + bytes.Count(src[:good], []byte("\n"))
	return nil, &syntaxError{position{line: line, column: 1}, "this line is not UTF-8; save the file as UTF-8"}
}

// What is usually wrong where the parser gives one of its errors.
var advice = []struct{ said, so string }{
	{"'\t'", "a tab does not indent in YAML; write spaces"},
	{"tab character", "a tab does not indent in YAML; write spaces"},
	{"value is not allowed in this context", "the keys of one mapping begin in one column, with a space after each colon; quote a text that has a colon and a space in it, or that begins with a bracket, as in \"[::1]:8080\""},
	{"non-map value is specified", "write KEY: VALUE, with a space after the colon"},
	{"',' or '}' must be specified", `between { and } a text with one of { } [ ] , in it needs quotes: match: "GET /items/{id}", url: "${NAME}"`},
	{"',' or ']' must be specified", "between [ and ] a text with one of { } [ ] , in it needs quotes"},
	{"could not find flow map content", "a template ({{ }}) is filled in before whittle reads it; an environment variable is written ${NAME}"},
	{"found unknown escape character", "between \" and \" a backslash begins an escape; put ' and ' around the text"},
	{"found invalid tag character", "tags (!) are not read here; put quotes around a text that begins with !"},
	{"is a reserved character", "put quotes around a text that begins with it"},
}

// advised is what the parser says, with what to do about it where that is known.
func advised(said string) string {
	for _, a := range advice {
		if strings.Contains(said, a.said) {
			return strings.ReplaceAll(said, "\t", `\t`) + ": " + a.so
		}
	}
	return said
}

// Lines that only other languages of configs have.
var (
	assigned = regexp.MustCompile(`^(\[\[?[\w."-]+\]\]?|(export )?[\w.-]+[ \t]*=.*)$`)  // TOML, INI, the shell
	opened   = regexp.MustCompile(`^[^\s"'{}\[\]-][^"'{}\[\]]*[^:\s"'{}\[\]][ \t]+\{$`) // nginx, Caddy, HCL
	ended    = regexp.MustCompile(`^[a-z_]+[ \t]+[^#]*;$`)                              // nginx
	unspaced = regexp.MustCompile(`^[a-z_]+[:：]\S`)
	marked   = regexp.MustCompile(`^<[?!\w]`) // XML
)

// otherLanguage finds the first line of a file that is no config because it is in another
// language; nil: there is none.
func otherLanguage(src []byte) *syntaxError {
	for i, line := range strings.Split(string(src[:min(len(src), 16<<10)]), "\n") {
		var what string
		switch line := strings.TrimSpace(line); {
		case assigned.MatchString(line):
			what = "TOML or INI"
		case opened.MatchString(line), ended.MatchString(line):
			what = "a config of nginx or Caddy"
		case marked.MatchString(line):
			what = "XML"
		case strings.HasPrefix(line, "<<<<<<< "):
			return &syntaxError{position{line: i + 1, column: 1}, "here begins a conflict of a merge: write one of its sides"}
		default:
			continue
		}
		return &syntaxError{position{line: i + 1, column: 1}, "this looks like " + what + ", and a config is YAML: write KEY: VALUE, such as monolith: http://127.0.0.1:3000"}
	}
	return nil
}

func at(t *token.Token) position {
	if t == nil || t.Position == nil {
		return top
	}
	return position{line: max(t.Position.Line, 1), column: max(t.Position.Column, 1)}
}

// positionOf is where a value begins: for a block mapping its first key, which
// its own token (the colon) is not.
func positionOf(n ast.Node) position {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return at(m.Values[0].Key.GetToken())
	}
	if m, ok := n.(*ast.MappingValueNode); ok {
		return at(m.Key.GetToken())
	}
	return at(n.GetToken())
}

func convert(n ast.Node, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, &syntaxError{positionOf(n), fmt.Sprintf("nested deeper than %d levels", maxDepth)}
	}
	switch v := n.(type) {
	case *ast.NullNode:
		return &node{at: positionOf(n)}, nil
	case *ast.MappingNode:
		return convertMapping(n, v.Values, depth)
	case *ast.MappingValueNode:
		return convertMapping(n, []*ast.MappingValueNode{v}, depth)
	case *ast.SequenceNode:
		out := &node{at: positionOf(n), kind: isSequence}
		for _, item := range v.Values {
			if whole := unsplit(item); whole != nil {
				out.items = append(out.items, whole)
				continue
			}
			c, err := convert(item, depth+1)
			if err != nil {
				return nil, err
			}
			out.items = append(out.items, c)
		}
		return out, nil
	case *ast.StringNode:
		t := v.GetToken().Type
		plain := t != token.SingleQuoteType && t != token.DoubleQuoteType
		return &node{at: positionOf(n), kind: isScalar, text: v.Value, plain: plain}, nil
	case *ast.LiteralNode:
		return &node{at: positionOf(n), kind: isScalar, text: v.Value.Value}, nil
	case *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return &node{at: positionOf(n), kind: isScalar, text: n.GetToken().Value, plain: true}, nil
	}
	return nil, &syntaxError{positionOf(n), fmt.Sprintf("a %s has no place in a config", n.Type().YAMLName())}
}

// unsplit puts a plain text of a list together again that the parser has taken for
// a mapping: in {url: [http://10.0.0.1:3000]} it splits at the second colon, though
// what follows is no space (YAML 1.2.2, section 7.3.3). Nil: it is no such text.
func unsplit(n ast.Node) *node {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) == 1 {
		n = m.Values[0]
	}
	pair, ok := n.(*ast.MappingValueNode)
	if !ok {
		return nil
	}
	key, value := pair.Key.GetToken(), pair.Value.GetToken()
	switch pair.Value.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode:
	default:
		return nil
	}
	end := at(pair.GetToken())
	if at(value) != (position{line: end.line, column: end.column + 1}) || value.Type == token.SingleQuoteType || value.Type == token.DoubleQuoteType {
		return nil
	}
	return &node{at: at(key), kind: isScalar, text: key.Value + ":" + value.Value, plain: true}
}

func convertMapping(n ast.Node, values []*ast.MappingValueNode, depth int) (*node, error) {
	out := &node{at: positionOf(n), kind: isMapping}
	for _, v := range values {
		e := entry{key: v.Key.GetToken().Value, at: at(v.Key.GetToken())}
		value, err := convert(v.Value, depth+1)
		if err != nil {
			return nil, err
		}
		e.value = value
		out.entries = append(out.entries, e)
	}
	return out, nil
}
