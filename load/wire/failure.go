package wire

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"syscall"

	"whittle/load/report"
)

// dialError is an error of opening the connection, before the request was sent.
type dialError struct {
	address string
	err     error
}

func (e *dialError) Error() string { return "connect to " + e.address + ": " + e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// ownLimits are what a connection fails with for which this machine has no more open files,
// local ports or memory: none of them says anything of the target.
var ownLimits = []error{
	syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.EADDRINUSE, syscall.ENOBUFS, syscall.ENOMEM,
}

// FailureKind maps an error of Send to its kind in the report.
func FailureKind(err error) string {
	var timeout net.Error
	_, dialling := errors.AsType[*dialError](err)
	_, redirecting := errors.AsType[*redirectError](err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, unnamed := errors.AsType[*net.DNSError](err)
	_, illegal := errors.AsType[*targetError](err)
	switch {
	case dialling && slices.ContainsFunc(ownLimits, func(limit error) bool { return errors.Is(err, limit) }):
		return report.ErrorGenerator
	case illegal:
		return report.ErrorContract
	case untrusted:
		return report.ErrorCertificate
	case redirecting:
		return report.ErrorRedirect
	case errors.Is(err, errMalformed):
		return report.ErrorMalformed
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return report.ErrorTimeout
	case unnamed:
		return report.ErrorDNS
	case dialling && errors.Is(err, syscall.ECONNREFUSED):
		return report.ErrorRefused
	case dialling:
		return report.ErrorConnect
	case errors.Is(err, io.ErrNoProgress):
		return report.ErrorMalformed
	}
	return report.ErrorReset
}
