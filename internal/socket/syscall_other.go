//go:build !unix

package socket

import "errors"

// available says whether this system has such calls.
const available = false

// ReadNow and WriteNow are not to be had.
func ReadNow(int, []byte) (int, error) { return 0, errors.ErrUnsupported }

// WriteNow is as ReadNow.
func WriteNow(int, []byte) (int, error) { return 0, errors.ErrUnsupported }

func peekNow(int, []byte) (int, error) { return 0, errors.ErrUnsupported }
