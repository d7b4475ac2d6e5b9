package redact

import (
	"bytes"
	"regexp"
)

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
	if end := t.keyElement(name, shut); end > 0 {
		return end
	}
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
		return t.valueElement(shut + 1)
	}
	return 0
}

// keyElement looks at an element whose text is a name: <key>password</key><value>x</value>.
func (t *scan) keyElement(name []byte, shut int) int {
	if roleOf(name) != roleName || t.src[shut] != '>' {
		return 0
	}
	text := t.src[shut+1 : min(shut+1+maxName, len(t.src))]
	end := bytes.Index(text, append(append([]byte("</"), name...), '>'))
	t.w.looked += len(text)
	if end < 0 || !t.w.secretPath(bytes.TrimSpace(text[:end])) {
		return 0
	}
	return t.valueElement(shut + 1 + end + len("</") + len(name) + len(">"))
}

// valueElement replaces the text of an element that begins at i, if it is one for a value,
// perhaps with another in it for its type.
func (t *scan) valueElement(i int) int {
	tags := valueTags.FindIndex(t.src[i:])
	if tags == nil {
		return 0
	}
	i += tags[1]
	text, _, _ := bytes.Cut(t.src[i:], []byte("</"))
	t.w.looked += tags[1] + len(text)
	return max(t.replace(i, i+len(text)), i)
}

var valueTags = regexp.MustCompile(`^(?i:\s*<(?:value|string)[^<>]*>){1,3}\s*`)

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
