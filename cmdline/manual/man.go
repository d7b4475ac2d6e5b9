package manual

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// Man writes the program's page for section 1: what it is, then each verb with its flags
// and examples. The version and the date stand in its header; no date, none.
func Man(w io.Writer, app *kong.Application, version, date string) error {
	root := read(app.Node, nil)
	var b strings.Builder
	name := app.Name
	fmt.Fprintf(&b, ".TH %s 1 %s %s\n", strings.ToUpper(name), `"`+date+`"`, macro(version))
	summary, rest, _ := strings.Cut(app.Help, "\n")
	summary = strings.TrimPrefix(summary, name+" ")
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", name, roff(firstSentence(summary)))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n.I verb\n[\\fIflags\\fR] [\\fIarguments\\fR]\n", name)
	b.WriteString(".SH DESCRIPTION\n")
	prose(&b, rest)
	b.WriteString(".SH VERBS\n")
	root.all(func(v *verb) {
		if len(v.words) > 0 {
			section(&b, name, v)
		}
	})
	_, err := io.WriteString(w, b.String())
	return err
}

func section(b *strings.Builder, name string, v *verb) {
	title := name + " " + v.path()
	for _, a := range v.args {
		title += " " + a.Summary()
	}
	fmt.Fprintf(b, ".SS %s\n", macro(title))
	prose(b, v.help)
	prose(b, v.detail)
	for _, f := range v.flags {
		if f.Name == "help" {
			continue
		}
		b.WriteString(".TP\n")
		head := `\fB` + roff(strings.Join(names(f), ", ")) + `\fR`
		if takesValue(f) {
			head += `=\fI` + roff(f.FormatPlaceHolder()) + `\fR`
		}
		help := f.Help
		for _, e := range f.Envs {
			help += " Environment: " + e + "."
		}
		fmt.Fprintf(b, "%s\n%s\n", head, line(help))
	}
}

// prose writes paragraphs; lines that are indented stay lines.
func prose(b *strings.Builder, text string) {
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		block = strings.Trim(block, "\n")
		if block == "" {
			continue
		}
		if !afterHeading(b.String()) {
			b.WriteString(".PP\n")
		}
		listing := false
		for l := range strings.SplitSeq(block, "\n") {
			indented := strings.HasPrefix(l, "  ")
			if indented != listing {
				b.WriteString(map[bool]string{true: ".RS 4\n.nf\n", false: ".fi\n.RE\n"}[indented])
				listing = indented
			}
			b.WriteString(line(strings.TrimPrefix(l, "  ")) + "\n")
		}
		if listing {
			b.WriteString(".fi\n.RE\n")
		}
	}
}

// afterHeading reports whether a heading is the last line.
func afterHeading(page string) bool {
	page = strings.TrimSuffix(page, "\n")
	return strings.HasPrefix(page[strings.LastIndexByte(page, '\n')+1:], ".S")
}

// roff is a text in which nothing means anything to roff.
func roff(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, `"`, `\(dq`).Replace(s)
}

// line is a text that stands at the beginning of a line, where a dot would be a macro.
func line(s string) string {
	s = roff(strings.ReplaceAll(s, "\n", " "))
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}

// macro is an argument of a macro.
func macro(s string) string { return `"` + roff(s) + `"` }
