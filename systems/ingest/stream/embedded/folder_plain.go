//go:build !linux

package embedded

import "os"

func allocate(f *os.File, size int64) error { return f.Truncate(size) }

func syncBytes(f *os.File) error { return f.Sync() }

func forgetBytes(*os.File, int64, int64) {}

func openDirect(*os.File) *os.File { return nil }

func isMisaligned(error) bool { return false }
