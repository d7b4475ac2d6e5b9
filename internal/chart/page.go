package chart

import (
	_ "embed"
	"io"
	"strings"
	"text/template"
)

//go:embed page.css
var style string

//go:embed page.html
var pageSource string

// Page is one self-contained HTML file.
type Page struct {
	Title string
	// Lead is the page's message in a sentence or two.
	Lead     string
	Sections []Section
	// Footer says how the page came to be.
	Footer string
}

// Section is a heading with what belongs to it, shown in this order.
type Section struct {
	Title      string
	Paragraphs []string
	// Facts are the figures worth a large print.
	Facts   []Fact
	Tables  []Table
	Figures []Figure
}

// Fact is one figure in large print.
type Fact struct {
	Value, Label string
	// Tone colours it.
	Tone Tone
}

// Tone reports whether something is as it should be; it is never shown by colour
// alone.
type Tone uint8

// The tones.
const (
	Plain Tone = iota
	Good
	Bad
)

func (t Tone) class() string { return [...]string{"plain", "good", "bad"}[min(t, Bad)] }

// Table is text in rows and columns. Cells that look like numbers stand to the
// right.
type Table struct {
	Caption string
	Head    []string
	Rows    [][]string
}

// pageTemplate is the page with its sections, tables and figures.
var pageTemplate = template.Must(template.New("").Funcs(template.FuncMap{
	"esc": esc, "class": Tone.class, "align": (*Table).align,
	"style":   func() string { return style },
	"picture": func(f Figure) string { return f.svg }, "figures": func(f Figure) *Table { return f.table },
}).Parse(pageSource))

// WriteHTML writes the page. Every text is escaped.
func (p *Page) WriteHTML(w io.Writer) error {
	var b strings.Builder
	if err := pageTemplate.Execute(&b, p); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// longestNumber is the length from which on a cell is text, in bytes: a number
// with its unit and its interval is shorter.
const longestNumber = 40

// align stands a column to the right where all its cells begin like numbers.
func (t *Table) align(col int) string {
	seen := false
	for _, r := range t.Rows {
		if col >= len(r) || r[col] == "" || r[col] == "–" {
			continue
		}
		if len(r[col]) > longestNumber {
			return "" // a sentence that begins with a number
		}
		if !strings.ContainsAny(r[col][:1], "0123456789+-.") && !strings.HasPrefix(r[col], "−") {
			return ""
		}
		seen = true
	}
	if !seen || col == 0 {
		return ""
	}
	return ` class="n"`
}

// SVG returns the picture with its legend, as HTML that needs the page's style.
func (f *Figure) SVG() string { return f.svg }
