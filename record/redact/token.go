package redact

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strconv"
)

// A secret becomes "redacted-" and twelve hexadecimal digits of its keyed hash:
// two of a million different secrets have the same token with a chance of
// 1 in 560 (the birthday bound), and no token can be turned back without the
// key. A token is left as it is, so that a value stays the same if it is redacted
// twice, or echoed by a service that was sent the token.
const (
	tokenPrefix = "redacted-"
	tokenDigits = 12
)

// appendToken appends the token for a secret. An empty one stays empty.
func (r *Redactor) appendToken(dst, secret []byte) []byte {
	if len(secret) == 0 || isToken(secret) {
		return append(dst, secret...)
	}
	sum := r.mac(secret)
	dst = append(dst, tokenPrefix...)
	return hex.AppendEncode(dst, sum[:tokenDigits/2])
}

func isToken(b []byte) bool {
	return len(b) == len(tokenPrefix)+tokenDigits && string(b[:len(tokenPrefix)]) == tokenPrefix && runEnd(b, len(tokenPrefix), hexLower) == len(b)
}

// A JSON number that is secret becomes a number, so that a contract inferred
// from it keeps the type: sixteen digits. The first is 8, eleven are
// the hash's, and four a keyed check by which the token is known again. It is a
// whole number below 2^53, which every language's floats hold exactly, and no
// card number, since those do not begin with 8.
const (
	numberDigits = 16
	hashRange    = 100_000_000_000 // 11 digits
	checkRange   = 10_000
)

func (r *Redactor) appendNumber(dst, secret []byte) []byte {
	if r.isNumberToken(secret) {
		return append(dst, secret...)
	}
	sum := r.mac(secret)
	body := 8*hashRange + binary.BigEndian.Uint64(sum[:8])%hashRange
	return strconv.AppendUint(dst, body*checkRange+r.check(body), 10)
}

// check is not the hash of any secret: those are texts, and this begins with 0.
func (r *Redactor) check(body uint64) uint64 {
	var b [9]byte
	binary.BigEndian.PutUint64(b[1:], body)
	sum := r.mac(b[:])
	return binary.BigEndian.Uint64(sum[:8]) % checkRange
}

func (r *Redactor) isNumberToken(b []byte) bool {
	if len(b) != numberDigits || b[0] != '8' {
		return false
	}
	n, err := strconv.ParseUint(string(b), 10, 64)
	return err == nil && r.check(n/checkRange) == n%checkRange
}

// NumberTokens gives the numbers of a JSON text, or of any other, that may stand
// for secret ones. Only who has the key can tell which do; one number of sixteen
// digits in nine looks like it.
func NumberTokens(b []byte) (all [][]byte) {
	part := func(i int) bool {
		return i >= 0 && i < len(b) && (isDigit(b[i]) || isLetter(b[i]) || bytes.IndexByte([]byte(`._-+"'`), b[i]) >= 0)
	}
	for i := 0; i < len(b); i++ {
		if !isDigit(b[i]) {
			continue
		}
		end := digits(b, i)
		if b[i] == '8' && end-i == numberDigits && !part(i-1) && !part(end) {
			all = append(all, b[i:end])
		}
		i = end
	}
	return all
}
