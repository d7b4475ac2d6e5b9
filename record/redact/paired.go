package redact

import "whittle/internal/jsonscan"

// role is what a member says in a list of names and values, such as
// [{"name": "password", "value": "hunter2"}].
type role uint8

const (
	roleNone role = iota
	roleName
	roleValue
)

func roleOf(member []byte) role {
	switch string(member) {
	case "name", "key", "field", "header", "param", "Name", "Key", "k":
		return roleName
	case "value", "val", "content", "Value", "v":
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
		if i, ok = skip(j.src, i); !ok || i >= len(j.src) || j.src[i] != ',' {
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
		if roleOf(member) != roleName {
			continue
		}
		if s.Reset(j.src, i, 0); s.Next() == jsonscan.String && j.w.secretPath(unescape(s.Inside())) {
			p.secret = true
		}
	}
	return p.secret
}

// skip gives where the member's value that begins at i ends, which is at a
// comma or a closing bracket of the object around it. It looks at brackets and
// strings only, and not far: the value of a pair is short.
func skip(b []byte, i int) (end int, ok bool) {
	const most = 4 << 10
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
