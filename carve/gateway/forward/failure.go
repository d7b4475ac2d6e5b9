package forward

import (
	"errors"
	"maps"
	"net/http"
	"os"
	"strconv"

	"whittle"
	"whittle/carve/gateway/inbound"
	"whittle/carve/gateway/upstream"
)

// WriteError responds in whittle's own name, with the extra fields: short, and without the
// cause.
func WriteError(w http.ResponseWriter, extra http.Header, status int) {
	WriteErrorText(w, extra, status, http.StatusText(status)+"\n")
}

// FailureField says, in a response of whittle's own, whose failure it is and which one:
// "monolith timeout". Without it a proxy in front would take an upstream's failure for
// whittle's.
const FailureField = "X-Whittle-Failure"

// Blamed is FailureField for a side that failed, or nothing where the client did.
func Blamed(side whittle.Side, failure whittle.Failure) http.Header {
	if failure == whittle.NoFailure || failure == whittle.FailedCanceled {
		return http.Header{}
	}
	return http.Header{FailureField: {side.String() + " " + string(failure)}}
}

var closing = http.Header{"Connection": {"close"}}

// Closing are the fields that end the request's connection after its response, or
// none: over HTTP/2 they would end the requests of others on the connection, too.
func Closing(r *http.Request) http.Header {
	if r.ProtoMajor != 1 {
		return nil
	}
	return closing
}

// WriteErrorText responds with a text, and with the extra fields.
func WriteErrorText(w http.ResponseWriter, extra http.Header, status int, text string) {
	h := w.Header()
	clear(h)
	maps.Copy(h, extra)
	h["Content-Type"] = []string{"text/plain; charset=utf-8"}
	h["Content-Length"] = []string{strconv.Itoa(len(text))}
	h["X-Content-Type-Options"] = []string{"nosniff"}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // the client may have gone
}

// FailureStatus is the status for a client when there is no response to pass on.
// body is the client's own error, if any; err is the error of the whole.
func FailureStatus(failure whittle.Failure, body, err error) int {
	switch {
	case errors.Is(body, inbound.ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(body, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout
	case body != nil, errors.Is(err, upstream.ErrTarget):
		return http.StatusBadRequest
	case failure == whittle.FailedBusy:
		return http.StatusServiceUnavailable
	case failure == whittle.FailedTimeout:
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}
