package journal

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A segment is a file NNNNNNNN.wcap: a label, and blocks one behind the other.
// The label, little-endian:
//
//	magic    8
//	segment  8   random; every block of the segment repeats it
//	sum      4   CRC-32C of the 16 bytes before it
//	about    4   bytes of what the writer says of its entries; 0: nothing
//	         ?   that, and the CRC-32C of it where there is anything
const (
	suffix     = ".wcap"
	labelLen   = 24
	labelMagic = "WCAPSEG1"
	sumLen     = 4

	// MaxAbout bounds a writer's description of its entries, in bytes.
	MaxAbout = 64 << 10
)

var (
	le         = binary.LittleEndian
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// newLabel makes a label with a random number.
func newLabel(about []byte) (label []byte, segment uint64) {
	label = make([]byte, labelLen, labelLen+len(about)+sumLen)
	copy(label, labelMagic)
	rand.Read(label[8:16])
	le.PutUint32(label[16:], crc32.Checksum(label[:16], castagnoli))
	segment = le.Uint64(label[8:])
	if len(about) > 0 {
		le.PutUint32(label[20:], uint32(len(about)))
		label = le.AppendUint32(append(label, about...), crc32.Checksum(about, castagnoli))
	}
	return label, segment
}

// readAbout reads the description behind a label that has one; nil where it is
// damaged.
func readAbout(label []byte, f io.ReaderAt) []byte {
	n := int64(le.Uint32(label[20:]))
	if n == 0 || n > MaxAbout {
		return nil
	}
	b := make([]byte, n+sumLen)
	if _, err := f.ReadAt(b, labelLen); err != nil || le.Uint32(b[n:]) != crc32.Checksum(b[:n], castagnoli) {
		return nil
	}
	return b[:n:n]
}

func parseLabel(b []byte) (segment uint64, ok bool) {
	if len(b) < labelLen || string(b[:8]) != labelMagic || le.Uint32(b[16:]) != crc32.Checksum(b[:16], castagnoli) {
		return 0, false
	}
	return le.Uint64(b[8:]), true
}

// named is a segment's file.
type named struct {
	path   string
	number uint64
}

func segmentPath(dir string, number uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%08d%s", number, suffix))
}

// The lock file contains the number of the last segment that was begun, so that
// no number is used twice: a reader of a folder that was emptied by age waits
// for the number after the last one that it read.

// lastNumber reads it; 0 where there is none.
func lastNumber(lock *os.File) uint64 {
	var b [32]byte
	n, _ := lock.ReadAt(b[:], 0)
	number, err := strconv.ParseUint(strings.TrimSpace(string(b[:n])), 10, 62)
	if err != nil {
		return 0
	}
	return number
}

// noteNumber writes it. It ignores errors: where the number cannot be written
// the segment cannot either, and writing the segment returns the error.
func noteNumber(lock *os.File, number uint64) {
	_, _ = lock.WriteAt(fmt.Appendf(nil, "%020d\n", number), 0)
}

// segments lists a folder's segments in order and ignores other files.
func segments(dir string) ([]named, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []named
	for _, f := range files {
		digits, ok := strings.CutSuffix(f.Name(), suffix)
		if !ok || f.IsDir() {
			continue
		}
		if number, err := strconv.ParseUint(digits, 10, 63); err == nil {
			all = append(all, named{filepath.Join(dir, f.Name()), number})
		}
	}
	slices.SortFunc(all, func(a, b named) int { return cmp.Compare(a.number, b.number) })
	return all, nil
}
