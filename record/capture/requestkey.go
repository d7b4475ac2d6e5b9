package capture

import (
	"crypto/sha256"
	"hash"
	"io"

	"whittle"
)

// RequestKey names a request: two of the same key should have the same response.
type RequestKey [16]byte

// KeyOf gives a request's key. What a user is known by and what the response is
// chosen by are of it, beside method, target and body.
func KeyOf(q *whittle.Request) RequestKey {
	h := sha256.New()
	part(h, q.Method)
	part(h, q.Target)
	for _, name := range [...]string{"Authorization", "Cookie", "Accept", "Accept-Language", "Content-Type"} {
		part(h, q.Header.Get(name))
	}
	h.Write(q.Body)
	var k RequestKey
	copy(k[:], h.Sum(nil))
	return k
}

func part(h hash.Hash, s string) {
	_, _ = io.WriteString(h, s) // a hash does not fail
	h.Write([]byte{0})
}
