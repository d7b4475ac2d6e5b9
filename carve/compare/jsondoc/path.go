package jsondoc

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/internal/jsonpath"
)

// Place is one step of a comparison's place.
type Place = jsonpath.Element

// ParsePath compiles a path. Its error has a hint.
func ParsePath(s string) (jsonpath.Path, error) {
	p, err := jsonpath.Parse(s)
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "%s", err).WithHint(jsonpath.Hint)
	}
	return p, nil
}

// ParsePaths compiles a list; the error's Field is field[i].
func ParsePaths(field string, list []string) ([]jsonpath.Path, error) {
	paths := make([]jsonpath.Path, 0, len(list))
	for i, s := range list {
		p, err := ParsePath(s)
		if err != nil {
			return nil, InField(err, field+"["+strconv.Itoa(i)+"]")
		}
		paths = append(paths, p)
	}
	return paths, nil
}

// InField names the config field of an error.
func InField(err error, field string) error {
	if e, ok := errors.AsType[*whittle.Error](err); ok {
		return e.WithField(field)
	}
	return err
}

// AppendPattern writes the trail as a path with wildcards for indices and keys that look like ids.
func AppendPattern(dst []byte, trail []Place) []byte {
	dst = append(dst, '$')
	for _, at := range trail {
		dst = AppendStep(dst, at)
	}
	return dst
}

// AppendStep writes one step of a pattern.
func AppendStep(dst []byte, at Place) []byte {
	switch {
	case at.Key == nil:
		return append(dst, "[*]"...)
	case looksLikeID(at.Key):
		return append(dst, ".*"...)
	case PlainKey(at.Key):
		return append(append(dst, '.'), at.Key...)
	}
	dst = append(dst, '[')
	dst = strconv.AppendQuote(dst, display.Snippet(at.Key, display.KeyShown))
	return append(dst, ']')
}

// PlainKey reports whether a key can stand in a path as it is.
func PlainKey(key []byte) bool {
	if len(key) == 0 || len(key) > display.KeyShown {
		return false
	}
	for _, c := range key {
		if !plainBytes[c] {
			return false
		}
	}
	return true
}

// plainBytes are the bytes of plain keys.
var plainBytes = func() (is [256]bool) {
	for c := ' ' + 1; c < 0x7f; c++ {
		is[c] = !strings.ContainsRune(`.[]*"$\`, c)
	}
	return is
}()

// looksLikeID reports whether a key names an entity rather than a field: an address, all digits, eight
// or more hexadecimal characters (and dashes) with a digit, and what looksRandom.
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
			return looksRandom(key)
		}
	}
	return digits > 0 && (hex == 0 || len(key) >= 8)
}

// looksRandom reports whether a key of 16 or more bytes was drawn, as tokens and keys of APIs are. In
// the words of a field name, digits and letters take turns at most three times (secp256k1), and small
// letters, capitals and digits follow each other in runs. In a random key they take turns more often, or
// it has capitals and digits alone. TestFieldNamesAgainstRandomKeys counts the mistakes.
func looksRandom(key []byte) bool {
	const least, turnsLeast = 16, 4
	if len(key) < least {
		return false
	}
	digits, turns, changes, coded := 0, 0, 0, true
	last := otherByte
	for _, c := range key {
		kind := kindOfByte(c)
		if kind == digitByte {
			digits++
		}
		if kind != last && kind != otherByte && last != otherByte {
			changes++
			if kind == digitByte || last == digitByte {
				turns++
			}
		}
		coded = coded && (kind == digitByte || kind == capitalByte)
		last = kind
	}
	if digits == 0 {
		return 2*changes > len(key)+2
	}
	return coded || turns >= turnsLeast || 2*changes >= len(key)
}

// byteKind is the kind of a key's byte for looksRandom.
type byteKind uint8

const (
	otherByte byteKind = iota // between words
	smallByte
	capitalByte
	digitByte
)

func kindOfByte(c byte) byteKind {
	switch {
	case c >= 'a' && c <= 'z':
		return smallByte
	case c >= 'A' && c <= 'Z':
		return capitalByte
	case c >= '0' && c <= '9':
		return digitByte
	}
	return otherByte
}
