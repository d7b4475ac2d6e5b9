package form

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// piecesMost bounds the pieces of one text.
const piecesMost = 24

// Piece is a part of a text between two marks, or a claim of a token.
type Piece struct{ Name, Text string }

// Pieces are those of a text of which the monolith changes some and not others: a link with
// a signature, a sentence with a time, the claims of a token. None of a value of another
// class, or of one piece. Two texts have the same pieces only if what stands between them is
// the same, which between says.
func Pieces(text []byte) (list []Piece, between string) {
	switch classify(text).class {
	case classJWT:
		return claimPieces(text)
	case classText, classURL, classEmail:
	default:
		return nil, ""
	}
	var marks []byte
	text = text[:min(len(text), aroundMost)]
	for len(text) > 0 {
		n := bytes.IndexFunc(text, func(r rune) bool { return r < 0x80 && !isTokenByte(byte(r)) })
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
	if len(list) < 2 {
		return nil, ""
	}
	return list, string(marks)
}

// claimPieces are a token's claims, by name.
func claimPieces(token []byte) (list []Piece, between string) {
	parts := bytes.Split(token, []byte("."))
	if len(token) > aroundMost || len(parts) != 3 {
		return nil, ""
	}
	b, err := base64.RawURLEncoding.AppendDecode(nil, parts[1])
	if err != nil {
		return nil, ""
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(b, &all) != nil || len(all) > piecesMost {
		return nil, ""
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, Piece{"claim " + name[:min(len(name), echoNameMost)], string(all[name])})
		between += name + "\x00"
	}
	return list, between
}
