package har

import (
	"strconv"

	"whittle"
	"whittle/internal/coding"
	"whittle/record/capture"
)

func connectionName(n uint64) string { return "c" + strconv.FormatUint(n, 10) }

// Unpacked gives a response's body as an archive has it, without its
// Content-Encoding; false, and the body as it is, where that cannot be taken
// away: an unknown coding, a cut body, one that would be too long.
func Unpacked(a *whittle.Response) ([]byte, bool) {
	if coding.Plain(a.Header) || len(a.Body) == 0 {
		return a.Body, true
	}
	if a.Truncated {
		return a.Body, false
	}
	body, err := coding.Decode(a.Header, a.Body, capture.MaxBody)
	if err != nil {
		return a.Body, false
	}
	return body, true
}
