package expr

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/antchfx/xpath"
	"golang.org/x/net/html"

	"whittle/internal/units"
)

// XPathList finds all that an XPath 1.0 expression leads to, as texts.
type XPathList struct {
	// Page reads the body as a browser reads HTML, not as XML.
	Page bool
	// Markup gives elements as they are written, not their text.
	Markup bool
	// Named gives attributes as they are written, with their names.
	Named bool
}

// LeadsNowhere reports whether an XPath is a number or a text, whatever it is evaluated on.
func LeadsNowhere(expr string) (nowhere bool) {
	each, err := compileXPath(expr)
	return err == nil && each(&XMLNode{kind: xpath.RootNode}, func(found any) bool {
		switch found.(type) {
		case string, float64:
			nowhere = true
		}
		return false
	}) && nowhere
}

// Reads reports whether a response is what expressions can be evaluated on.
func (l XPathList) Reads(a *Response) bool { return l.tree(a) != nil }

func (l XPathList) tree(a *Response) *XMLNode {
	if l.Page {
		return pageTree(a.html())
	}
	return a.xml()
}

// Compile reads an expression.
func (l XPathList) Compile(expr string) (find func(*Response) []string, err error) {
	each, err := compileXPath(expr)
	return func(a *Response) (out []string) {
		ok := each(l.tree(a), func(found any) bool {
			out = append(out, l.text(found))
			return len(out) < MaxMatches
		})
		if !ok {
			return nil
		}
		return out
	}, err
}

// text is one of what an expression comes to, as a text.
func (l XPathList) text(found any) string {
	switch found := found.(type) {
	case float64:
		return units.Plain(found)
	case *XMLNode:
		var b strings.Builder
		switch {
		case l.Markup && found.kind == xpath.ElementNode:
			found.write(&b)
		case l.Named && found.kind == xpath.AttributeNode:
			found.writeAttribute(&b)
		default:
			return found.content()
		}
		return b.String()
	}
	return fmt.Sprint(found) // a text or a truth value
}

var escapeText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// write writes an element with all that is in it.
func (m *XMLNode) write(b *strings.Builder) {
	name := m.local
	if m.prefix != "" {
		name = m.prefix + ":" + name
	}
	switch m.kind {
	case xpath.TextNode:
		b.WriteString(escapeText.Replace(m.text))
		return
	case xpath.ElementNode:
	default:
		return
	}
	b.WriteString("<" + name)
	for _, a := range m.attributes {
		b.WriteByte(' ')
		a.writeAttribute(b)
	}
	if m.firstChild == nil {
		b.WriteString("/>")
		return
	}
	b.WriteString(">")
	for c := m.firstChild; c != nil; c = c.next {
		c.write(b)
	}
	b.WriteString("</" + name + ">")
}

// writeAttribute writes an attribute with its name.
func (m *XMLNode) writeAttribute(b *strings.Builder) {
	if m.prefix != "" {
		b.WriteString(m.prefix + ":")
	}
	b.WriteString(m.local + `="` + strings.ReplaceAll(escapeText.Replace(m.text), `"`, "&quot;") + `"`)
}

// pageTree is a page as XPath walks it; nil where it is too deep or too large.
func pageTree(page *html.Node) *XMLNode {
	if page == nil {
		return nil
	}
	root, count := &XMLNode{kind: xpath.RootNode}, 0
	var walk func(from *html.Node, to *XMLNode, depth int) bool
	walk = func(from *html.Node, to *XMLNode, depth int) bool {
		for c := range from.ChildNodes() {
			if count++; count > MaxDocuments || depth > MaxXMLDepth {
				return false
			}
			switch c.Type {
			case html.TextNode:
				to.add(&XMLNode{kind: xpath.TextNode, text: c.Data})
			case html.ElementNode:
				e := &XMLNode{kind: xpath.ElementNode, local: c.Data}
				for _, a := range c.Attr {
					e.attributes = append(e.attributes, &XMLNode{kind: xpath.AttributeNode, local: a.Key, text: a.Val, parent: e})
				}
				to.add(e)
				if !walk(c, e, depth+1) {
					return false
				}
			default:
			}
		}
		return true
	}
	if !walk(page, root, 0) {
		return nil
	}
	return root
}

// CompileSelectorList reads a CSS selector. The function finds the texts of what it
// selects or, where one is given, an attribute of each that has it.
func CompileSelectorList(expr, attr string) (func(*Response) []string, error) {
	selected, err := compileSelection(expr)
	return func(a *Response) (out []string) {
		for _, n := range selected(a) {
			if len(out) >= MaxMatches {
				break
			}
			text := shownText(n)
			if attr != "" {
				text = attribute(n, attr)
			}
			out = append(out, text)
		}
		return out
	}, err
}

// blocks are the elements whose text stands apart from what is around them.
var blocks = map[string]bool{
	"html": true, "head": true, "body": true, "section": true, "nav": true, "aside": true, "header": true, "footer": true, "p": true, "h1": true, "h2": true,
	"h3": true, "h4": true, "h5": true, "h6": true, "ul": true, "ol": true, "pre": true, "div": true, "blockquote": true, "hr": true, "address": true,
	"figure": true, "figcaption": true, "form": true, "fieldset": true, "dl": true, "dt": true, "dd": true, "li": true, "table": true, "caption": true,
	"thead": true, "tfoot": true, "tbody": true, "tr": true, "th": true, "td": true, "article": true, "main": true, "details": true, "br": true, "title": true,
}

// shownText is an element's text, its spaces as one, and one between blocks.
func shownText(n *html.Node) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
		apart := n.Type == html.ElementNode && blocks[n.Data]
		if apart {
			b.WriteByte(' ')
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
		if apart {
			b.WriteByte(' ')
		}
	}
	walk(n)
	return strings.Join(strings.Fields(b.String()), " ")
}

// attribute is an element's attribute, empty where it has none of the name.
func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if strings.EqualFold(a.Key, name) {
			return a.Val
		}
	}
	return ""
}

// resourceAttributes are those whose URLs a browser fetches, by elements, whatever else
// these have.
var resourceAttributes = map[string][]string{
	"img": {"src"}, "script": {"src"}, "frame": {"src"}, "iframe": {"src"}, "embed": {"src"}, "bgsound": {"src"}, "applet": {"code"}, "object": {"data", "codebase"},
}

// MaxResources bounds what is fetched of one page.
const MaxResources = 500

// Resources lists the URLs of what a browser fetches with a page: images, style
// sheets, scripts, frames and the like, each once, in the page's order.
func (r *Response) Resources(base string) []string {
	from, err := url.Parse(base)
	page := r.html()
	if err != nil || page == nil || !strings.Contains(r.Header("content-type"), "html") {
		return nil
	}
	var out []string
	known := map[string]bool{}
	add := func(text string) {
		to, err := from.Parse(strings.TrimSpace(text))
		if err != nil || text == "" || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" || len(out) >= MaxResources {
			return
		}
		to.Fragment = ""
		if at := to.String(); !known[at] {
			known[at] = true
			out = append(out, at)
		}
	}
	for n := range page.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "base":
			if to, err := from.Parse(attribute(n, "href")); err == nil && attribute(n, "href") != "" {
				from = to
			}
		case "input":
			if strings.EqualFold(attribute(n, "type"), "image") {
				add(attribute(n, "src"))
			}
		case "link":
			if rel := strings.ToLower(attribute(n, "rel")); rel == "stylesheet" || rel == "icon" || rel == "shortcut icon" {
				add(attribute(n, "href"))
			}
		}
		for _, name := range resourceAttributes[n.Data] {
			add(attribute(n, name))
		}
		add(attribute(n, "background"))
	}
	return out
}
