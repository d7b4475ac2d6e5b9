package front

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
)

// maxRequestID bounds the id that a client or a proxy gave.
const maxRequestID = 128

// requestID is the one that came, if it can stand in a header and a log line,
// or a new one.
func requestID(h http.Header) string {
	if given := h["X-Request-Id"]; len(given) == 1 && plain(given[0], maxRequestID) {
		return given[0]
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], rand.Uint64())
	var text [2 * len(b)]byte
	hex.Encode(text[:], b[:])
	return string(text[:])
}

// newID makes a messageId: 128 bits of the runtime's ChaCha8, so that nobody can
// foresee one and have another's event called its duplicate.
func newID() string {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], rand.Uint64())
	binary.LittleEndian.PutUint64(b[8:], rand.Uint64())
	var text [2 * len(b)]byte
	hex.Encode(text[:], b[:])
	return string(text[:])
}

// plain reports whether s is 1 to most visible ASCII characters.
func plain(s string, most int) bool {
	if s == "" || len(s) > most {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
