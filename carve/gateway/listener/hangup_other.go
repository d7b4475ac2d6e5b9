//go:build !linux

package listener

import (
	"errors"
	"syscall"
)

// hangups exist on Linux only: elsewhere net/http serves everything.
type hangups struct{}

type hangup struct{}

func newHangups() (*hangups, error) { return nil, errors.ErrUnsupported }

func (h *hangups) close() {}

func (h *hangups) watch(syscall.RawConn, *fastConn) *hangup { return nil }

func (w *hangup) end() {}

func (w *hangup) pending() bool { return false }
