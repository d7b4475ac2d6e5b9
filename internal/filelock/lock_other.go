//go:build !unix

// Package filelock lets one process at a time have a folder.
package filelock

import "os"

// Hold does nothing: there is no lock here that ends with its process, so whoever
// starts processes gives each a folder of its own.
func Hold(*os.File) error { return nil }
