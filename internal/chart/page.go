package chart

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
)

//go:embed page.css
var style string

// Page is one self-contained HTML file.
type Page struct {
	Title string
	// Lead is the page's message in a sentence or two.
	Lead     string
	Sections []Section
	// Footer says how the page came to be.
	Footer string
	// Script and Style are of the program's own, not of anything that was
	// measured: they go into the page as they are, and the page's policy allows
	// this script alone, by its hash.
	Script, Style string
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

// policy forbids any request, and any script but the page's own.
func (p *Page) policy() string {
	scripts := ""
	if p.Script != "" {
		hash := sha256.Sum256([]byte(p.Script))
		scripts = fmt.Sprintf("script-src 'sha256-%s'; ", base64.StdEncoding.EncodeToString(hash[:]))
	}
	return "default-src 'none'; " + scripts + "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
}

// WriteHTML writes the page. Every text is escaped.
func (p *Page) WriteHTML(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer"><title>%s</title>
<style>
%s%s</style></head>
<body><main>
<header><h1>%s</h1>`, p.policy(), esc(p.Title), style, p.Style, esc(p.Title))
	if p.Lead != "" {
		fmt.Fprintf(&b, `<p class="lead">%s</p>`, esc(p.Lead))
	}
	b.WriteString("</header>\n")
	for i := range p.Sections {
		p.Sections[i].write(&b)
	}
	if p.Footer != "" {
		fmt.Fprintf(&b, "<footer>%s</footer>\n", esc(p.Footer))
	}
	b.WriteString("</main>")
	if p.Script != "" {
		fmt.Fprintf(&b, "<script>%s</script>", p.Script)
	}
	b.WriteString("</body></html>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (s *Section) write(b *strings.Builder) {
	b.WriteString("<section>")
	if s.Title != "" {
		fmt.Fprintf(b, "<h2>%s</h2>\n", esc(s.Title))
	}
	for _, p := range s.Paragraphs {
		fmt.Fprintf(b, "<p>%s</p>\n", esc(p))
	}
	if len(s.Facts) > 0 {
		b.WriteString(`<dl class="facts">`)
		for _, f := range s.Facts {
			fmt.Fprintf(b, `<div class="%s"><dt>%s</dt><dd>%s</dd></div>`, f.Tone.class(), esc(f.Label), esc(f.Value))
		}
		b.WriteString("</dl>\n")
	}
	for i := range s.Tables {
		s.Tables[i].write(b)
	}
	for i := range s.Figures {
		s.Figures[i].write(b)
	}
	b.WriteString("</section>\n")
}

func (t *Table) write(b *strings.Builder) {
	// A wide table scrolls by itself, and can be reached by keyboard to do so.
	b.WriteString(`<div class="scroll" tabindex="0"><table>`)
	if t.Caption != "" {
		fmt.Fprintf(b, "<caption>%s</caption>", esc(t.Caption))
	}
	if len(t.Head) > 0 {
		b.WriteString("<thead><tr>")
		for i, h := range t.Head {
			fmt.Fprintf(b, `<th scope="col"%s>%s</th>`, t.align(i), esc(h))
		}
		b.WriteString("</tr></thead>")
	}
	b.WriteString("<tbody>")
	for _, row := range t.Rows {
		b.WriteString("<tr>")
		for i, c := range row {
			if i == 0 {
				fmt.Fprintf(b, `<th scope="row">%s</th>`, esc(c))
				continue
			}
			fmt.Fprintf(b, "<td%s>%s</td>", t.align(i), esc(c))
		}
		b.WriteString("</tr>")
	}
	b.WriteString("</tbody></table></div>\n")
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

func (f *Figure) write(b *strings.Builder) {
	fmt.Fprintf(b, "<figure><figcaption><strong>%s</strong>", esc(f.Title))
	if f.Caption != "" {
		fmt.Fprintf(b, " <span>%s</span>", esc(f.Caption))
	}
	b.WriteString("</figcaption>")
	b.WriteString(f.svg)
	if f.table != nil && len(f.table.Rows) > 0 {
		b.WriteString("<details><summary>The figures as a table</summary>")
		f.table.write(b)
		b.WriteString("</details>")
	}
	b.WriteString("</figure>\n")
}

// Markup is a figure of HTML made elsewhere, for a page's Script. Its maker has
// escaped what was measured.
func Markup(title, caption, html string) Figure {
	return Figure{Title: title, Caption: caption, svg: html}
}

// SVG returns the picture with its legend, as HTML that needs the page's style.
func (f *Figure) SVG() string { return f.svg }
