package origin

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// mostWrites bounds the numbers of a run; a bit each, in a file that is nearly empty.
const mostWrites = 1 << 30

// Writes says of each write whether it was done, for all upstreams together and over
// their ends: the bits of a file that they have in memory.
type Writes []byte

// OpenWrites opens the file, and makes it where it is not there. It is open until the process ends.
func OpenWrites(name string) (bits Writes, err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		defer f.Close() // the memory stays
		err = f.Truncate(mostWrites / 8)
	}
	if err == nil {
		bits, err = syscall.Mmap(int(f.Fd()), 0, mostWrites/8, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED) //nolint:gosec // a file's number
	}
	if err != nil {
		return nil, fmt.Errorf("open the writes: %w", err)
	}
	return bits, nil
}

// Do marks a write as done; false: it was.
func (w Writes) Do(number uint64) bool {
	number %= mostWrites
	word := (*uint32)(unsafe.Pointer(&w[number/32*4])) //nolint:gosec // four bytes of many
	mask := uint32(1) << (number % 32)
	return atomic.OrUint32(word, mask)&mask == 0
}
