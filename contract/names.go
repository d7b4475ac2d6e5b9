package contract

import (
	"cmp"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// maxName bounds the names that are made, in bytes.
const maxName = 48

// words takes a name of any style apart: "HTTPServer_v2-id" is http, server,
// v2, id. Letters and digits that are not ASCII are left out.
func words(s string) []string {
	var out []string
	var word []byte
	end := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'A' && c <= 'Z':
			// A new word begins after a small letter or a digit, and with the
			// last capital of "HTTPServer".
			if len(word) > 0 && (!isUpper(s[i-1]) || i+1 < len(s) && isLower(s[i+1])) {
				end()
			}
			word = append(word, c)
		case isLower(c) || c >= '0' && c <= '9':
			word = append(word, c)
		default:
			end()
		}
	}
	end()
	return out
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }

// FieldName makes a proto field's name of any text: "userId" is "user_id",
// "2fa" is "f_2fa", "" is "field".
func FieldName(s string) string {
	n := strings.Join(words(s), "_")
	switch {
	case n == "":
		return "field"
	case !isLower(n[0]):
		n = "f_" + n
	}
	return strings.TrimRight(n[:min(len(n), maxName)], "_")
}

// Segment writes a literal of a path so that no router's wildcard or anchor can be
// seen in it: a config refuses "/:id" and "/a$", which are hardly ever meant.
func Segment(literal string) string {
	var b strings.Builder
	for i := range len(literal) {
		c := literal[i]
		switch {
		case c == ':' && (i == 0 || !isWordByte(literal[i-1])):
			b.WriteString("%3A")
		case c == '$' && i > 0 && i == len(literal)-1:
			b.WriteString("%24")
		case c == '+' && i > 0 && literal[i-1] == '.':
			b.WriteString("%2B")
		default:
			b.WriteString(url.PathEscape(literal[i : i+1]))
		}
	}
	return b.String()
}

func isWordByte(c byte) bool {
	return isLower(c) || isUpper(c) || c >= '0' && c <= '9' || c == '_'
}

// TypeName makes the name of a message or a method of any text: "user_id" is
// "UserId", "" is "Thing".
func TypeName(s string) string {
	var b strings.Builder
	for _, w := range words(s) {
		b.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	n := b.String()
	switch {
	case n == "":
		return "Thing"
	case !isUpper(n[0]):
		n = "T" + n
	}
	return n[:min(len(n), maxName)]
}

// Singular gives one of what a plural English noun names: "categories" is
// "category". What does not look like a plural stays.
func Singular(s string) string {
	lower := strings.ToLower(s)
	for _, e := range []struct{ plural, singular string }{
		{"people", "person"},
		{"children", "child"},
		{"series", "series"},
		{"news", "news"},
		{"status", "status"},
		{"address", "address"},
		{"analysis", "analysis"},
		{"data", "data"},
	} {
		if strings.HasSuffix(lower, e.plural) {
			if e.plural == e.singular {
				return s
			}
			return s[:len(s)-len(e.plural)] + matchCase(s[len(s)-len(e.plural)], e.singular)
		}
	}
	for _, e := range []struct{ plural, singular string }{
		{"ies", "y"}, {"sses", "ss"}, {"xes", "x"}, {"ches", "ch"}, {"shes", "sh"}, {"zzes", "zz"},
	} {
		if stem, ok := strings.CutSuffix(lower, e.plural); ok && len(stem) > 1 {
			return s[:len(stem)] + e.singular
		}
	}
	for _, keep := range []string{"ss", "us", "is"} {
		if strings.HasSuffix(lower, keep) {
			return s
		}
	}
	if strings.HasSuffix(lower, "s") && len(s) > 2 {
		return s[:len(s)-1]
	}
	return s
}

func matchCase(like byte, s string) string {
	if unicode.IsUpper(rune(like)) {
		return strings.ToUpper(s[:1]) + s[1:]
	}
	return s
}

// DefaultJSON is the JSON name that protobuf gives a field where none is
// written: lowerCamelCase.
func DefaultJSON(name string) string {
	b := make([]byte, 0, len(name))
	up := false
	for i := range len(name) {
		c := name[i]
		if c == '_' {
			up = true
			continue
		}
		if up && isLower(c) {
			c -= 'a' - 'A'
		}
		up = false
		b = append(b, c)
	}
	return string(b)
}

// Unique gives name, or name with the first number from 2 on that taken does
// not know; sep stands before the number.
func Unique(name, sep string, taken func(string) bool) string {
	if !taken(name) {
		return name
	}
	for i := 2; ; i++ {
		if n := name + sep + strconv.Itoa(i); !taken(n) {
			return n
		}
	}
}

// FieldNames gives the fields of one message their names. No name is another
// field's name in JSON, nor do two have the same default name in JSON: compilers
// refuse the one, and readers that accept both names mistake the other.
type FieldNames struct{ names, camel, keys map[string]bool }

// NewFieldNames knows the JSON names that fields of the message have.
func NewFieldNames(json ...string) *FieldNames {
	n := &FieldNames{names: map[string]bool{}, camel: map[string]bool{}, keys: map[string]bool{}}
	for _, k := range json {
		n.keys[k] = true
	}
	return n
}

// Take notes a name that a field has.
func (n *FieldNames) Take(name, json string) {
	n.names[name], n.camel[DefaultJSON(name)], n.keys[json] = true, true, true
}

// Make gives a field a name like want. json is its name in JSON; empty: it has
// the default one, which Make keeps free of others.
func (n *FieldNames) Make(want, json string) string {
	name := Unique(want, "_", func(s string) bool {
		d := DefaultJSON(s)
		return n.names[s] || n.camel[d] || n.keys[s] && s != json || json == "" && n.keys[d]
	})
	json = cmp.Or(json, DefaultJSON(name))
	n.Take(name, json)
	return name
}

// PathStep is a member's step in a JSON path: .name, or ["odd name"].
func PathStep(key string) string {
	if key != "" && !strings.ContainsFunc(key, func(r rune) bool { return r > unicode.MaxASCII || !isWordByte(byte(r)) }) {
		return "." + key
	}
	b, _ := json.Marshal(key) // a string always can be
	return "[" + string(b) + "]"
}

// OddKey reports a name that cannot be a field's JSON name.
func OddKey(key string) bool {
	return key == "" || len(key) > 256 || key[0] == '[' && key[len(key)-1] == ']' ||
		strings.ContainsFunc(key, func(c rune) bool { return c < ' ' })
}
