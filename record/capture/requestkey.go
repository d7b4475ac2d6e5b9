package capture

import (
	"crypto/sha256"
	"hash"
	"io"

	"whittle"
)

// RequestKey identifies a request: two requests with the same key should get
// the same response.
type RequestKey [16]byte

// KeyOf returns a request's key: method, target, body, and the headers that
// identify the caller and negotiate the content.
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
