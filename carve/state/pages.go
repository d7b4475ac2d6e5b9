package state

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Where bbolt's file has what names other pages: after a page's head of 16 bytes come its elements,
// of 16 bytes each. A bucket is the value of a leaf's element, and begins with its own first page.
const (
	pageHead, pageElement = 16, 16
	branchPage, leafPage  = 0x01, 0x02
	bucketElement         = 0x01
)

// pages are those of a file that were found so far.
type pages struct {
	file io.ReaderAt
	size int64
	seen map[uint64]bool
}

// visit fails where a page that leads from page id on was found before, or is not in the file. bbolt
// follows pages that lead back to themselves for ever, and takes all memory for that.
func (p *pages) visit(id uint64) error {
	if p.seen[id] {
		return fmt.Errorf("%w: page %d has its place twice", ErrCorrupt, id)
	}
	p.seen[id] = true
	if id >= 1<<40 { // so that its place is a number
		return fmt.Errorf("%w: page %d is beyond the file", ErrCorrupt, id)
	}
	at := int64(id) * p.size
	head, err := p.read(at, pageHead)
	if err != nil {
		return err
	}
	flags, count := binary.NativeEndian.Uint16(head[8:]), int(binary.NativeEndian.Uint16(head[10:]))
	if flags != branchPage && flags != leafPage {
		return nil // which bbolt's check names
	}
	elements, err := p.read(at+pageHead, count*pageElement)
	if err != nil {
		return err
	}
	for i := range count {
		e := elements[i*pageElement:]
		var next uint64
		switch {
		case flags == branchPage:
			next = binary.NativeEndian.Uint64(e[8:])
		case binary.NativeEndian.Uint32(e)&bucketElement != 0:
			from := int64(binary.NativeEndian.Uint32(e[4:])) + int64(binary.NativeEndian.Uint32(e[8:]))
			root, err := p.read(at+pageHead+int64(i*pageElement)+from, 8)
			if err != nil {
				return err
			}
			if next = binary.NativeEndian.Uint64(root); next == 0 {
				continue // it is small, and stands in the leaf
			}
		default:
			continue
		}
		if err := p.visit(next); err != nil {
			return err
		}
	}
	return nil
}

func (p *pages) read(at int64, n int) ([]byte, error) {
	b := make([]byte, n)
	if _, err := p.file.ReadAt(b, at); err != nil {
		return nil, fmt.Errorf("%w: read page %d: %w", ErrCorrupt, at/p.size, err)
	}
	return b, nil
}
