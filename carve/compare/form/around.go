package form

import (
	"bytes"
	"encoding/json"
	"time"

	"whittle/carve/compare/digest"
)

// How far from now a time may lie to be one of now, and to be looked at. What is usual, such as
// 5, 15 or 60 minutes or a day, lies well within a class.
const (
	distanceNow  = 88 * time.Second
	distanceMost = 366 * 24 * time.Hour
)

// aroundMost bounds the text that is looked at, in bytes.
const aroundMost = 4 << 10

// around hashes what of a text stays when what may vary in it is taken out: a link with a
// signature, a path with an id, a sentence with a time, the header and claims of a token. What has
// digits, or turns from lower to upper case as no word does, may vary; where it is a value
// of the request, which one it is stays, and of a time how far from now it is. 0: the text is
// of a class that has no words.
func around(class formClass, text []byte, request map[uint64]string, now time.Time) uint64 {
	switch class {
	case classJWT:
		if text = claimsOf(text); text == nil {
			return 0
		}
	case classText, classURL, classEmail:
	default:
		return 0
	}
	text = text[:min(len(text), aroundMost)]
	path, query, _ := bytes.Cut(text, []byte("?"))
	sum := aroundPart(path, request, now)
	for part := range bytes.SplitSeq(query, []byte("&")) { // in any order
		sum += digest.Stir(aroundPart(part, request, now))
	}
	return sum | 1
}

func aroundPart(s []byte, request map[uint64]string, now time.Time) uint64 {
	var h digest.Hash
	for len(s) > 0 {
		n := 0
		for n < len(s) && isTokenByte(s[n]) {
			n++
		}
		if n == 0 {
			h.Byte(s[0])
			s = s[1:]
			continue
		}
		if token := s[:n]; varies(token) {
			h.Byte('#')
			h.Text(request[digest.FNV(token)])
			h.Byte(distance(token, now))
		} else {
			h.Text(string(token))
		}
		s = s[n:]
	}
	return uint64(h)
}

// distance is the class of how far a time lies from now: within distanceNow, or up to so many
// doublings of it ahead or behind; 0: it is no time, or none of this year's.
func distance(token []byte, now time.Time) byte {
	if len(token) < 10 || now.IsZero() {
		return 0
	}
	at, _, ok := readTime(token)
	if !ok {
		return 0
	}
	class, far := byte(1), at.Sub(now)
	if far < 0 {
		class, far = 101, -far
	}
	if far > distanceMost {
		return 0
	}
	if far <= distanceNow {
		return 1
	}
	for ; far > distanceNow; far /= 2 {
		class++
	}
	return class
}

func isTokenByte(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '_' || b == '-'
}

// varies reports whether a piece of a text is none of its words.
func varies(token []byte) bool {
	return len(token) > 40 || turnsOf(token) > 3 || bytes.ContainsAny(token, "0123456789")
}

// claimsOf are a JWT's header and claims as JSON, their names in order; nil: it has none.
func claimsOf(token []byte) (list []byte) {
	header, claims := tokenParts(token)
	for _, part := range [][]byte{header, claims} {
		var all map[string]any
		if json.Unmarshal(part, &all) != nil {
			return nil
		}
		b, err := json.Marshal(all)
		if err != nil {
			return nil
		}
		list = append(list, b...)
	}
	return list
}
