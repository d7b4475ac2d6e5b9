package capture

import "strings"

// PathShape is a target's path with * for each segment that looks like an id.
func PathShape(target string) string {
	path, _, _ := strings.Cut(target, "?")
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if looksLikeID(s) {
			segments[i] = "*"
		}
	}
	return strings.Join(segments, "/")
}

// longID is from how many characters on letters with digits among them, and
// nothing else, are taken for an id and not for a name such as "oauth2".
const longID = 16

// looksLikeID says whether a path's segment is a number, a UUID, a hash or the
// like.
func looksLikeID(segment string) bool {
	digits, hex, others := 0, 0, 0
	for i := range len(segment) {
		switch c := segment[i]; {
		case '0' <= c && c <= '9':
			digits++
		case 'a' <= c && c <= 'f', 'A' <= c && c <= 'F', c == '-':
			hex++
		case 'g' <= c && c <= 'z', 'G' <= c && c <= 'Z', c == '_':
			others++
		default:
			return false
		}
	}
	switch {
	case digits == 0:
		return false
	case others == 0:
		return hex == 0 || digits+hex >= longID/2
	}
	return digits >= 2 && len(segment) >= longID
}
