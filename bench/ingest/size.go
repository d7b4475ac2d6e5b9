package main

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// What the measurements need of the disk next to the log that is recovered: for the
// service's log, which lets its oldest events go, and for the peer's, which does not.
const (
	retained    = 256 << 20
	spare       = 3 * retained
	benthosKeep = 10 << 30
)

// bytes is a size as a flag has it: 10GB, 512MB, or a bare number.
type bytes int64

func (b *bytes) String() string { return strconv.FormatInt(int64(*b), 10) }

// Set reads one.
func (b *bytes) Set(text string) error {
	number, unit := text, int64(1)
	for _, u := range []struct {
		name  string
		bytes int64
	}{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if head, ok := strings.CutSuffix(text, u.name); ok {
			number, unit = head, u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil && unit == 1 {
		n, err = strconv.ParseInt(number, 10, 64)
	}
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a size such as 10GB", text)
	}
	*b = bytes(n * unit)
	return nil
}

// capacityFor refuses to begin what would fill the disk.
func capacityFor(folder string, need int64) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(folder, &fs); err != nil {
		return fmt.Errorf("ask for free space: %w", err)
	}
	if free := int64(fs.Bavail) * fs.Bsize; free < need {
		return fmt.Errorf("%d MB are free in %s, and up to %d MB would be used", free/1e6, folder, need/1e6)
	}
	return nil
}
