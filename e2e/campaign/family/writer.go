package family

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// restyled is JSON as a twin writes it: members come in an order that is drawn for each
// response, there is white space, and nothing is escaped that need not be.
func restyled(w *World, body []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var doc any
	if err := d.Decode(&doc); err != nil {
		panic(fmt.Sprintf("a family's JSON: %v", err))
	}
	var b strings.Builder
	write(&b, w, doc)
	return []byte(b.String() + "\n")
}

// decimal is n · 10^-places without trailing zeros, as encoding/json has it.
func decimal(n int64, places int) json.Number {
	return json.Number(strings.TrimRight(strings.TrimRight(fixed(n, places).String(), "0"), "."))
}

// fixed is n · 10^-places with all its places.
func fixed(n int64, places int) json.Number {
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	s := fmt.Sprintf("%0*d", places+1, n)
	return json.Number(sign + s[:len(s)-places] + "." + s[len(s)-places:])
}

func write(b *strings.Builder, w *World, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case map[string]any:
		writeObject(b, w, v)
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			write(b, w, e)
		}
		b.WriteByte(']')
	case string:
		quote(b, v)
	default: // a number or a boolean
		fmt.Fprint(b, v)
	}
}

// writeObject begins anywhere in the list of its members.
func writeObject(b *strings.Builder, w *World, o map[string]any) {
	names := slices.Sorted(maps.Keys(o))
	start := w.Rand.IntN(max(len(names), 1))
	b.WriteByte('{')
	for i := range names {
		name := names[(start+i)%len(names)]
		if i > 0 {
			b.WriteString(", ")
		}
		quote(b, name)
		b.WriteString(": ")
		write(b, w, o[name])
	}
	b.WriteByte('}')
}

// quote writes a string and escapes only what JSON says must be.
func quote(b *strings.Builder, s string) {
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r < ' ':
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}
