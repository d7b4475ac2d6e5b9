// Package proto reads .proto files as a contract.
package proto

import (
	"whittle"
	"whittle/contract"
)

// Read compiles the file named main, of files by their import paths, and gives
// its first service as a contract.
func Read(main string, files map[string][]byte) (*contract.Contract, error) {
	return nil, whittle.Errorf(whittle.Unsupported, "read %s of %d files: not yet", main, len(files))
}
