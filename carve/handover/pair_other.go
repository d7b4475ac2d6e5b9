//go:build !unix

package handover

import (
	"errors"
	"io"
	"os"
	"os/exec"
)

// Requests does nothing here.
func Requests(chan<- os.Signal) {}

func pair(*exec.Cmd) (calls, orders io.ReadWriteCloser, err error) {
	return nil, nil, errors.ErrUnsupported
}

func inherited() (calls, orders io.ReadWriteCloser, err error) { return nil, nil, nil }
