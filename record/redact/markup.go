package redact

import "bytes"

// longestTag bounds how far a tag is read.
const longestTag = 64 << 10

// longestLead bounds what stands before the first tag of a text that is markup.
const longestLead = 64

// tag looks at a "<" of XML or HTML: an element with a secret's name loses its
// content, and a tag that names something secret in an attribute, as in
// <input name="csrf" value="x">, its value.
func (t *scan) tag(i int) int {
	b := t.src
	end := i + 1
	for end < len(b) && end-i < maxName && (isLetter(b[end]) || isDigit(b[end]) || b[end] == '_' || b[end] == '-' || b[end] == '.' || b[end] == ':') {
		end++
	}
	name, torn := b[i+1:end], i > 0 && i == t.tornAt
	if !torn && end < len(b) && b[end] == '/' && len(name) == 0 {
		t.close(i)
		return 0
	}
	if i < longestLead && end < len(b) && (len(name) > 0 || b[end] == '!' || b[end] == '?') && len(bytes.Trim(b[:i], "\ufeff \t\r\n")) == 0 {
		t.markup = true
	}
	if !torn && (len(name) == 0 || !isLetter(name[0])) {
		return 0
	}
	shut, ok := t.tagShut(end)
	if !ok {
		return 0
	}
	t.keyed, t.opened = t.keyed && isValue(name) && b[shut-1] != '/', shut+1
	secret := t.w.secretPath(name)
	if secret {
		t.tagEnd = shut // its attribute value, too
	}
	if torn || t.namesSecret(b[end:shut]) {
		t.tagEnd = shut
		if b[shut] == '<' {
			t.tornAt = shut
		} else if end := t.content(name, shut); end > 0 {
			return end
		}
	}
	if b[shut] == '>' && b[shut-1] == '/' || !secret {
		return 0
	}
	t.attributes(end, shut)
	start, stop := shut, len(b)
	if b[shut] == '>' {
		start++
	}
	if n := bytes.Index(b[shut:], append([]byte("</"), name...)); n >= 0 {
		stop = shut + n
	}
	for start < stop && b[start] <= ' ' {
		start++
	}
	return max(t.replace(start, max(start, stop)), shut)
}

// holders are elements whose text is the value of what an attribute names.
var holders = set("textarea", "property", "entry", "param", "parameter", "setting", "string", "field", "item", "attribute", "saml:attributevalue")

// content replaces the text of such an element, where it has nothing but text: the tag
// ends at shut.
func (t *scan) content(name []byte, shut int) int {
	if b := t.src; b[shut-1] != '/' && holders[string(bytes.ToLower(name))] {
		end := bytes.IndexByte(b[shut:], '<')
		if end < 0 {
			end = len(b) - shut
		}
		t.w.looked += end
		if rest := b[shut+end:]; len(rest) == 0 || bytes.HasPrefix(rest, []byte("</")) {
			return max(t.replace(shut+1, shut+end), shut+1)
		}
		t.keyed = true // <property name="password"><value>x</value>
	}
	return 0
}

// close looks at the end of an element at i. Its text may name a secret that the next element is the
// value of, <key>password</key><value>x</value>, or be that value.
func (t *scan) close(i int) {
	b := t.src
	start := min(t.opened, i)
	text := bytes.TrimSpace(b[start:i])
	t.opened = len(b)
	if len(text) == 0 {
		return
	}
	if t.keyed {
		start += bytes.Index(b[start:i], text)
		t.replace(start, start+len(text))
		t.keyed = false
		return
	}
	name := b[i+2 : min(i+2+maxName, len(b))]
	if end := bytes.IndexAny(name, "> "); end >= 0 {
		name = name[:end]
	}
	t.w.looked += len(name)
	t.keyed = t.w.secretPath(text) && roleOf(localName(name)) == roleName
}

// isValue reports whether an element may be a value, or within one say its type.
func isValue(name []byte) bool {
	switch local := localName(name); string(local) {
	case "string", "integer", "int", "data":
		return true
	default:
		return roleOf(local) == roleValue
	}
}

// localName is an element's name in lower case, without its prefix.
func localName(name []byte) []byte { return bytes.ToLower(name[bytes.LastIndexByte(name, ':')+1:]) }

// attributes looks for secrets in a tag whose content is replaced as a whole.
func (t *scan) attributes(i, end int) {
	for i < end {
		next := 0
		if t.src[i] == '=' {
			next = t.named(i, 1)
		}
		i = max(next, i+1)
	}
}

// tagShut gives the place of the ">" that ends a tag, past quoted attributes, or
// of a "<" before it, where the next tag begins and tears this one.
//
// Each byte is read for three tags at most. Of two that are read over the same
// byte one is inside of quotes or the two are in different ones, since a "<"
// outside ends a tag, and a quote moves every one of the three states to
// another, so that no two of them ever become the same.
func (t *scan) tagShut(i int) (shut int, ok bool) {
	b, from := t.src, i
	var quote byte
	for last := min(len(b), i+longestTag); i < last && !ok; i++ {
		switch c := b[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>' || c == '<':
			shut, ok = i, true
		}
	}
	t.w.looked += i - from
	return shut, ok
}

// namesSecret reports whether an attribute says that the tag is about something
// secret: name="csrf-token", type="password".
func (t *scan) namesSecret(attributes []byte) bool {
	t.w.looked += len(attributes)
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
		if len(key) > len("autocomplete") {
			continue
		}
		switch string(bytes.ToLower(key)) {
		case "name", "id", "type", "property", "key", "itemprop", "autocomplete":
		default:
			continue
		}
		value := bytes.TrimLeft(attributes, "\"' ")
		value = value[:min(len(value), maxName+1)]
		t.w.looked += len(value)
		if k := bytes.IndexAny(value, "\"' >"); k >= 0 {
			value = value[:k]
		}
		if t.w.secretPath(value) {
			return true
		}
	}
}
