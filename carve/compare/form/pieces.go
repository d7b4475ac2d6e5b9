package form

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// piecesMost bounds the pieces of one text.
const piecesMost = 24

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
	case classToken, classBase64, classBase64URL:
		if text = decoded(text); text == nil {
			return nil, ""
		}
		if text[0] == '{' {
			if list, between = memberPieces("member ", text); list != nil {
				return list, between
			}
		}
	case classText, classURL, classEmail:
	default:
		return nil, ""
	}
	text = text[:min(len(text), aroundMost)]
	if list, between = textPieces(text, isTokenByte); len(list) == 1 { // such as INV-2026-000123
		list, between = textPieces(text, func(b byte) bool { return isTokenByte(b) && b != '-' && b != '_' })
	}
	if len(list) < 2 {
		return nil, ""
	}
	return list, between
}

// textPieces are what stands between the bytes of a text that belong to no piece; none where
// there are too many.
func textPieces(text []byte, belongs func(byte) bool) (list []Piece, between string) {
	var marks []byte
	for len(text) > 0 {
		n := bytes.IndexFunc(text, func(r rune) bool { return r < 0x80 && !belongs(byte(r)) })
		if n < 0 {
			n = len(text)
		}
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
	header, claims := tokenParts(token)
	if list, between = memberPieces("claim ", claims); list == nil {
		return nil, ""
	}
	of, names := memberPieces("header ", header)
	if len(list)+len(of) > piecesMost {
		return nil, ""
	}
	return append(of, list...), names + "\x00" + between
}

// tokenParts are the header and the claims of a JWT, as JSON; nil: it has none, or is too long.
func tokenParts(token []byte) (header, claims []byte) {
	parts := bytes.Split(token, []byte("."))
	if len(token) > aroundMost || len(parts) != 3 {
		return nil, nil
	}
	for i, of := range []*[]byte{&header, &claims} {
		b, err := base64.RawURLEncoding.AppendDecode(nil, parts[i])
		if err != nil {
			return nil, nil
		}
		*of = b
	}
	return header, claims
}

// memberPieces are the members of an object, by name.
func memberPieces(what string, object []byte) (list []Piece, between string) {
	var all map[string]json.RawMessage
	if json.Unmarshal(object, &all) != nil || len(all) > piecesMost {
		return nil, ""
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, Piece{what + name[:min(len(name), echoNameMost)], string(all[name])})
		between += name + "\x00"
	}
	return list, between
}

// decodedLeast is how many bytes base64 must stand for to be taken for a text: as many random
// ones are none.
const decodedLeast = 12

// decoded is the text that base64 stands for; nil: it stands for none.
func decoded(text []byte) []byte {
	if len(text) > aroundMost {
		return nil
	}
	text = bytes.TrimRight(text, "=")
	coding := base64.RawStdEncoding
	if bytes.ContainsAny(text, "-_") {
		coding = base64.RawURLEncoding
	}
	b, err := coding.AppendDecode(nil, text)
	if err != nil || len(b) < decodedLeast || bytes.ContainsFunc(b, func(r rune) bool { return r < ' ' && r != '\n' || r > '~' }) {
		return nil
	}
	return b
}
