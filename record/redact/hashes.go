package redact

import "bytes"

// Hashes of passwords, as crypt(3) and its successors write them, are found out by trying
// passwords, so they are as secret as these: $2b$12$…, $6$…, $argon2id$v=19$….

// hashes are their beginnings, each with the byte behind which its first digit stands.
var hashes = [...]string{"$1$", "$2a$", "$2b$", "$2y$", "$5$", "$6$", "$apr1$", "$argon2d$", "$argon2i$", "$argon2id$"}

// hashed looks for such a hash whose first digit is at i, and gives where it ended, 0 where
// there is none.
func (t *scan) hashed(i int) int {
	const least = 28 // the shortest, of MD5, without its salt
	b := t.src
	if !t.w.r.credential || i == 0 {
		return 0
	}
	start := i - 1
	switch b[start] {
	case '$':
	case 'n':
		start = i - len("$argon")
	case 'r':
		start = i - len("$apr")
	default:
		return 0
	}
	if start < t.from {
		return 0
	}
	for _, begin := range hashes {
		if !bytes.HasPrefix(b[start:], []byte(begin)) {
			continue
		}
		end := start
		for end < len(b) && (b[end] == ',' || b[end] != '@' && b[end] != ':' && wide.has(b[end])) {
			end++
		}
		t.w.looked += end - start
		if end-start < least {
			return 0
		}
		return t.replace(start, end)
	}
	return 0
}

// opaque are beginnings of JSON in base64 that is a key: Grafana's and Cloudflare's.
var opaque = [...]string{"eyJrIjoi", "eyJhIjoi"}

// encodedKey looks for such a key that begins at start.
func (t *scan) encodedKey(start int) int {
	const least = 60
	b := t.src
	for _, begin := range opaque {
		if !bytes.HasPrefix(b[start:], []byte(begin)) || !t.begins(start) {
			continue
		}
		end := start
		for end < len(b) && standard.has(b[end]) {
			end++
		}
		t.w.looked += end - start
		if end-start >= least {
			return t.replace(start, end)
		}
	}
	return 0
}
