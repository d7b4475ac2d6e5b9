// Package sidewrite has the kernel make long writes on the side, each on the disk when
// it is done. No thread waits in a system call meanwhile: Go's monitor looks for such
// threads every 20 µs for as long as there are any, and gives their processors away,
// which costs a busy log a tenth of its CPU.
package sidewrite

import "errors"

// ErrUnsupported says that this system or file system has no such writes. Nothing was
// written.
var ErrUnsupported = errors.New("no writes on the side")
