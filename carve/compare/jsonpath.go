package compare

import (
	"bytes"
	"errors"
	"strconv"

	"whittle"
	"whittle/internal/jsonpath"
)

// place is one step of where a comparison stands.
type place = jsonpath.Element

// parsePath compiles a path, with the hint for whoever wrote it.
func parsePath(s string) (jsonpath.Path, error) {
	p, err := jsonpath.Parse(s)
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "%s", err).WithHint(jsonpath.Hint)
	}
	return p, nil
}

// parsePaths compiles a list; the error's Field is field[i].
func parsePaths(field string, list []string) ([]jsonpath.Path, error) {
	paths := make([]jsonpath.Path, 0, len(list))
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

// appendPattern writes the trail as a path in which every index, and every key
// that looks like an id, is a wildcard.
func appendPattern(dst []byte, trail []place) []byte {
	dst = append(dst, '$')
	for _, at := range trail {
		dst = appendStep(dst, at)
	}
	return dst
}

// appendStep writes one step of a pattern.
func appendStep(dst []byte, at place) []byte {
	switch {
	case at.Key == nil:
		return append(dst, "[*]"...)
	case looksLikeID(at.Key):
		return append(dst, ".*"...)
	case plainKey(at.Key):
		return append(append(dst, '.'), at.Key...)
	}
	dst = append(dst, '[')
	dst = strconv.AppendQuote(dst, snippet(at.Key, valueShown))
	return append(dst, ']')
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

// looksLikeID tells keys that name an entity from keys that name a field: an
// address, all digits, or eight and more hexadecimal characters (and dashes) with a digit.
func looksLikeID(key []byte) bool {
	if bytes.IndexByte(key, '@') > 0 {
		return true
	}
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
