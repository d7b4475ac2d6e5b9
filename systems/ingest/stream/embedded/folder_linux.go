package embedded

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// allocate gives f its length and takes the space for it, so that a write into
// it finds the disk full only where the file system copies on write.
func allocate(f *os.File, size int64) error {
	err := ignoringInterrupts(func() error { return unix.Fallocate(int(f.Fd()), 0, 0, size) })
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return f.Truncate(size)
	}
	return err
}

// syncBytes leaves out what reading does not need, such as the time of change.
func syncBytes(f *os.File) error {
	return ignoringInterrupts(func() error { return unix.Fdatasync(int(f.Fd())) })
}

// forgetBytes has the system drop what it keeps of f in memory. It is an advice, and
// whether it is taken does not matter.
func forgetBytes(f *os.File, from, to int64) {
	_ = unix.Fadvise(int(f.Fd()), from, to-from, unix.FADV_DONTNEED)
}

// openDirect opens f once more, for writes past the page cache. It returns nil where
// the file system has no such.
func openDirect(f *os.File) *os.File {
	direct, err := os.OpenFile(f.Name(), os.O_WRONLY|unix.O_DIRECT, 0)
	if err != nil {
		return nil
	}
	return direct
}

// isMisaligned reports that a write past the page cache was refused, since the disk's
// sectors are longer than ours or the memory does not lie as the device wants it.
func isMisaligned(err error) bool { return errors.Is(err, unix.EINVAL) }

func ignoringInterrupts(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
