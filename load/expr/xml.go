package expr

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"

	"whittle/internal/units"

	"github.com/andybalholm/cascadia"
	"github.com/antchfx/xpath"
	"golang.org/x/net/html"
)

// MaxXMLDepth is how deeply elements may lie within each other: the evaluation
// of an XPath descends once for each level.
const MaxXMLDepth = 512

var errTooMuchXML = errors.New("more XML than is read")

// XMLNode is a node of an XML document, with the links that XPath walks.
type XMLNode struct {
	kind               xpath.NodeType
	prefix, local      string
	text               string // of a text, a comment or an attribute
	attributes         []*XMLNode
	parent, firstChild *XMLNode
	prev, next         *XMLNode
	lastChild          *XMLNode // child
}

func (m *XMLNode) add(c *XMLNode) {
	c.parent, c.prev = m, m.lastChild
	if m.lastChild == nil {
		m.firstChild = c
	} else {
		m.lastChild.next = c
	}
	m.lastChild = c
}

// ParseXML reads XML: as it comes, without external entities, bounded in
// number and depth of its nodes.
func ParseXML(text string) (*XMLNode, error) {
	dec := xml.NewDecoder(strings.NewReader(text))
	dec.Strict, dec.Entity = false, xml.HTMLEntity
	dec.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	root := &XMLNode{kind: xpath.RootNode}
	at, depth, elements := root, 0, 0
	for count := 0; ; count++ {
		token, err := dec.RawToken()
		if errors.Is(err, io.EOF) {
			if elements == 0 {
				return nil, io.ErrUnexpectedEOF
			}
			return root, nil
		}
		if err != nil {
			return nil, err
		}
		if count > MaxDocuments || depth > MaxXMLDepth {
			return nil, errTooMuchXML
		}
		switch t := token.(type) {
		case xml.StartElement:
			e := &XMLNode{kind: xpath.ElementNode, prefix: t.Name.Space, local: t.Name.Local}
			for _, a := range t.Attr {
				count++
				e.attributes = append(e.attributes, &XMLNode{
					kind: xpath.AttributeNode, prefix: a.Name.Space, local: a.Name.Local, text: a.Value, parent: e,
				})
			}
			at.add(e)
			at, depth, elements = e, depth+1, elements+1
		case xml.EndElement:
			if at == root || at.local != t.Name.Local {
				return nil, fmt.Errorf("</%s> ends nothing", t.Name.Local)
			}
			at, depth = at.parent, depth-1
		case xml.CharData:
			at.add(&XMLNode{kind: xpath.TextNode, text: string(t)})
		case xml.Comment:
			at.add(&XMLNode{kind: xpath.CommentNode, text: string(t)})
		}
	}
}

// content is the text of a node and of all that is in it.
func (m *XMLNode) content() string {
	if m.kind != xpath.ElementNode && m.kind != xpath.RootNode {
		return m.text
	}
	var b strings.Builder
	var walk func(*XMLNode)
	walk = func(m *XMLNode) {
		for c := m.firstChild; c != nil; c = c.next {
			if c.kind == xpath.TextNode {
				b.WriteString(c.text)
			}
			walk(c)
		}
	}
	walk(m)
	return b.String()
}

// cursor walks a markup for XPath.
type cursor struct {
	root, at *XMLNode
	// attribute is the index of the attribute the cursor stands on, −1 for the
	// element itself.
	attribute int
}

func newCursor(root *XMLNode) *cursor { return &cursor{root, root, -1} }

func (c *cursor) node() *XMLNode {
	if c.attribute >= 0 {
		return c.at.attributes[c.attribute]
	}
	return c.at
}

// The following are xpath.NodeNavigator.

func (c *cursor) NodeType() xpath.NodeType { return c.node().kind }
func (c *cursor) LocalName() string        { return c.node().local }
func (c *cursor) Prefix() string           { return c.node().prefix }
func (c *cursor) Value() string            { return c.node().content() }

func (c *cursor) Copy() xpath.NodeNavigator {
	d := *c
	return &d
}

func (c *cursor) MoveToRoot() { c.at, c.attribute = c.root, -1 }

func (c *cursor) to(m *XMLNode) bool {
	if m == nil {
		return false
	}
	c.at = m
	return true
}

func (c *cursor) MoveToParent() bool {
	if c.attribute >= 0 {
		c.attribute = -1
		return true
	}
	return c.to(c.at.parent)
}

func (c *cursor) MoveToNextAttribute() bool {
	if c.attribute+1 >= len(c.at.attributes) {
		return false
	}
	c.attribute++
	return true
}

func (c *cursor) MoveToChild() bool    { return c.attribute < 0 && c.to(c.at.firstChild) }
func (c *cursor) MoveToNext() bool     { return c.attribute < 0 && c.to(c.at.next) }
func (c *cursor) MoveToPrevious() bool { return c.attribute < 0 && c.to(c.at.prev) }

func (c *cursor) MoveToFirst() bool {
	if c.attribute >= 0 || c.at.prev == nil {
		return false
	}
	return c.to(c.at.parent.firstChild)
}

func (c *cursor) MoveTo(other xpath.NodeNavigator) bool {
	o, ok := other.(*cursor)
	if !ok || o.root != c.root {
		return false
	}
	*c = *o
	return true
}

// compileXPath reads an XPath 1.0 expression. What it makes evaluates that on a tree and
// takes what it comes to: a text, a number, a truth value, or nodes, one after the other as
// long as more are wanted. False: there is no tree, or the library fails.
//
// The library panics on what it does not understand, and keeps its place within the
// compiled expression, so each that evaluates it has one to itself for the time.
func compileXPath(expr string) (each func(tree *XMLNode, take func(found any) (more bool)) bool, err error) {
	if len(expr) > maxPathBytes {
		return nil, fmt.Errorf("longer than %d bytes", maxPathBytes)
	}
	defer func() {
		if e := recover(); e != nil {
			each, err = nil, fmt.Errorf("%v", e)
		}
	}()
	compiled, err := xpath.Compile(expr)
	if err != nil {
		return nil, err
	}
	free := sync.Pool{New: func() any { return xpath.MustCompile(expr) }}
	free.Put(compiled)
	return func(tree *XMLNode, take func(any) bool) (ok bool) {
		if tree == nil {
			return false
		}
		defer func() { ok = recover() == nil }() // a function of the library's was given what it cannot take
		own := free.Get().(*xpath.Expr)
		switch found := own.Evaluate(newCursor(tree)).(type) {
		case *xpath.NodeIterator:
			for found.MoveNext() && take(found.Current().(*cursor).node()) {
			}
		default:
			take(found)
		}
		free.Put(own)
		return true
	}, nil
}

// extractXPath makes an extractor of the first that an expression leads to.
func extractXPath(expr string) (Extractor, error) {
	each, err := compileXPath(expr)
	return func(a *Response) (v Value, found bool) {
		ok := each(a.xml(), func(x any) bool {
			switch x := x.(type) {
			case *XMLNode:
				v, found = capturedText(x.content())
			case string:
				v, found = capturedText(x)
			case float64:
				s := units.Plain(x)
				v, found = Value{Text: s, JSON: s}, !math.IsNaN(x)
			case bool:
				s := strconv.FormatBool(x)
				v, found = Value{Text: s, JSON: s}, true
			}
			return false
		})
		return v, ok && found
	}, err
}

// compileSelection reads a CSS selector. What it makes lists the elements that are selected.
func compileSelection(expr string) (func(*Response) []*html.Node, error) {
	if len(expr) > maxPathBytes {
		return nil, fmt.Errorf("longer than %d bytes", maxPathBytes)
	}
	sel, err := cascadia.ParseGroup(expr)
	return func(a *Response) []*html.Node {
		if page := a.html(); page != nil {
			return cascadia.QueryAll(page, sel)
		}
		return nil
	}, err
}

// compileSelector makes an extractor of a CSS selector. attr names the attribute to take,
// empty for the text; at is a number from 0, "last" or "random", empty for the first.
func compileSelector(expr, attr, at string) (Extractor, error) {
	selected, err := compileSelection(expr)
	if err != nil {
		return nil, err
	}
	index := 0
	if at != "" && at != "last" && at != "random" {
		if index, err = strconv.Atoi(at); err != nil || index < 0 {
			return nil, fmt.Errorf("the index %s is not a number from 0, last or random", at)
		}
	}
	return func(a *Response) (Value, bool) {
		found, i := selected(a), index
		switch {
		case len(found) == 0:
		case at == "last":
			i = len(found) - 1
		case at == "random":
			i = a.Scope.RNG.IntN(len(found))
		}
		switch {
		case i >= len(found):
			return Value{}, false
		case attr == "":
			return capturedText(pageText(found[i]))
		}
		return capturedText(attribute(found[i], attr))
	}, nil
}

// pageText is the text of an element and of all that is in it.
func pageText(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}
