package compare

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"whittle"
)

// stepKind is the kind of one step of a JSON path.
type stepKind uint8

const (
	stepKey      stepKind = iota // .name or ["name"]
	stepIndex                    // [3]
	stepAnyIndex                 // [*]
	stepAnyKey                   // .*
	stepDeep                     // .. : any number of steps
)

type pathStep struct {
	kind  stepKind
	key   string
	index int
}

// jsonPath is a compiled path such as $.items[*].price or $..etag.
type jsonPath []pathStep

const (
	maxPathBytes = 512
	maxPathSteps = 64
	maxPathDeeps = 2 // each multiplies the ways to match
)

// parsePath reads a path: "$" followed by .name, ["name"], [3], [*], .* and
// ..name. It names the offset of what is wrong.
func parsePath(s string) (jsonPath, error) {
	if len(s) > maxPathBytes {
		return nil, pathError(s[:32], 0, "it is longer than 512 bytes")
	}
	if !strings.HasPrefix(s, "$") {
		return nil, pathError(s, 0, `it must start with "$"`)
	}
	if strings.Count(s, "..") > maxPathDeeps {
		return nil, pathError(s, strings.LastIndex(s, ".."), `it has more than two ".."`)
	}
	var p jsonPath
	for i := 1; i < len(s); {
		steps, next, why := parseStep(s, i)
		if why != "" {
			return nil, pathError(s, i, why)
		}
		if p = append(p, steps...); len(p) > maxPathSteps {
			return nil, pathError(s, i, "it has more than 64 steps")
		}
		i = next
	}
	return p, nil
}

func pathError(s string, at int, why string) error {
	return whittle.Errorf(whittle.Invalid, "JSON path %q, byte %d: %s", s, at, why).
		WithHint("write it like $.items[*].price, $.a[0], $[\"odd key\"], $.byId.* or $..etag")
}

func parseStep(s string, i int) (steps []pathStep, next int, why string) {
	if s[i] == '[' {
		step, next, why := parseBracket(s, i+1)
		return []pathStep{step}, next, why
	}
	if s[i] != '.' {
		return nil, 0, `"." or "[" must follow`
	}
	i++
	if strings.HasPrefix(s[i:], ".") {
		steps = append(steps, pathStep{kind: stepDeep})
		i++
		if strings.HasPrefix(s[i:], "[") {
			step, next, why := parseBracket(s, i+1)
			return append(steps, step), next, why
		}
	}
	end := i
	for end < len(s) && s[end] != '.' && s[end] != '[' {
		end++
	}
	switch name := s[i:end]; name {
	case "":
		return nil, 0, "a name is missing"
	case "*":
		steps = append(steps, pathStep{kind: stepAnyKey})
	default:
		steps = append(steps, pathStep{kind: stepKey, key: name})
	}
	return steps, end, ""
}

func parseBracket(s string, i int) (step pathStep, next int, why string) {
	if strings.HasPrefix(s[i:], `"`) {
		quoted, err := strconv.QuotedPrefix(s[i:])
		if err != nil || !strings.HasPrefix(s[i+len(quoted):], "]") {
			return step, 0, `the quoted name must end with "]`
		}
		key, err := strconv.Unquote(quoted)
		if err != nil {
			return step, 0, "the quoted name has a wrong escape"
		}
		return pathStep{kind: stepKey, key: key}, i + len(quoted) + 1, ""
	}
	end := strings.IndexByte(s[i:], ']')
	if end < 0 {
		return step, 0, `"]" is missing`
	}
	inner, next := s[i:i+end], i+end+1
	if inner == "*" {
		return pathStep{kind: stepAnyIndex}, next, ""
	}
	n, err := strconv.Atoi(inner)
	if err != nil || n < 0 || n > 1<<30 {
		return step, 0, `an index, * or a quoted name must stand in "[]"`
	}
	return pathStep{kind: stepIndex, index: n}, next, ""
}

// place is one step of where a comparison stands: a key, or an index where
// key is nil.
type place struct {
	key   []byte
	index int
}

// matches reports whether the path leads exactly to the trail.
func (p jsonPath) matches(trail []place) bool {
	for len(p) > 0 {
		if p[0].kind == stepDeep {
			for skip := range len(trail) + 1 {
				if p[1:].matches(trail[skip:]) {
					return true
				}
			}
			return false
		}
		if len(trail) == 0 || !p[0].is(trail[0]) {
			return false
		}
		p, trail = p[1:], trail[1:]
	}
	return len(trail) == 0
}

// covers reports whether the path leads to the trail or to a place above it.
func (p jsonPath) covers(trail []place) bool {
	for n := range len(trail) + 1 {
		if p.matches(trail[:n]) {
			return true
		}
	}
	return false
}

func (s pathStep) is(at place) bool {
	switch s.kind {
	case stepKey:
		return at.key != nil && string(at.key) == s.key
	case stepIndex:
		return at.key == nil && at.index == s.index
	case stepAnyIndex:
		return at.key == nil
	}
	return at.key != nil
}

// parsePaths compiles a list; the error's Field is field[i].
func parsePaths(field string, list []string) ([]jsonPath, error) {
	paths := make([]jsonPath, 0, len(list))
	for i, s := range list {
		p, err := parsePath(s)
		if err != nil {
			return nil, inField(err, field+"["+strconv.Itoa(i)+"]")
		}
		paths = append(paths, p)
	}
	return paths, nil
}

func inField(err error, field string) error {
	if e, ok := errors.AsType[*whittle.Error](err); ok {
		return e.WithField(field)
	}
	return err
}

func anyMatches(paths []jsonPath, trail []place) bool {
	for _, p := range paths {
		if p.matches(trail) {
			return true
		}
	}
	return false
}

func anyCovers(paths []jsonPath, trail []place) bool {
	for _, p := range paths {
		if p.covers(trail) {
			return true
		}
	}
	return false
}

// appendPattern writes the trail as a path in which every index, and every key
// that looks like an id, is a wildcard.
func appendPattern(dst []byte, trail []place) []byte {
	dst = append(dst, '$')
	for _, at := range trail {
		switch {
		case at.key == nil:
			dst = append(dst, "[*]"...)
		case looksLikeID(at.key):
			dst = append(dst, ".*"...)
		case plainKey(at.key):
			dst = append(append(dst, '.'), at.key...)
		default:
			dst = append(dst, '[')
			dst = strconv.AppendQuote(dst, snippet(at.key, valueShown))
			dst = append(dst, ']')
		}
	}
	return dst
}

func plainKey(key []byte) bool {
	if len(key) == 0 || len(key) > valueShown || bytes.ContainsAny(key, `.[]*"$\`) {
		return false
	}
	for _, c := range key {
		if c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}

// looksLikeID tells keys that name an entity from keys that name a field: all
// digits, or eight and more hexadecimal characters (and dashes) with a digit.
func looksLikeID(key []byte) bool {
	digits, hex := 0, 0
	for _, c := range key {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'f', c >= 'A' && c <= 'F', c == '-':
			hex++
		default:
			return false
		}
	}
	return digits > 0 && (hex == 0 || len(key) >= 8)
}
