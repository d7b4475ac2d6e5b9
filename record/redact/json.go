package redact

import (
	"bytes"

	"whittle/internal/jsonpath"
	"whittle/internal/jsonscan"
)

const (
	// maxDepth bounds the nesting of what is read.
	maxDepth = 256
	// maxInner bounds how often JSON lies in a string of JSON and is read there.
	maxInner = 4
)

// rewriter copies a JSON text with its secrets replaced, in one pass.
type rewriter struct {
	copied

	w     *work
	s     jsonscan.Scanner
	inner int // how many strings of JSON this text lies in
	// within says that the value in hand is a list's.
	within bool
	// grant says that the text asks for a token of OAuth, once grantKnown is set.
	grantKnown, grant bool
	// trail is where the reader stands; kept only where the rules have paths.
	trail []jsonpath.Element
}

// all rewrites every value of a text (there may be several, one after the
// other) and reports whether anything was replaced.
func (j *rewriter) all(secret bool) (out []byte, changed bool, err error) {
	if _, err = j.each(secret); err != nil {
		return nil, false, err
	}
	out, changed = j.done()
	return out, changed, nil
}

// each rewrites value after value. Where one is no JSON, it gives up to where
// all is distinguished.
func (j *rewriter) each(secret bool) (i int, err error) {
	for i = between(j.src, 0); ; {
		if i, err = j.value(i, secret); err != nil {
			return i, err
		}
		if i = between(j.src, i); i == len(j.src) {
			return i, nil
		}
	}
}

// begun gives a text that any reader could split up to end. What is beyond may lie
// on any path, so it becomes a token.
func (j *rewriter) begun(end int) []byte {
	end = max(end, j.from)
	return j.w.r.appendToken(append(j.out, j.src[j.from:end]...), j.src[end:])
}

// between passes what may stand between two values: space, and the record
// separator of a JSON text sequence (RFC 7464).
func between(b []byte, i int) int {
	for i = jsonscan.Space(b, i); i < len(b) && b[i] == 0x1e; {
		i = jsonscan.Space(b, i+1)
	}
	return i
}

// value rewrites the value that begins at i and gives where it ends, or where
// begins what could not be read.
func (j *rewriter) value(i int, secret bool) (int, error) {
	j.s.Reset(j.src, i, maxDepth)
	j.token(j.s.Next(), secret)
	return j.s.Offset(), j.s.Err()
}

// token rewrites the value that a token begins. It passes over words: whether
// there is a secret, and true and false, tell nothing.
func (j *rewriter) token(kind jsonscan.Kind, secret bool) {
	switch kind {
	case jsonscan.String:
		j.str(j.plain(), secret)
	case jsonscan.Number:
		j.number(secret)
	case jsonscan.Array:
		j.array(secret)
	case jsonscan.Object:
		j.object(secret)
	}
}

// str replaces the secrets in the string or name in hand, which stands for plain.
func (j *rewriter) str(plain []byte, secret bool) {
	var out []byte
	if secret {
		if len(plain) == 0 || isToken(plain) {
			return
		}
		out = j.w.r.appendToken(nil, plain)
	} else {
		var changed bool
		if out, changed = j.w.inner(plain, j.inner+1); !changed {
			return
		}
	}
	j.open(j.s.Start()+1, j.s.End()-1)
	j.out = jsonscan.AppendInside(j.out, out)
}

// plain is what the string or name in hand stands for.
func (j *rewriter) plain() []byte {
	if !j.s.Escaped() {
		return j.s.Inside()
	}
	return unescape(j.s.Inside())
}

func (j *rewriter) number(secret bool) {
	text := j.s.Bytes()
	if !secret {
		whole := bytes.TrimPrefix(text, []byte("-")) // a fraction is no card
		secret = len(whole) >= cardLeast && digits(whole, 0) == len(whole) && j.w.r.isCard(whole) || j.w.r.matches(text)
	}
	if secret && !j.w.r.isNumberToken(text) {
		j.open(j.s.Start(), j.s.End())
		j.out = j.w.r.appendNumber(j.out, text)
	}
}

func (j *rewriter) array(secret bool) {
	called := false // in a list of pairs, by the first of this pair
	for n := 0; ; n++ {
		kind := j.s.Next()
		if kind == jsonscan.End || kind == jsonscan.None {
			return
		}
		at := secret
		if len(j.w.r.paths) > 0 {
			j.trail = append(j.trail, jsonpath.Element{Index: n})
			at = secret || jsonpath.AnyMatches(j.w.r.paths, j.trail)
		}
		if n == 0 && kind == jsonscan.String && j.within {
			called = j.w.secretPath(j.plain()) && isPair(j.src, j.s.End())
		}
		within := j.within
		j.within = true
		j.token(kind, at || called && n == 1)
		j.within = within
		j.popTrail()
	}
}

// isPair reports whether after a list's first value, which ends at i, one text follows and
// then its end, as in ["password", "hunter2"].
func isPair(b []byte, i int) bool {
	if i = jsonscan.Space(b, i); i >= len(b) || b[i] != ',' {
		return false
	}
	var s jsonscan.Scanner
	if s.Reset(b, jsonscan.Space(b, i+1), 0); s.Next() != jsonscan.String {
		return false
	}
	i = jsonscan.Space(b, s.End())
	return i < len(b) && b[i] == ']'
}

// asksToken reports whether the text asks for a token of OAuth, before or behind the
// place in hand.
func (j *rewriter) asksToken() bool {
	if !j.grantKnown {
		j.grantKnown, j.grant = true, bytes.Contains(j.src, []byte(`"grant_type"`))
		j.w.looked += len(j.src)
	}
	return j.grant
}

func (j *rewriter) popTrail() {
	if len(j.w.r.paths) > 0 {
		j.trail = j.trail[:len(j.trail)-1]
	}
}

// object rewrites the members of an object. In {"name": "password", "value":
// "x"} a value that another member names is secret too; see paired.
func (j *rewriter) object(secret bool) {
	called := paired{}
	within := j.within
	defer func() { j.within = within }()
	for j.s.Next() == jsonscan.Key {
		j.within = false
		name, at := j.key(secret)
		role, kind := roleOf(name), j.s.Next()
		if role == roleValue && !at && kind != jsonscan.None && called.value(j, j.s.Start()) {
			at = true
		}
		switch string(name) {
		case "data", "stringData", "items":
			at = at || kind != jsonscan.None && called.ofSecret(j, j.s.Start(), string(name))
		case "apiVersion":
			called.api = true
		case "kind":
			if kind == jsonscan.String {
				called.kind = string(j.s.Inside())
			}
		case "code":
			at = at || j.asksToken() && !j.w.r.kept["code"]
		}
		if (role == roleName || role == roleKind) && kind == jsonscan.String {
			called.secret = called.secret || j.w.calls(j.plain(), role)
		}
		j.token(kind, at)
		j.popTrail()
	}
}

// key reads the member's name in hand, whose own shapes are secret as any
// text's, and gives whether its value is secret.
func (j *rewriter) key(secret bool) (name []byte, at bool) {
	name = j.plain()
	at = secret || j.w.secretPath(name)
	if len(j.w.r.paths) > 0 {
		j.trail = append(j.trail, jsonpath.Element{Key: name})
		at = at || jsonpath.AnyMatches(j.w.r.paths, j.trail)
	}
	j.str(name, false)
	return name, at
}

// unescape is the text that the inside of a JSON string stands for. A backslash without a
// known escape stays.
func unescape(inside []byte) []byte {
	text, _ := jsonscan.AppendText(nil, inside)
	return text
}
