package nats

import (
	"errors"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"whittle"
	"whittle/systems/ingest/stream"
)

// Codes of JetStream's responses that the client has no names for.
const (
	codeNoResources = 10023 // the account or the server is full
	codeTooLarge    = 10054 // message size exceeds maximum allowed
	codeStoreFailed = 10077 // the store's own error, in the description
	codeHeadTooLong = 10097 // header size exceeds maximum allowed
)

// isFinal reports whether err is JetStream's response. Publishing again would
// not change it.
func isFinal(err error) bool {
	_, ok := errors.AsType[*jetstream.APIError](err)
	return ok
}

// outcome returns a failure with its code. doubtful reports that the record was
// published before without a response, so that it may be stored whatever the
// last response was.
func outcome(err error, doubtful bool) error {
	const doing = "append to NATS JetStream"
	refused, ok := errors.AsType[*jetstream.APIError](err)
	if ok {
		err = &stream.Refusal{Name: "JetStream error " + strconv.Itoa(int(refused.ErrorCode)), Err: err}
	}
	switch {
	case doubtful:
		return whittle.Errorf(whittle.DeadlineExceeded, "%s: %w", doing, err)
	case !ok:
		return whittle.Errorf(whittle.Unavailable, "%s: %w", doing, err)
	case refused.ErrorCode == codeTooLarge, refused.ErrorCode == codeHeadTooLong:
		return whittle.Errorf(whittle.Invalid, "%s: %w", doing, err)
	case refused.ErrorCode == codeNoResources, refused.ErrorCode == codeStoreFailed && isFull(refused):
		return whittle.Errorf(whittle.ResourceExhausted, "%s: %w", doing, err)
	case refused.ErrorCode == codeStoreFailed:
		return whittle.Errorf(whittle.Internal, "%s: %w", doing, err)
	}
	return whittle.Errorf(whittle.Unavailable, "%s: %w", doing, err)
}

// isFull reports whether the store refused because of a bound of the stream, which it
// checks before it writes.
func isFull(err *jetstream.APIError) bool { return strings.HasPrefix(err.Description, "maximum ") }
