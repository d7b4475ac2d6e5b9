package scaffold

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"whittle/contract"
)

// contractPage is CONTRACT.md: what was inferred, how sure it is, and why.
func (v *view) contractPage() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# The contract of %s\n\nMade of %s. Each guess below is what the exchanges suggest and do not prove, with its evidence: read them "+
		"before you rely on them. Where you know better, change `proto/%s` and `make generate`: from then on the contract is yours, and `whittle new` leaves it and all that is generated from it alone.\n",
		v.FullService, v.Source, v.Contract.FileName())
	guesses(&b, v.Contract.Guesses)
	for i := range v.Methods {
		v.methodPage(&b, &v.Methods[i])
	}
	return []byte(b.String())
}

func (v *view) methodPage(b *strings.Builder, m *method) {
	fmt.Fprintf(b, "\n## %s: `%s %s`\n\n", m.Name, m.HTTP.Method, m.HTTP.Pattern)
	if m.Seen > 0 {
		fmt.Fprintf(b, "Seen in %s.\n\n", contract.Count(m.Seen, "exchange"))
	} else {
		b.WriteString("From a document; no exchange was seen.\n\n")
	}
	if s := v.samples[m.Proto]; s != nil {
		fmt.Fprintf(b, "`make test` asks %s, `load.yaml` %d of them. Other inputs are not tested.\n\n", s.coverage, s.planned.Covered)
	}
	b.WriteString("| | |\n|---|---|\n")
	fmt.Fprintf(b, "| request | `%s`%s |\n", m.Input, bodyWords(&m.HTTP.Body))
	fmt.Fprintf(b, "| response | `%s`: %d %s%s |\n", m.Output, m.HTTP.Response.Status, cell(m.HTTP.Response.ContentType), responseWords(&m.HTTP.Response))
	for _, l := range []struct{ name, text string }{
		{"null where unset", strings.Join(m.HTTP.Response.Unset.Nulls, ", ")},
		{"left out where empty", strings.Join(m.HTTP.Response.Unset.Omits, ", ")},
		{"compare", string(m.Compare.Kind)},
		{"value", m.Compare.Value},
		{"per", m.Compare.Per},
		{"differs by itself", strings.Join(m.Compare.NotCompared(), ", ")},
		{"in any order", strings.Join(m.Compare.Unordered, ", ")},
	} {
		if l.text != "" {
			fmt.Fprintf(b, "| %s | `%s` |\n", l.name, cell(l.text))
		}
	}
	failures := slices.SortedFunc(slices.Values(m.Failures), func(a, b contract.Failure) int { return cmp.Compare(a.Status, b.Status) })
	for _, f := range failures {
		of := strings.TrimSpace(fmt.Sprint(f.Status, " ", cell(f.ContentType)))
		if f.Count > 0 { // those of a document were not counted
			of += ", in " + contract.Count(f.Count, "exchange")
		}
		fmt.Fprintf(b, "| failure | %s; it comes back word for word |\n", of)
	}
	guesses(b, m.Guesses)
}

func bodyWords(body *contract.Body) string {
	switch body.Form {
	case contract.Whole:
		return fmt.Sprintf("; the body is the field `%s`", body.Field)
	case contract.Text:
		return fmt.Sprintf("; the body is a text, the field `%s`", body.Field)
	case contract.Form:
		return "; the body is a form"
	case contract.Object:
		return "; the body is a JSON object"
	}
	return "; no body"
}

func responseWords(a *contract.Response) string {
	switch a.Form {
	case contract.Whole:
		return fmt.Sprintf("; the body is the field `%s`", a.Field)
	case contract.Text:
		return fmt.Sprintf("; the text %s", "`"+cell(fmt.Sprintf("%q", templateOf(a.Parts)))+"`")
	}
	return ""
}

func guesses(b *strings.Builder, list []contract.Guess) {
	if len(list) == 0 {
		return
	}
	b.WriteString("\n| guess about | chosen | against | evidence |\n|---|---|---|---|\n")
	for _, g := range list {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", cell(g.Path), cell(g.Chosen), cell(g.Against), cell(g.Evidence))
	}
}

// cell keeps a text inside its cell of a table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ", "`", "'").Replace(s)
}
