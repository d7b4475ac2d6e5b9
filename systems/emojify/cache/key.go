package cache

import (
	"encoding/hex"
	"strings"

	"whittle"
)

// Key names an item: a SHA-256. It is the only part of a request that becomes
// part of a path.
type Key [32]byte

// ParseKey reads 64 lower-case hexadecimal digits; Invalid for all else.
func ParseKey(s string) (Key, error) {
	var k Key
	if len(s) != hex.EncodedLen(len(k)) || strings.Trim(s, "0123456789abcdef") != "" {
		return k, whittle.Errorf(whittle.Invalid, "a key is 64 lower-case hexadecimal digits")
	}
	_, err := hex.Decode(k[:], []byte(s))
	return k, err
}

// String is what ParseKey reads.
func (k Key) String() string { return hex.EncodeToString(k[:]) }
