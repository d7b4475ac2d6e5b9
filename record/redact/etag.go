package redact

import (
	"crypto/md5"  //nolint:gosec // what servers make of a body
	"crypto/sha1" //nolint:gosec // likewise
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
)

// etagAround is what servers write around the digest in an entity tag: Express the body's length
// before it, and others behind it the coding, or of how many parts it is the digest.
var (
	etagBefore = regexp.MustCompile(`^[0-9a-f]+-`)
	etagBehind = regexp.MustCompile(`(?:[-;:.]+(?:gzip|br|zstd|deflate|df|[0-9]+))+$`)
)

// leastDigest is how many digits of a digest an entity tag has at least: some have its beginning.
const leastDigest = 16

// forgetTags drops the entity tags that are a digest of a body. It would let a short secret in the
// body be guessed; any other tag tells nothing of it, and stays.
func forgetTags(values []string, bodies ...[]byte) []string {
	var sums [][]byte
	for _, b := range bodies {
		if b == nil {
			continue
		}
		m, s, l := md5.Sum(b), sha1.Sum(b), sha256.Sum256(b) //nolint:gosec // to find them
		parts := md5.Sum(m[:])                               //nolint:gosec // S3's, of an upload in one part
		sums = append(sums, m[:], s[:], l[:], parts[:])
	}
	return slices.DeleteFunc(slices.Clone(values), func(tag string) bool {
		tag = strings.Trim(strings.TrimPrefix(strings.TrimSpace(tag), "W/"), `"`)
		cut := etagBehind.ReplaceAllString(tag, "")
		return slices.ContainsFunc([]string{tag, cut, etagBefore.ReplaceAllString(tag, ""), etagBefore.ReplaceAllString(cut, "")},
			func(t string) bool {
				return slices.ContainsFunc(sums, func(sum []byte) bool { return isDigest(t, sum) })
			})
	})
}

// isDigest reports whether a text is a digest, or its beginning, in hexadecimal or in base64.
func isDigest(text string, sum []byte) bool {
	if len(text) < leastDigest {
		return false
	}
	if strings.HasPrefix(hex.EncodeToString(sum), strings.ToLower(text)) {
		return true
	}
	text = strings.TrimRight(text, "=")
	return strings.HasPrefix(base64.RawStdEncoding.EncodeToString(sum), text) || strings.HasPrefix(base64.RawURLEncoding.EncodeToString(sum), text)
}
