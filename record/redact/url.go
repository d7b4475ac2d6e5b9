package redact

import "bytes"

// target takes secrets out of a request target or a URL: out of the user, each
// segment of the path, and the query's and the fragment's fields. What the rules'
// patterns match may reach over several of them.
func (w *work) target(s []byte) ([]byte, bool) {
	s, found := w.encoded(s, pathLen(s))
	n := pathLen(s)
	path, rest := s[:n], s[n:]
	path, changed := w.path(path)
	if changed = changed || found; len(rest) == 0 {
		return path, changed
	}
	out := append(make([]byte, 0, len(s)+64), path...)
	for len(rest) > 0 {
		end := bytes.IndexByte(rest[1:], '#') + 1
		if end == 0 {
			end = len(rest)
		}
		part, c := w.fields(rest[1:end])
		out = append(append(out, rest[0]), part...)
		changed, rest = changed || c, rest[end:]
	}
	if !changed {
		return s, false
	}
	return out, true
}

// pathLen is the length of a target's path.
func pathLen(s []byte) int {
	if i := bytes.IndexAny(s, "?#"); i >= 0 {
		return i
	}
	return len(s)
}

// path takes secrets out of a path, segment by segment, after those that reach over several
// of them. A URL's beginning goes the same way: a scheme and a host hold none.
func (w *work) path(s []byte) ([]byte, bool) {
	s, found := w.slashed(s)
	s, changed := w.segments(s)
	return s, changed || found
}

// slashed takes keys out of a path whose issuers mark them by a prefix with a slash in it.
func (w *work) slashed(s []byte) (_ []byte, changed bool) {
	if !w.r.credential {
		return s, false
	}
	for k := range withSlash {
		f := &withSlash[k]
		i := bytes.Index(s, []byte(f.prefix))
		if i < 0 {
			continue
		}
		t := scan{copied: copied{src: s}, w: w}
		for next := 0; next >= 0; next = bytes.Index(s[i:], []byte(f.prefix)) {
			i += next
			i = max(t.issuedBy(f, i), i+1)
		}
		var found bool
		s, found = t.done()
		changed = changed || found
	}
	return s, changed
}

func (w *work) segments(s []byte) (_ []byte, changed bool) {
	if i := bytes.Index(s, []byte("://")); i >= 0 {
		t := scan{copied: copied{src: s}, w: w}
		t.login(i)
		s, changed = t.done()
	}
	var out []byte
	from, kept := 0, 0 // where the segment begins; s before kept is in out
	named := false     // by the segment before
	for i := 0; i <= len(s); i++ {
		if i < len(s) && s[i] != '/' && s[i] != ';' {
			continue
		}
		if segment := s[from:i]; named && drawn(segment) && !isToken(segment) {
			out = w.r.appendToken(append(out, s[kept:from]...), segment)
			kept, changed = i, true
		} else if segment, c := w.segment(segment); c {
			out = append(append(out, s[kept:from]...), segment...)
			kept, changed = i, true
		}
		named = from < i && w.secretPath(s[from:i])
		from = i + 1
	}
	if out == nil {
		return s, changed
	}
	return append(out, s[kept:]...), changed
}

// drawn reports whether a segment looks like one that was drawn by lot, as in
// /reset-token/4f1c…: of at least 16 letters and digits.
func drawn(s []byte) bool {
	var letter, number bool
	for _, c := range s {
		letter, number = letter || isLetter(c), number || isDigit(c)
		if !isLetter(c) && !isDigit(c) && c != '-' && c != '_' && c != '~' {
			return false
		}
	}
	return len(s) >= 16 && letter && number
}

// segment takes secrets out of one segment of a path, or of one of its
// parameters (;jsessionid=…).
func (w *work) segment(s []byte) ([]byte, bool) {
	if name, value, ok := bytes.Cut(s, []byte("=")); ok {
		plain := unpercent(nil, name, false) // one of several lines is no name, but a key in PEM may be
		if bytes.IndexByte(plain, '\n') < 0 && w.secretPath(plain) {
			return append(append([]byte(nil), s[:len(name)+1]...), w.r.appendToken(nil, unpercent(nil, value, false))...), len(value) > 0
		}
	}
	plain := s
	if bytes.IndexByte(s, '%') >= 0 {
		plain = unpercent(nil, s, false)
	}
	out, changed := w.word(plain)
	if !changed {
		return s, false
	}
	return appendPercent(nil, out), true
}

// form takes secrets out of a form as a whole, and then out of its fields.
func (w *work) form(s []byte) ([]byte, bool) {
	s, found := w.encoded(s, 0)
	out, changed := w.fields(s)
	return out, changed || found
}

// fields takes secrets out of a query or a form: name=value pairs with "&"
// between them.
func (w *work) fields(s []byte) (_ []byte, changed bool) {
	var out []byte
	oauth := bytes.Contains(s, []byte("state=")) || bytes.Contains(s, []byte("grant_type=")) || bytes.Contains(s, []byte("iss=http"))
	for rest := s; ; {
		pair, after, more := bytes.Cut(rest, []byte("&"))
		redacted, c := w.pair(pair, oauth)
		out = append(out, redacted...)
		changed = changed || c
		if !more {
			break
		}
		out, rest = append(out, '&'), after
	}
	if !changed {
		return s, false
	}
	return out, true
}

// secretInQuery reports whether a field's name is that of a secret in queries and
// forms alone. oauth says that "code" is an authorization code (RFC 6749,
// sections 4.1.2 and 4.1.3). A "ticket" is one of single sign-on (CAS protocol,
// section 2.5); a member of that name in JSON is more often an issue's.
func (w *work) secretInQuery(name []byte, oauth bool) bool {
	switch string(name) {
	case "code":
		return oauth && !w.r.kept["code"]
	case "ticket", "Ticket":
		return !w.r.kept["ticket"]
	}
	return false
}

// pair takes the secret out of one field of a form; see secretInQuery.
func (w *work) pair(s []byte, oauth bool) ([]byte, bool) {
	name, value, ok := bytes.Cut(s, []byte("="))
	if !ok {
		name, value = nil, s
	}
	var out []byte
	changed := false
	if len(name) > 0 {
		plain := unpercent(nil, name, true)
		if clean, c := w.word(plain); c {
			out, changed = appendPercent(nil, clean), true
		} else {
			out = append(out, name...)
		}
		if (w.secretPath(plain) || w.secretInQuery(plain, oauth)) && len(value) > 0 {
			secret := unpercent(nil, value, true)
			return w.r.appendToken(append(out, '='), secret), changed || !isToken(secret)
		}
	}
	if ok {
		out = append(out, '=')
	}
	plain := unpercent(nil, value, true)
	clean, c := w.word(plain)
	if !c && bytes.IndexByte(plain, '%') >= 0 { // encoded twice
		clean, c = w.word(unpercent(nil, plain, true))
	}
	if !c {
		return append(out, value...), changed
	}
	return append(out, appendPercent(nil, clean)...), true
}

// appendPercent encodes a text so that it is one segment of a path and one
// value of a form alike.
func appendPercent(dst, s []byte) []byte {
	const hexDigits = "0123456789ABCDEF"
	for _, c := range s {
		if isLetter(c) || isDigit(c) || bytes.IndexByte([]byte("-._~:@!$'()*,"), c) >= 0 {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return dst
}
