package kinesis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"whittle"
	"whittle/systems/ingest/stream"
)

const throughputExceeded = "ProvisionedThroughputExceededException"

// perRecord classifies the error of one record in a response. Kinesis names
// only records so that it did not take.
func perRecord(code, message string) error {
	class := whittle.Unavailable
	if code == throughputExceeded {
		class = whittle.ResourceExhausted
	}
	return whittle.Errorf(class, "%w", &stream.Refusal{Name: code, Err: fmt.Errorf("kinesis refused the record: %s: %s", code, message)})
}

// ofCall classifies the failure of a whole call: what became of its records,
// and an error with a code. Whatever is not surely without effect is unknown.
func ofCall(err error) outcome {
	if _, ok := errors.AsType[*v4.SigningError](err); ok {
		return outcome{disposition: refused, cause: whittle.Errorf(whittle.Unavailable, "sign the call to kinesis: %w", err)}
	}
	if isDial(err) {
		return outcome{disposition: refused, cause: whittle.Errorf(whittle.Unavailable, "reach kinesis: %w", err)}
	}
	api, responded := errors.AsType[smithy.APIError](err)
	status := 0
	if r, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		status = r.HTTPStatusCode()
	}
	if !responded || status >= http.StatusInternalServerError {
		code := whittle.DeadlineExceeded
		if errors.Is(err, context.Canceled) {
			code = whittle.Canceled
		}
		return outcome{disposition: unknown, cause: whittle.Errorf(code, "call kinesis: %w", err)}
	}
	code := api.ErrorCode()
	err = &stream.Refusal{Name: code, Err: err}
	switch {
	case isThrottle(code):
		return outcome{disposition: refused, cause: whittle.Errorf(whittle.ResourceExhausted, "call kinesis: %w", err)}
	case code == "ValidationException", code == "InvalidArgumentException", code == "SerializationException",
		status == http.StatusRequestEntityTooLarge:
		return outcome{disposition: rejected, cause: whittle.Errorf(whittle.Invalid, "put record: kinesis takes no such record: %w", err)}
	default:
		// The stream is not there or not ours: the records are in order.
		return outcome{disposition: refused, cause: whittle.Errorf(whittle.Unavailable, "call kinesis: %w", err)}
	}
}

func isThrottle(code string) bool {
	return code == throughputExceeded || code == "LimitExceededException" ||
		code == "KMSThrottlingException" || strings.HasPrefix(code, "Throttling")
}

// isDial says that no connection came about, so nothing was sent.
func isDial(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// ofRequest classifies the failure of a call that changes nothing.
func ofRequest(what string, err error) error {
	code := whittle.Unavailable
	hint := ""
	api, responded := errors.AsType[smithy.APIError](err)
	switch {
	case errors.Is(err, context.Canceled):
		code = whittle.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		code = whittle.DeadlineExceeded
	case !responded:
	case api.ErrorCode() == "ResourceNotFoundException":
		code, hint = whittle.NotFound, "create it: aws kinesis create-stream --stream-name NAME --shard-count N"
	case strings.Contains(api.ErrorCode(), "AccessDenied"):
		code, hint = whittle.PermissionDenied, "the credentials need kinesis:PutRecords and ListShards"
	case strings.Contains(api.ErrorCode(), "UnrecognizedClient"), strings.Contains(api.ErrorCode(), "Signature"), strings.Contains(api.ErrorCode(), "Token"):
		code, hint = whittle.Unauthenticated, "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
	case isThrottle(api.ErrorCode()):
		code = whittle.ResourceExhausted
	case api.ErrorCode() == "ValidationException", api.ErrorCode() == "InvalidArgumentException":
		code = whittle.Invalid
	}
	return whittle.Errorf(code, "%s: %w", what, err).WithHint(hint)
}
