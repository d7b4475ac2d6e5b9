package jmeter

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"whittle"
	"whittle/load/plan"
)

// Bounds on a JMeter plan, so that one from a stranger cannot exhaust memory.
// XML that names entities of its own is refused, so nothing in it multiplies.
const (
	maxJMXDepth    = 64
	maxJMXElements = 100_000
)

// tag is one XML element with its position in the file.
type tag struct {
	name       string // of the element
	attributes map[string]string
	text       string
	children   []*tag
	at         plan.Position // its position, for errors
}

// parseXML reads a whole document into tags.
func parseXML(file string, src []byte) (*tag, error) {
	p := xmlParser{file: file, decoder: xml.NewDecoder(bytes.NewReader(src))}
	p.decoder.CharsetReader = func(charset string, in io.Reader) (io.Reader, error) {
		switch strings.ToLower(charset) {
		case "utf-8", "utf8", "us-ascii", "ascii":
			return in, nil
		}
		return nil, errors.New("a plan is in UTF-8, not in " + charset)
	}
	root, err := p.document()
	if err != nil {
		return nil, p.located(err)
	}
	return root, nil
}

type xmlParser struct {
	file     string
	decoder  *xml.Decoder
	elements int
	open     []*tag
	line     int // where the present token begins
	col      int
}

// located adds the position to an error of the decoder.
func (p *xmlParser) located(err error) error {
	if _, ok := errors.AsType[*whittle.Error](err); ok {
		return err
	}
	line, col := p.decoder.InputPos()
	text := err.Error()
	if e, ok := errors.AsType[*xml.SyntaxError](err); ok {
		text = e.Msg
	}
	return plan.Position{File: p.file, Line: line, Col: col}.Invalid("not XML: %s", text)
}

func (p *xmlParser) here() plan.Position {
	return plan.Position{File: p.file, Line: p.line, Col: p.col}
}

func (p *xmlParser) document() (*tag, error) {
	var root *tag
	for {
		p.line, p.col = p.decoder.InputPos()
		token, err := p.decoder.Token()
		if errors.Is(err, io.EOF) {
			if root == nil {
				return nil, p.here().Invalid("the plan is empty")
			}
			return root, nil
		}
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.Directive:
			return nil, p.here().Errorf(whittle.Unsupported, "a document type or entities of its own are not supported in a plan")
		case xml.StartElement:
			t, err := p.begin(token)
			if err != nil {
				return nil, err
			}
			if len(p.open) == 0 {
				if root != nil {
					return nil, t.at.Invalid("a plan is one XML element")
				}
				root = t
			} else {
				parent := p.open[len(p.open)-1]
				parent.children = append(parent.children, t)
			}
			p.open = append(p.open, t)
		case xml.EndElement:
			p.open = p.open[:len(p.open)-1]
		case xml.CharData:
			if n := len(p.open); n > 0 {
				p.open[n-1].text += string(token)
			}
		}
	}
}

func (p *xmlParser) begin(e xml.StartElement) (*tag, error) {
	t := &tag{name: e.Name.Local, at: p.here()}
	if p.elements++; p.elements > maxJMXElements {
		return nil, t.at.Errorf(whittle.ResourceExhausted, "more than %d elements", maxJMXElements)
	}
	if len(p.open) >= maxJMXDepth {
		return nil, t.at.Errorf(whittle.ResourceExhausted, "nested deeper than %d", maxJMXDepth)
	}
	if len(e.Attr) > 0 {
		t.attributes = make(map[string]string, len(e.Attr))
		for _, a := range e.Attr {
			t.attributes[a.Name.Local] = a.Value
		}
	}
	return t, nil
}

// element is a test element of a JMeter plan: an XML element with its
// properties, and what is below it in the hashTree that follows it.
type element struct {
	*tag
	label string // its testname
	below []*element
}

// testElements pairs what is in a hashTree: each element with the hashTree after
// it. Disabled ones are left out with everything below them.
func testElements(tree *tag) ([]*element, error) {
	var out []*element
	for i := 0; i < len(tree.children); i++ {
		t := tree.children[i]
		if t.name == "hashTree" {
			return nil, t.at.Invalid("a hashTree follows the element that it belongs to; this one follows none")
		}
		e := &element{tag: t, label: t.attributes["testname"]}
		var below *tag
		if i+1 < len(tree.children) && tree.children[i+1].name == "hashTree" {
			i++
			below = tree.children[i]
		}
		if t.attributes["enabled"] == "false" {
			continue
		}
		if below != nil {
			var err error
			if e.below, err = testElements(below); err != nil {
				return nil, err
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// prop finds a property by its name, nil where it is absent. Beans write theirs
// as stringProp, others as boolProp, intProp and so on: the name decides.
func (t *tag) prop(name string) *tag {
	for _, c := range t.children {
		if c.property() == name {
			return c
		}
	}
	return nil
}

// property is the name of the property that an element is. The numbers with a
// fraction that beans write have name and value in children:
// <doubleProp><name>…</name><value>…</value></doubleProp>.
func (t *tag) property() string {
	if name, ok := t.attributes["name"]; ok {
		return name
	}
	return strings.TrimSpace(t.child("name"))
}

// content is the text of the property that an element is.
func (t *tag) content() string {
	if _, ok := t.attributes["name"]; !ok && len(t.children) > 0 {
		return t.child("value")
	}
	return t.text
}

// child is the text of the first child of that name, empty where there is none.
func (t *tag) child(name string) string {
	for _, c := range t.children {
		if c.name == name {
			return c.text
		}
	}
	return ""
}

// value is a property's text, empty where it is absent.
func (t *tag) value(name string) string {
	if p := t.prop(name); p != nil {
		return p.content()
	}
	return ""
}

// is reports whether a property is "true".
func (t *tag) is(name string) bool { return strings.TrimSpace(t.value(name)) == "true" }

// where is the position of a property, or the element's own where it is absent.
func (t *tag) where(name string) plan.Position {
	if p := t.prop(name); p != nil {
		return p.at
	}
	return t.at
}

// title names an element in messages: HTTPSamplerProxy "Home page".
func (e *element) title() string {
	if e.label == "" {
		return e.name
	}
	return fmt.Sprintf("%s %.60q", e.name, e.label)
}
