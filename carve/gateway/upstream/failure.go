package upstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"

	"whittle"
)

// Errors of an exchange, other than those of the operating system.
var (
	// ErrTarget says that the request cannot be sent as it is; nothing was sent.
	ErrTarget    = errors.New("the request target cannot stand on a request line")
	errTruncated = errors.New("the response ended before its announced length")
	errNoHead    = errors.New("the connection ended before a whole response header had come")
	// ErrMalformed says that the upstream broke the protocol.
	ErrMalformed    = errors.New("the response is not well-formed HTTP/1.1")
	errHeadSize     = errors.New("the response's header is larger than allowed")
	errResponseSize = errors.New("the response is larger than allowed")
	errNoRoom       = errors.New("the route's memory has no room for the response")
	errNoSpare      = errors.New("users leave no connection of this upstream to spare")
	errNoSlot       = errors.New("every connection allowed to this upstream stayed in use")
)

// Classify names the way in which an upstream failed.
func Classify(err error) whittle.Failure {
	switch {
	case err == nil:
		return whittle.NoFailure
	case errors.Is(err, errNoSlot), errors.Is(err, errNoSpare):
		return whittle.FailedBusy
	case errors.Is(err, context.Canceled):
		return whittle.FailedCanceled
	case errors.Is(err, errResponseSize), errors.Is(err, errHeadSize):
		return whittle.FailedTooLarge
	case errors.Is(err, ErrMalformed):
		return whittle.FailedMalform
	case isDial(err):
		return whittle.FailedConnect
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), isTimeout(err):
		return whittle.FailedTimeout
	case isBroken(err), isLeft(err.Error()):
		return whittle.FailedReset
	}
	return whittle.FailedMalform // net/http has no error type for what it could not parse
}

// isDial reports that no connection came about, so that nobody has got anything
// of the request.
func isDial(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return true
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	// Conn is set where the very first record was none; a later one that is
	// broken comes over a connection that has carried a request.
	if record, ok := errors.AsType[tls.RecordHeaderError](err); ok && record.Conn != nil {
		return true
	}
	_, ok := errors.AsType[x509.UnknownAuthorityError](err)
	return ok
}

func isTimeout(err error) bool {
	late, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && late.Timeout()
}

// isLeft reports whether an HTTP/2 upstream ended a stream or its connection. net/http gives
// that as text only.
func isLeft(text string) bool {
	text = strings.TrimPrefix(text, "http2: Transport: cannot retry err [")
	return strings.HasPrefix(text, "stream error: ") && strings.Contains(text, "; received from peer") ||
		strings.HasPrefix(text, "http2: server sent GOAWAY and closed the connection") ||
		strings.HasPrefix(text, "http2: Transport received ") ||
		strings.HasPrefix(text, "http2: client connection ") // was lost, or a write to it failed
}

func isBroken(err error) bool {
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return true
	}
	for _, broken := range []error{
		io.EOF, io.ErrUnexpectedEOF, errTruncated, errNoHead, net.ErrClosed,
		syscall.ECONNRESET, syscall.EPIPE, http.ErrBodyReadAfterClose,
	} {
		if errors.Is(err, broken) {
			return true
		}
	}
	return false
}
