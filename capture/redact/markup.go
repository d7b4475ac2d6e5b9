package redact

import "bytes"

// longestTag bounds how far a tag is read.
const longestTag = 4 << 10

// tag looks at a "<" of XML or HTML: an element with a secret's name loses its
// content, and a tag that names something secret in an attribute, as in
// <input name="csrf" value="x">, its value.
func (t *scan) tag(i int) int {
	b := t.src
	end := i + 1
	for end < len(b) && end-i < maxName && (isLetter(b[end]) || isDigit(b[end]) || b[end] == '_' || b[end] == '-' || b[end] == '.' || b[end] == ':') {
		end++
	}
	name := b[i+1 : end]
	if len(name) == 0 || !isLetter(name[0]) {
		return 0
	}
	shut := tagEnd(b, end)
	if shut < 0 {
		return 0
	}
	if t.namesSecret(b[end:shut]) {
		t.tagEnd = shut
	}
	if b[shut-1] == '/' || !t.w.secretPath(name) {
		return 0
	}
	last := bytes.Index(b[shut:], append([]byte("</"), name...))
	if last < 0 {
		last = len(b) - shut
	}
	t.attributes(end, shut)
	start, stop := shut+1, shut+last
	for start < stop && b[start] <= ' ' {
		start++
	}
	return max(t.replace(start, max(start, stop)), shut)
}

// attributes looks for secrets in a tag whose content is replaced as a whole.
func (t *scan) attributes(i, end int) {
	for ; i < end; i++ {
		if t.src[i] == '=' {
			t.named(i, 1)
		}
	}
}

// tagEnd gives the place of the ">" that ends a tag, past quoted attributes; -1
// where there is none.
func tagEnd(b []byte, i int) int {
	var quote byte
	for last := min(len(b), i+longestTag); i < last; i++ {
		switch c := b[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i
		}
	}
	return -1
}

// namesSecret reports whether an attribute says that the tag is about something
// secret: name="csrf-token", type="password".
func (t *scan) namesSecret(attributes []byte) bool {
	for {
		i := bytes.IndexByte(attributes, '=')
		if i < 0 {
			return false
		}
		key := attributes[:i]
		if k := bytes.LastIndexAny(key, " \t\r\n"); k >= 0 {
			key = key[k+1:]
		}
		attributes = attributes[i+1:]
		switch string(bytes.ToLower(key)) {
		case "name", "id", "type", "property", "key", "itemprop", "autocomplete":
		default:
			continue
		}
		value := bytes.TrimLeft(attributes, "\"' ")
		if k := bytes.IndexAny(value, "\"' >"); k >= 0 {
			value = value[:k]
		}
		if t.w.secretPath(value) {
			return true
		}
	}
}
