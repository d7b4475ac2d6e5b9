package expr

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"unicode/utf8"
)

// IsName reports whether a text may name a variable.
func IsName(s string) bool {
	for i, c := range s {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		further := c == '-' || c >= '0' && c <= '9'
		if !letter && (i == 0 || !further) {
			return false
		}
	}
	return s != ""
}

// Letters are what a random text is made of unless a plan says otherwise.
const Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// RandomString draws n of some letters.
func RandomString(rng *rand.Rand, from []rune, n int) string {
	b := make([]byte, 0, n)
	for range n {
		b = utf8.AppendRune(b, from[rng.IntN(len(from))])
	}
	return string(b)
}

// UUID makes a version 4 UUID (RFC 9562, section 5.4).
func UUID(rng *rand.Rand) string {
	high, low := rng.Uint64(), rng.Uint64()
	high = high&^0xf000 | 0x4000
	low = low&^(0xc<<60) | 0x8<<60
	var id [16]byte
	binary.BigEndian.PutUint64(id[:], high)
	binary.BigEndian.PutUint64(id[8:], low)
	text := make([]byte, 0, 36) // not by fmt: a plan may draw one for each request
	text = append(hex.AppendEncode(text, id[:4]), '-')
	text = append(hex.AppendEncode(text, id[4:6]), '-')
	text = append(hex.AppendEncode(text, id[6:8]), '-')
	text = append(hex.AppendEncode(text, id[8:10]), '-')
	return string(hex.AppendEncode(text, id[10:]))
}

// MaxRandom keeps random numbers within what JSON readers hold exactly.
const MaxRandom = 1 << 53
