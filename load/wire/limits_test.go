package wire

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"

	"whittle/load/report"
)

// What this machine has no more of is no failure of the target's.
func TestOwnLimitsAreAKindOfTheirOwn(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&dialError{"a:1", os.NewSyscallError("socket", syscall.EMFILE)}, report.ErrorGenerator},
		{&dialError{"a:1", &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)}}, report.ErrorGenerator},
		{&dialError{"a:1", fmt.Errorf("x: %w", syscall.ENOBUFS)}, report.ErrorGenerator},
		{&dialError{"a:1", os.NewSyscallError("connect", syscall.ECONNREFUSED)}, report.ErrorRefused},
		{&dialError{"a:1", os.NewSyscallError("connect", syscall.EHOSTUNREACH)}, report.ErrorConnect},
		{os.NewSyscallError("write", syscall.ENOBUFS), report.ErrorReset}, // on a connection that was there
		{errors.New("x"), report.ErrorReset},
	} {
		if got := FailureKind(c.err); got != c.want {
			t.Errorf("%v is %s, want %s", c.err, got, c.want)
		}
	}
}
