//go:build !unix

package accesslog

import "os"

// Rotations does nothing here.
func Rotations(chan<- os.Signal) {}
