package relay

import (
	"crypto/rand"
	"encoding/base64"
	"strconv"
	"strings"

	"whittle/systems/ingest/stream"
)

// OriginHeader is the header that a relay and a move add to each record they
// send, last in order. Its value is the sender's id and the record's number
// there, "id/number", and for a move "id/number/digest". By it a sender finds
// at the sink's end what the sink already has.
const OriginHeader = "Whittle-Origin"

// originLen is the room that an origin may take in a record's encoding: the
// name, an id, a number of 20 digits, a digest, separators and lengths.
const originLen = len(OriginHeader) + idLen + 20 + digestText + 16

const idLen = 11 // of 8 random bytes

func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func formatOrigin(id string, seq uint64, digest string) string {
	s := id + "/" + strconv.FormatUint(seq, 10)
	if digest != "" {
		s += "/" + digest
	}
	return s
}

// originOf finds the origin that the sender named id left on a record, and
// where in the headers it is.
func originOf(r *stream.Record, id string) (seq uint64, digest string, at int, ok bool) {
	for i := len(r.Header) - 1; i >= 0; i-- {
		if r.Header[i].Name != OriginHeader {
			continue
		}
		rest, mine := strings.CutPrefix(r.Header[i].Value, id+"/")
		if !mine {
			continue
		}
		number, digest, _ := strings.Cut(rest, "/")
		seq, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			continue
		}
		return seq, digest, i, true
	}
	return 0, "", 0, false
}
