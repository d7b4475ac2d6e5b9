//go:build !linux || !(amd64 || arm64)

package sidewrite

import "os"

// Writer writes to one file: on 64-bit Linux alone.
type Writer struct{}

// New gives ErrUnsupported.
func New(*os.File) (*Writer, error) { return nil, ErrUnsupported }

// WriteAt gives ErrUnsupported.
func (*Writer) WriteAt([]byte, int64) (int, error) { return 0, ErrUnsupported }

// Close does nothing.
func (*Writer) Close() error { return nil }
