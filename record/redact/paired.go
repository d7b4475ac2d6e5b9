package redact

import (
	"regexp"

	"whittle/internal/jsonscan"
)

// role is what a member says in a list of names and values, such as
// [{"name": "password", "value": "hunter2"}].
type role uint8

const (
	roleNone role = iota
	roleName
	roleKind // a name only where it could be nothing else: a card is a type of many things
	roleValue
)

func roleOf(member []byte) role {
	switch string(member) {
	case "name", "key", "field", "header", "param", "path", "property", "attribute", "Name", "Key", "k":
		return roleName
	case "type", "id", "label":
		return roleKind
	case "value", "val", "content", "Value", "v", "values", "from", "to", "old", "new", "old_value", "new_value", "oldValue", "newValue":
		return roleValue
	}
	return roleNone
}

// paired is what is known of one object's name while its members are read.
type paired struct {
	// secret says that the object names something secret.
	secret bool
	// looked says that the members after the first value have been looked at.
	looked bool
	// api says that the object has said its apiVersion; kind is what it says that it is.
	api  bool
	kind string
}

// value reports whether a value that begins at i is called something secret by
// its object: by a member before it, or by one after it.
func (p *paired) value(j *rewriter, i int) bool {
	if p.secret || p.looked {
		return p.secret
	}
	p.looked = true
	from := i
	defer func() { j.w.looked += i - from }()
	var s jsonscan.Scanner
	for i < len(j.src) {
		var ok bool
		if i, ok = skip(j.src, i, 4<<10); !ok || i >= len(j.src) || j.src[i] != ',' {
			return p.secret
		}
		i = jsonscan.Space(j.src, i+1)
		s.Reset(j.src, i, 0)
		if s.Next() != jsonscan.String {
			return p.secret
		}
		member := unescape(s.Inside())
		if i = jsonscan.Space(j.src, s.End()); i >= len(j.src) || j.src[i] != ':' {
			return p.secret
		}
		i = jsonscan.Space(j.src, i+1)
		role := roleOf(member)
		if role != roleName && role != roleKind {
			continue
		}
		if s.Reset(j.src, i, 0); s.Next() == jsonscan.String && j.w.calls(unescape(s.Inside()), role) {
			p.secret = true
		}
	}
	return p.secret
}

// calls reports whether a member of a role says that its object's value is secret.
func (w *work) calls(name []byte, role role) bool {
	return w.secretPath(name) && (role != roleKind || !exactNames[string(normal(w.name[:0], name))])
}

// ofSecret reports whether the object whose member's value begins at i is a Kubernetes
// Secret, or a list of them, as it says before or behind.
func (p *paired) ofSecret(j *rewriter, i int, member string) bool {
	if p.kind == "" && p.api && member != "items" && !p.looked {
		p.looked = true
		end := i
		for ok := true; ok && end < len(j.src) && end-i < longestSecret; {
			if end, ok = skip(j.src, end, longestSecret); !ok || end == len(j.src) || j.src[end] != ',' {
				break
			}
			end++
			if m := secretKind.FindSubmatch(j.src[end:min(len(j.src), end+64)]); m != nil {
				p.kind = string(m[1])
				break
			}
		}
		j.w.looked += end - i
	}
	if member == "items" {
		return p.kind == "SecretList"
	}
	return p.kind == "Secret"
}

// longestSecret bounds how far behind its data a Secret is looked for to say that it is
// one, as kubectl writes it; the server says so first.
const longestSecret = 64 << 10

var secretKind = regexp.MustCompile(`^[ \r\n\t]*"kind"[ \r\n\t]*:[ \r\n\t]*"(Secret)"`)

// skip gives where the member's value that begins at i ends, which is at a
// comma or a closing bracket of the object around it. It looks at brackets and
// strings only, and not far.
func skip(b []byte, i, most int) (end int, ok bool) {
	depth := 0
	for last := min(len(b), i+most); i < last; i++ {
		switch b[i] {
		case '"':
			for i++; i < last && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i, true
			}
		case ',':
			if depth == 0 {
				return i, true
			}
		}
	}
	return i, false
}
