package contract

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Proto gives the contract as a .proto file, the same bytes for the same
// contract. It compiles, and "buf lint" has nothing to say of it, where Package
// ends in a version ("shop.v1"), Service in "Service", and the names are those
// that this package's functions make.
func (c *Contract) Proto() []byte {
	w := protoWriter{c: c}
	w.file()
	return []byte(w.b.String())
}

type protoWriter struct {
	c *Contract
	b strings.Builder
}

func (w *protoWriter) line(indent int, parts ...string) {
	if len(parts) > 0 {
		for range indent {
			w.b.WriteString("  ")
		}
	}
	for _, p := range parts {
		w.b.WriteString(p)
	}
	w.b.WriteByte('\n')
}

// comment writes text as line comments, broken at about 80 columns.
func (w *protoWriter) comment(indent int, text string) {
	const width = 80
	for _, paragraph := range strings.Split(printable(text), "\n") {
		line := ""
		for _, word := range strings.Fields(paragraph) {
			if line != "" && 2*indent+len("// ")+len(line)+1+len(word) > width {
				w.line(indent, "// ", line)
				line = ""
			}
			if line != "" {
				line += " "
			}
			line += word
		}
		if line != "" {
			w.line(indent, "// ", line)
		}
	}
}

func (w *protoWriter) file() {
	c := w.c
	w.line(0, `syntax = "proto3";`)
	if c.Package != "" {
		w.line(0)
		w.line(0, "package ", c.Package, ";")
	}
	for i, path := range c.imports() {
		if i == 0 {
			w.line(0)
		}
		w.line(0, "import ", quote(path), ";")
	}
	if c.GoPackage != "" {
		w.line(0)
		w.line(0, "option go_package = ", quote(c.GoPackage), ";")
	}
	w.service()
	for i := range c.Messages {
		w.message(&c.Messages[i])
	}
	for i := range c.Enums {
		w.enum(&c.Enums[i])
	}
}

func (w *protoWriter) service() {
	w.line(0)
	w.comment(0, w.c.Service+" serves what "+Count(len(w.c.Methods), "endpoint")+" of the monolith served.")
	w.line(0, "service ", w.c.Service, " {")
	for i := range w.c.Methods {
		m := &w.c.Methods[i]
		if i > 0 {
			w.line(0)
		}
		doc := m.Doc
		doc = cmp.Or(doc, m.Name+" is "+m.HTTP.Method+" "+m.HTTP.Pattern+".")
		w.comment(1, doc)
		w.line(1, "rpc ", m.Name, "(", m.Input, ") returns (", m.Output, ");")
	}
	w.line(0, "}")
}

func (w *protoWriter) message(m *Message) {
	w.line(0)
	doc := m.Doc
	doc = cmp.Or(doc, m.Name+" has "+Count(len(m.Fields), "field")+".")
	w.comment(0, doc)
	if len(m.Fields) == 0 && len(m.Reserved) == 0 {
		w.line(0, "message ", m.Name, " {}")
		return
	}
	w.line(0, "message ", m.Name, " {")
	if len(m.Reserved) > 0 {
		numbers := make([]string, len(m.Reserved))
		for i, n := range m.Reserved {
			numbers[i] = strconv.Itoa(int(n))
		}
		w.line(1, "reserved ", strings.Join(numbers, ", "), ";")
	}
	for i := range m.Fields {
		w.field(m, &m.Fields[i])
	}
	w.line(0, "}")
}

func (w *protoWriter) field(m *Message, f *Field) {
	w.comment(1, f.Doc)
	kind := w.typeOf(m, f)
	switch {
	case f.Map:
		kind = "map<string, " + kind + ">"
	case f.Repeated:
		kind = "repeated " + kind
	case f.explicit():
		kind = "optional " + kind
	}
	option := ""
	if f.JSON != "" && f.JSON != DefaultJSON(f.Name) {
		option = " [json_name = " + quote(f.JSON) + "]"
	}
	w.line(1, kind, " ", f.Name, " = ", strconv.Itoa(int(f.Number)), option, ";")
}

func (w *protoWriter) enum(e *Enum) {
	w.line(0)
	w.comment(0, e.Name+" has "+Count(max(0, len(e.Values)-1), "word")+".")
	w.line(0, "enum ", e.Name, " {")
	for _, v := range e.Values {
		if v.JSON != "" && v.JSON != v.Name {
			w.comment(1, quote(v.JSON))
		}
		w.line(1, v.Name, " = ", strconv.Itoa(int(v.Number)), ";")
	}
	w.line(0, "}")
}

// typeOf is the name of a field's type in the .proto file: the whole one, from the root on,
// where the short one would be looked up in the package or the message first, and something
// else be found there.
func (w *protoWriter) typeOf(m *Message, f *Field) string {
	switch {
	case f.Type != MessageType && f.Type != EnumType:
		if f.Type.wellKnown() && strings.Contains(w.c.Package+".", ".google.") {
			return "." + string(f.Type)
		}
		return string(f.Type)
	case slices.ContainsFunc(m.Fields, func(of Field) bool { return of.Map && entryName(of.Name) == f.Ref }):
		return strings.TrimSuffix("."+w.c.Package, ".") + "." + f.Ref
	}
	return f.Ref
}

// entryName is the message that a map field makes within its own: "ByIdEntry" of "by_id".
func entryName(field string) string {
	name := DefaultJSON(field)
	if isLower(name[0]) {
		name = string(name[0]-'a'+'A') + name[1:]
	}
	return name + "Entry"
}

// explicit says that the field needs the word "optional": messages distinguish unset
// from zero without it.
func (f *Field) explicit() bool {
	return f.Optional && !f.Repeated && !f.Map && f.Type != MessageType && !f.Type.wellKnown()
}

// printable leaves out what would end a comment or hide in one.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || strconv.IsPrint(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(s, ""))
}

// quote writes a string literal of the .proto language.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			b.WriteString(`\` + string([]byte{'0' + c>>6, '0' + c>>3&7, '0' + c&7}))
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
