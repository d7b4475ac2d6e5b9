package jmeter

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"whittle"
	"whittle/load/plan"
)

// Bounds on a JMeter plan, so that one from a stranger cannot exhaust memory.
// XML that names entities of its own is refused, so nothing in it multiplies.
const (
	maxJMXDepth    = 128
	maxJMXElements = 1_000_000
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
	src, restore := withoutControls(src)
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
				t.attributes[a.Name.Local] = restore(a.Value)
			}
			if path, ok := t.attributes["reference"]; ok {
				if of := referenced(open, path); of != nil {
					t.attributes, t.text, t.children = of.attributes, of.text, slices.Clip(of.children)
					elements += of.size()
				}
			}
			if elements++; elements > maxJMXElements {
				panic(here.Errorf(whittle.ResourceExhausted, "more than %d elements", maxJMXElements))
			}
			inner.children, open, texts = append(inner.children, t), append(open, t), append(texts, []byte(t.text))
		case xml.EndElement:
			last := len(open) - 1
			inner.text = restore(string(texts[last]))
			if open, texts = open[:last], texts[:last]; last == 1 {
				return inner // what follows the plan's end JMeter does not read
			}
		case xml.CharData:
			texts[len(open)-1] = append(texts[len(open)-1], token...)
		}
	}
}

// referenced finds what an element of that path stands for: XStream writes a thing once,
// and where it comes again how to go there, such as ../../stringProp[2]. nil where there
// is none, or one that is not read whole.
func referenced(open []*tag, path string) *tag {
	at := len(open)
	var found *tag
	for step := range strings.SplitSeq(path, "/") {
		if step == ".." && found == nil {
			if at--; at < 1 {
				return nil
			}
			continue
		}
		if found == nil && at < len(open) {
			found = open[at]
		}
		name, index, _ := strings.Cut(strings.TrimSuffix(step, "]"), "[")
		nth, err := strconv.Atoi(cmp.Or(index, "1"))
		if err != nil || found == nil {
			return nil
		}
		if found = found.nth(name, nth); found == nil {
			return nil
		}
	}
	if slices.Contains(open, found) {
		return nil
	}
	return found
}

// nth is the nth child of a name, from 1; nil where there are fewer.
func (t *tag) nth(name string, n int) *tag {
	for _, c := range t.children {
		if c.name == name {
			if n--; n == 0 {
				return c
			}
		}
	}
	return nil
}

// size is how many elements there are within one, at most one more than a plan may have.
func (t *tag) size() (n int) {
	for _, c := range t.children {
		if n += 1 + c.size(); n > maxJMXElements {
			break
		}
	}
	return n
}

// controls are references to control characters, which JMeter reads and XML has not.
var controls = regexp.MustCompile(`&#(?:x0*(1?[0-8bBcCeEfF]|1[0-9a-fA-F])|0*([0-8]|1[124-9]|2[0-9]|3[01]));`)

// private is a character that stands for the control character 0 meanwhile.
const private = 0xf800

// withoutControls writes others in place of control characters; restore takes that back.
func withoutControls(src []byte) (out []byte, restore func(string) string) {
	if !controls.Match(src) {
		return src, func(text string) string { return text }
	}
	out = controls.ReplaceAllFunc(src, func(reference []byte) []byte {
		digits, base := strings.TrimSuffix(strings.TrimPrefix(string(reference), "&#"), ";"), 10
		if strings.HasPrefix(digits, "x") {
			digits, base = digits[1:], 16
		}
		n, err := strconv.ParseUint(digits, base, 8)
		if err != nil || n >= ' ' || n == '\t' || n == '\n' || n == '\r' {
			return reference
		}
		return []byte(string(rune(private + n)))
	})
	return out, func(text string) string {
		return strings.Map(func(r rune) rune {
			if r >= private && r < private+' ' {
				return r - private
			}
			return r
		}, text)
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
