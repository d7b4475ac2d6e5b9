package form

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of the pieces of one text.
const (
	piecesMost    = 24      // pieces
	pieceTextMost = 4 << 10 // bytes
)

// Piece is a part of a text between two marks, or a member of a token.
type Piece struct{ Name, Text string }

// IsPiece reports whether a place is a piece of a text.
func IsPiece(path string) bool { return strings.HasSuffix(path, ")") && strings.Contains(path, " (") }

// Pieces are those of a text of which the monolith changes some and not others: a link with
// a signature, a sentence with a time, the header and claims of a token, what base64 stands for. None of
// a value of another class, or of one piece. Two texts have the same pieces only if what
// stands between them is the same, which between says.
func Pieces(text []byte) (list []Piece, between string) {
	switch classify(text).class {
	case classJWT:
		return tokenPieces(text)
	case classToken:
		if text = decoded(text); text == nil {
			return nil, ""
		}
		if text[0] == '{' {
			if list, between = memberPieces("member ", text); list != nil {
				return list, between
			}
		}
	case classText:
	default:
		return nil, ""
	}
	text = text[:min(len(text), pieceTextMost)]
	if list, between = textPieces(text, isTokenByte); len(list) == 1 { // such as INV-2026-000123
		list, between = textPieces(text, func(b byte) bool { return isTokenByte(b) && b != '-' && b != '_' })
	}
	if len(list) < 2 {
		return nil, ""
	}
	return list, between
}

// Shape is a text without the parts that a service makes for each response: numbers with what
// belongs to them, ids, times. Services that make them in the same way have the same shape.
//
//	/orders/17?state=8f3kq92x   /orders/#?state=#
//	max-age=60                  max-age=#
func Shape(text string) string {
	s := []byte(text[:min(len(text), pieceTextMost)])
	if f := classify(s); f.class == classTime && strings.HasPrefix(f.as, " as ") {
		return f.String()
	}
	var shape []byte
	for len(s) > 0 {
		n := runOf(s, isTokenByte)
		if n == 0 {
			shape, s = append(shape, s[0]), s[1:]
			continue
		}
		shape, s = appendShape(shape, s[:n]), s[n:]
	}
	return strings.ReplaceAll(string(shape), "#.#", "#")
}

// idLeast is how long an id is at least that has dashes in it.
const idLeast = 8 // bytes

// appendShape appends the shape of letters, digits, - and _: of an id or a number, or of what
// stands between dashes.
func appendShape(shape, run []byte) []byte {
	if len(run) >= idLeast {
		f := classify(run)
		if charsOf(run).only(charDigit|charLowerHex|charUpperHex|charDash) || f.class != classWord && f.class != classDigits {
			return append(shape, '#')
		}
	}
	for len(run) > 0 {
		n := max(1, runOf(run, func(b byte) bool { return isTokenByte(b) && b != '-' && b != '_' }))
		if bytes.ContainsAny(run[:n], "0123456789") {
			shape = append(shape, '#')
		} else {
			shape = append(shape, run[:n]...)
		}
		run = run[n:]
	}
	return shape
}

// runOf is for how many bytes a text begins with such as belong to a piece; what is not ASCII
// does.
func runOf(text []byte, belongs func(byte) bool) int {
	if n := bytes.IndexFunc(text, func(r rune) bool { return r < 0x80 && !belongs(byte(r)) }); n >= 0 {
		return n
	}
	return len(text)
}

func isTokenByte(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '_' || b == '-'
}

// textPieces are what stands between the bytes of a text that belong to no piece; none where
// there are too many.
func textPieces(text []byte, belongs func(byte) bool) (list []Piece, between string) {
	var marks []byte
	for len(text) > 0 {
		n := runOf(text, belongs)
		if n == 0 {
			marks, text = append(marks, text[0]), text[1:]
			continue
		}
		if len(list) >= piecesMost {
			return nil, ""
		}
		list = append(list, Piece{"piece " + strconv.Itoa(len(list)+1), string(text[:n])})
		marks, text = append(marks, 'a'), text[n:]
	}
	return list, string(marks)
}

// tokenPieces are the members of a token's header and its claims, by name.
func tokenPieces(token []byte) (list []Piece, between string) {
	parts := bytes.Split(token, []byte("."))
	for i, what := range []string{"header ", "claim "} {
		of, names := memberPieces(what, decoded(parts[i]))
		if of == nil {
			return nil, ""
		}
		list, between = append(list, of...), between+"\x00"+names
	}
	return list, between
}

// memberPieces are the members of an object, by name.
func memberPieces(what string, object []byte) (list []Piece, between string) {
	var all map[string]json.RawMessage
	if json.Unmarshal(object, &all) != nil || len(all) > piecesMost {
		return nil, ""
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, Piece{what + name[:min(len(name), most)], string(all[name])})
		between += name + "\x00"
	}
	return list, between
}

// decodedLeast is how many bytes base64 must stand for to be taken for a text: as many random
// ones are none.
const decodedLeast = 12 // bytes

// decoded is the text that base64 stands for; nil: it stands for none.
func decoded(text []byte) []byte {
	if len(text) > pieceTextMost {
		return nil
	}
	text = bytes.TrimRight(text, "=")
	coding := base64.RawStdEncoding
	if bytes.ContainsAny(text, "-_") {
		coding = base64.RawURLEncoding
	}
	b, err := coding.AppendDecode(nil, text)
	if err != nil || len(b) < decodedLeast || bytes.ContainsFunc(b, func(r rune) bool { return r < ' ' && r != '\n' || r == utf8.RuneError }) {
		return nil
	}
	return b
}
