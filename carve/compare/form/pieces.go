package form

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"
)

// textMost is how much of one text is looked at for pieces.
const textMost = most * most // bytes

// PieceOf is the place of piece i, from 0, of the text at a path.
func PieceOf(path string, i int) string { return path + " (piece " + strconv.Itoa(i+1) + ")" }

// Whole is the place of the text of which a place is a piece, and the piece; empty: it is none.
func Whole(path string) (whole, piece string) {
	if i := strings.LastIndex(path, " (piece "); i > 0 && strings.HasSuffix(path, ")") {
		return path[:i], path[i:]
	}
	return path, ""
}

// IsPiece reports whether a place is a piece of a text.
func IsPiece(path string) bool {
	_, piece := Whole(path)
	return piece != ""
}

// Pieces are those of a text of which the monolith changes some and not others: a link with
// a signature, a sentence with a time, what base64 stands for, as in a token with claims. None of
// a value of another class, or of one piece. Two texts have the same pieces only if what
// stands between them is the same, which between says.
func Pieces(text []byte) (list []string, between string) {
	switch f, _ := classify(text); f.class {
	case classToken:
		text = decoded(text)
	case classJWT:
		parts := bytes.Split(text, []byte("."))
		for i := range parts {
			if said := decoded(parts[i]); said != nil {
				parts[i] = said
			}
		}
		text = bytes.Join(parts, []byte("."))
	case classText:
	default:
		return nil, ""
	}
	text = text[:min(len(text), textMost)]
	if list, between = textPieces(text, isTokenByte); len(list) == 1 { // such as INV-2026-000123
		list, between = textPieces(text, isLetterOrDigit)
	}
	if len(list) < 2 || len(list) > most {
		return nil, ""
	}
	return list, between
}

// textPieces are what stands between the bytes of a text that belong to no piece.
func textPieces(text []byte, belongs func(byte) bool) (list []string, between string) {
	var marks []byte
	for run, belongs := range runs(text, belongs) {
		if !belongs {
			marks = append(marks, run...)
			continue
		}
		list = append(list, string(run))
		marks = append(marks, 'a')
	}
	return list, string(marks)
}

// Shape is a text without the parts that a service makes for each response: numbers with what
// belongs to them, ids, times. Services that make them in the same way have the same shape.
//
//	/orders/17?state=8f3kq92x   /orders/#?state=#
//	max-age=60                  max-age=#
func Shape(text string) string {
	s := []byte(text[:min(len(text), textMost)])
	if f, _ := classify(s); f.class == classTime && strings.HasPrefix(f.words, "a time as ") {
		return f.String()
	}
	var shape []byte
	for run, belongs := range runs(s, isTokenByte) {
		switch class := classifyTimeless(run).class; {
		case !belongs:
			shape = append(shape, run...)
		case class == classUUID, class == classHex, class == classToken, len(run) >= 8 && hexLetters.only(run): // an id
			shape = append(shape, '#')
		default:
			for part := range runs(run, isLetterOrDigit) {
				if bytes.ContainsAny(part, "0123456789") {
					part = []byte{'#'}
				}
				shape = append(shape, part...)
			}
		}
	}
	return strings.ReplaceAll(string(shape), "#.#", "#")
}

// runs gives the longest parts of a text whose bytes all belong to a piece, and those whose do
// not, in order. What is not ASCII belongs to one.
func runs(text []byte, belongs func(byte) bool) iter.Seq2[[]byte, bool] {
	is := func(b byte) bool { return b >= 0x80 || belongs(b) }
	return func(yield func([]byte, bool) bool) {
		for start := 0; start < len(text); {
			end := start + 1
			for end < len(text) && is(text[end]) == is(text[start]) {
				end++
			}
			if !yield(text[start:end:end], is(text[start])) {
				return
			}
			start = end
		}
	}
}

func isLetterOrDigit(b byte) bool { return alphanumeric[b] }

func isTokenByte(b byte) bool { return tokenChars[b] }

// decoded is the text that base64 stands for, with the members of an object in order; nil: it
// stands for none. Twelve bytes at least are a text: as many random ones are none.
func decoded(text []byte) []byte {
	text = bytes.TrimRight(text[:min(len(text), textMost)], "=")
	coding := base64.RawStdEncoding
	if bytes.ContainsAny(text, "-_") {
		coding = base64.RawURLEncoding
	}
	b, err := coding.AppendDecode(nil, text)
	if err != nil || len(b) < 12 || bytes.ContainsFunc(b, func(r rune) bool { return r < ' ' && r != '\n' || r == utf8.RuneError }) {
		return nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(b, &members) == nil {
		b, _ = json.Marshal(members)
	}
	return b
}
