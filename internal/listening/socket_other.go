//go:build !unix

package listening

import (
	"errors"
	"os"
)

// refused cannot tell here, so nothing is removed.
func refused(error) bool { return false }

func duplicate(uintptr) (*os.File, error) { return nil, errors.ErrUnsupported }
