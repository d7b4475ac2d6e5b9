package expr

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
)

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

// compileSelector makes an extractor of a CSS selector. attr names the attribute to take;
// at is a number from 0, "last" or "random", empty for the first.
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
		if i >= len(found) {
			return Value{}, false
		}
		return capturedText(attribute(found[i], attr))
	}, nil
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
