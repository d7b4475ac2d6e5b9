//go:build !unix

package listening

import (
	"errors"
	"io/fs"
	"os"
)

// refused cannot tell here, so nothing is removed.
func refused(error) bool { return false }

func duplicate(uintptr) (*os.File, error) { return nil, errors.ErrUnsupported }

func restrict(uintptr, fs.FileMode) {}
