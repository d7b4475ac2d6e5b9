package transcode

import (
	"cmp"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"whittle"
)

// maxMessage bounds an RPC error's message, in bytes.
const maxMessage = 1024

// rpcError is an error that the candidate gave by its protocol's rules.
type rpcError struct {
	name    string // the code as the protocol spells it
	code    whittle.Code
	message string
	// response is what the error carries for users. Nil: nothing.
	response *verbatim
}

func (e *rpcError) Error() string { return e.name + ": " + e.message }

func (e *rpcError) status() int { return e.code.HTTPStatus() }

// body is what the user sees. What went wrong inside the service is not for
// users: from 500 on they get the code alone.
func (e *rpcError) body() []byte {
	if e.status() >= 500 || e.message == "" {
		return []byte(e.name + "\n")
	}
	return []byte(e.name + ": " + e.message + "\n")
}

func newRPCError(name string, code whittle.Code, message string) *rpcError {
	if len(message) > maxMessage {
		message = message[:maxMessage] + "…"
	}
	return &rpcError{name: name, code: code, message: strings.ToValidUTF8(message, "\uFFFD")}
}

// codes are the RPC codes of gRPC (by their index), Connect and Twirp in the
// module's. A code that the service has no business giving for a call that is
// under way means that the candidate is at fault, and counts as such.
var codes = map[string]whittle.Code{
	"unknown":             whittle.Internal,
	"invalid_argument":    whittle.Invalid,
	"deadline_exceeded":   whittle.DeadlineExceeded,
	"not_found":           whittle.NotFound,
	"already_exists":      whittle.FailedPrecondition,
	"permission_denied":   whittle.PermissionDenied,
	"resource_exhausted":  whittle.ResourceExhausted,
	"failed_precondition": whittle.FailedPrecondition,
	"aborted":             whittle.FailedPrecondition,
	"out_of_range":        whittle.Invalid,
	"unimplemented":       whittle.Unsupported,
	"internal":            whittle.Internal,
	"unavailable":         whittle.Unavailable,
	"data_loss":           whittle.Internal,
	"unauthenticated":     whittle.Unauthenticated,
	// The caller did not end this call, or its response would not be read here.
	"canceled": whittle.Unavailable,
	// Twirp's own: a request that was made here could not be read, or has no
	// procedure there, so the two do not share a contract.
	"malformed": whittle.Internal,
	"bad_route": whittle.Unsupported,
	"dataloss":  whittle.Internal,
}

// grpcNames are gRPC's codes by their number.
var grpcNames = [...]string{
	"ok", "canceled", "unknown", "invalid_argument", "deadline_exceeded", "not_found", "already_exists",
	"permission_denied", "resource_exhausted", "failed_precondition", "aborted", "out_of_range",
	"unimplemented", "internal", "unavailable", "data_loss", "unauthenticated",
}

// errorOf reads the JSON error that Twirp and Connect share but for the name
// of the message; what comes from something in between is known by its status.
func errorOf(a *whittle.Response) error {
	var body struct {
		Code    string `json:"code"`
		Msg     string `json:"msg"`     // Twirp
		Message string `json:"message"` // Connect
	}
	if isJSON(a.Header.Get("Content-Type")) && json.Unmarshal(a.Body, &body) == nil {
		if code, ok := codes[body.Code]; ok {
			e := newRPCError(body.Code, code, cmp.Or(body.Msg, body.Message))
			e.response = carried(a.Body)
			return e
		}
	}
	return byStatus(a.Status)
}

// byStatus names a response that is not of the protocol by its HTTP status,
// after gRPC's table ("HTTP to gRPC status code mapping").
func byStatus(status int) error {
	name := "unknown"
	switch status {
	case 400:
		name = "internal"
	case 401:
		name = "unauthenticated"
	case 403:
		name = "permission_denied"
	case 404:
		name = "unimplemented"
	case 429, 502, 503, 504:
		name = "unavailable"
	}
	return newRPCError(name, codes[name], "HTTP status "+strconv.Itoa(status))
}

// grpcStatus gives the error of a gRPC answer, from the trailers or, where the
// response is nothing but trailers, from the header. Nil: the call went well.
func grpcStatus(a *whittle.Response) error {
	if a.Status != 200 {
		return byStatus(a.Status)
	}
	from := a.Trailer
	if len(from["Grpc-Status"]) == 0 {
		from = a.Header
	}
	text := from.Get("Grpc-Status")
	if text == "" {
		return errors.New("the response ended without a grpc-status")
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return errors.New("the grpc-status is not a number")
	}
	if n == 0 {
		return nil
	}
	name := "unknown"
	if n < uint64(len(grpcNames)) {
		name = grpcNames[n]
	}
	e := newRPCError(name, codes[name], percentDecoded(from.Get("Grpc-Message")))
	e.response = inTrailer(from)
	return e
}

// percentDecoded undoes gRPC's encoding of a message, and leaves as they are
// the signs that do not belong to it.
func percentDecoded(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b = append(b, byte(v))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}
