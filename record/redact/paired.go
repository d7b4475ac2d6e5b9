package redact

import "unicode/utf16"

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
	case "name", "key", "field", "header", "param", "Name", "Key":
		return roleName
	case "value", "val", "content", "Value":
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
	for i < len(j.src) {
		var ok bool
		if i, ok = skip(j.src, i); !ok || i >= len(j.src) || j.src[i] != ',' {
			return p.secret
		}
		key := rewriter{w: j.w, src: j.src}
		i = space(j.src, i+1)
		if i >= len(j.src) || j.src[i] != '"' {
			return p.secret
		}
		end, _, err := key.quoted(i)
		if err != nil {
			return p.secret
		}
		member := unescape(nil, j.src[i+1:end-1])
		if i = space(j.src, end); i >= len(j.src) || j.src[i] != ':' {
			return p.secret
		}
		i = space(j.src, i+1)
		if roleOf(member) != roleName || i >= len(j.src) || j.src[i] != '"' {
			continue
		}
		if end, _, err = key.quoted(i); err == nil && j.w.secretPath(unescape(nil, j.src[i+1:end-1])) {
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

// surrogates reads a \u escape, with the one after it where both are one
// character.
func surrogates(b []byte) (r rune, n int) {
	r, _ = hex4(b[2:])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
		second, ok := hex4(b[8:])
		if both := utf16.DecodeRune(r, second); ok && both != '\uFFFD' {
			return both, 12
		}
	}
	return '\uFFFD', 6
}
