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
	maxJMXDepth    = 128
	maxJMXElements = 250_000
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
func parseXML(file string, src []byte) *tag {
	decoder := xml.NewDecoder(bytes.NewReader(src))
	decoder.CharsetReader = func(charset string, in io.Reader) (io.Reader, error) {
		switch strings.ToLower(charset) {
		case "utf-8", "utf8", "us-ascii", "ascii":
			return in, nil
		}
		return nil, errors.New("a plan is in UTF-8, not in " + charset)
	}
	position := func() plan.Position {
		line, col := decoder.InputPos()
		return plan.Position{File: file, Line: line, Col: col}
	}
	elements, open := 0, []*tag{{}} // the first holds the root
	texts := [][]byte{nil}          // of the open elements
	for {
		here := position()
		token, err := decoder.Token()
		inner := open[len(open)-1]
		switch token := token.(type) {
		case nil:
			if !errors.Is(err, io.EOF) {
				text := err.Error()
				if e, ok := errors.AsType[*xml.SyntaxError](err); ok {
					text = e.Msg
				}
				panic(position().Invalid("not XML: %s", text))
			}
			panic(here.Invalid("the plan is empty"))
		case xml.Directive:
			panic(here.Errorf(whittle.Unsupported, "a document type or entities of its own are not supported in a plan"))
		case xml.StartElement:
			if len(open) > maxJMXDepth {
				panic(here.Errorf(whittle.ResourceExhausted, "nested deeper than %d", maxJMXDepth))
			}
			t := &tag{name: token.Name.Local, at: here, attributes: make(map[string]string, len(token.Attr))}
			for _, a := range token.Attr {
				t.attributes[a.Name.Local] = a.Value
			}
			if path, ok := t.attributes["reference"]; ok {
				panic(here.Errorf(whittle.Unsupported, "a reference to another element, %s, is not supported: save the plan anew", path))
			}
			if elements++; elements > maxJMXElements {
				panic(here.Errorf(whittle.ResourceExhausted, "more than %d elements", maxJMXElements))
			}
			inner.children, open, texts = append(inner.children, t), append(open, t), append(texts, nil)
		case xml.EndElement:
			last := len(open) - 1
			inner.text = string(texts[last])
			if open, texts = open[:last], texts[:last]; last == 1 {
				return inner
			}
			if last == 2 && inner.name == "hashTree" {
				return open[1] // what follows the tree JMeter does not read
			}
		case xml.CharData:
			texts[len(open)-1] = append(texts[len(open)-1], token...)
		}
	}
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
func testElements(tree *tag) []*element {
	var out []*element
	for i := 0; i < len(tree.children); i++ {
		t := tree.children[i]
		if t.name == "hashTree" {
			panic(t.at.Invalid("a hashTree follows the element that it belongs to; this one follows none"))
		}
		e := &element{tag: t, label: t.attributes["testname"]}
		enabled := t.attributes["enabled"] != "false"
		if i+1 < len(tree.children) && tree.children[i+1].name == "hashTree" {
			if i++; enabled {
				e.below = testElements(tree.children[i])
			}
		}
		if enabled {
			out = append(out, e)
		}
	}
	return out
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
