package capture

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"whittle"
)

// errEntry is the error of bytes that are no entry. It has no detail, since the
// block's checksum was right.
var errEntry = errors.New("not an entry, or one beyond the log's bounds")

// Bounds of the strings that a Decoder keeps for reuse.
const (
	maxKept     = 4096
	maxKeptText = 64
)

// Decoder reads entries. It reuses short strings, header names above all,
// instead of allocating them again. The zero value is ready; it is for one
// goroutine.
type Decoder struct {
	kept map[string]string
}

// Decode reads the entry at the beginning of b into e and returns the bytes
// after it. e's bodies are slices of b; nothing else is. It allocates no more
// than a constant factor of b's length, whatever lengths b claims.
func (d *Decoder) Decode(b []byte, e *Entry) (rest []byte, err error) {
	in := cursor{b: b}
	body := in.bytes(len(b))
	rest = in.b
	f := cursor{b: body, bad: in.bad}
	flags := f.number(knownFlags)
	*e = Entry{
		Conn:  f.number(math.MaxUint64),
		At:    time.Unix(0, int64(f.number(uint64(newest.UnixNano())-1))).UTC(),
		Route: d.text(f.bytes(MaxText)),
	}
	if flags&servedByCandidate != 0 {
		e.Served = whittle.Candidate
	}
	e.Request = whittle.Request{
		Method:    d.text(f.bytes(MaxText)),
		Target:    d.text(f.bytes(MaxText)),
		Host:      d.text(f.bytes(MaxText)),
		Header:    d.header(&f),
		Body:      f.bytes(MaxBody),
		Truncated: flags&requestTruncated != 0,
	}
	e.Response = whittle.Response{
		Status:    int(f.number(maxStatus)),
		Header:    d.header(&f),
		Trailer:   d.header(&f),
		Body:      f.bytes(MaxBody),
		Truncated: flags&responseTruncated != 0,
		Latency:   time.Duration(f.number(math.MaxInt64)),
		Failure:   whittle.Failure(d.text(f.bytes(MaxText))),
		Detail:    d.text(f.bytes(MaxText)),
	}
	if f.bad || len(f.b) > 0 {
		*e = Entry{}
		return nil, errEntry
	}
	return rest, nil
}

// text returns b as a string.
func (d *Decoder) text(b []byte) string {
	if len(b) == 0 || len(b) > maxKeptText {
		return string(b)
	}
	if s, ok := d.kept[string(b)]; ok {
		return s
	}
	s := string(b)
	if d.kept == nil {
		d.kept = make(map[string]string)
	}
	if len(d.kept) >= maxKept {
		clear(d.kept) // what is in use comes back by itself
	}
	d.kept[s] = s
	return s
}

func (d *Decoder) header(f *cursor) whittle.Header {
	names := int(f.number(MaxHeaders))
	if names == 0 {
		return nil
	}
	// A name takes two bytes at least, a value one.
	if names > len(f.b)/2 {
		f.bad = true
		return nil
	}
	h := make(whittle.Header, names)
	count, last, size := names, "", 0
	for range names {
		name := d.text(f.bytes(MaxText))
		values := int(f.number(MaxHeaders))
		count += max(0, values-1)
		size += len(name)
		if f.bad || count > MaxHeaders || values > len(f.b) || len(h) > 0 && name <= last {
			f.bad = true
			return nil
		}
		list := make([]string, values)
		for i := range list {
			list[i] = d.text(f.bytes(MaxText))
			size += len(list[i])
		}
		h[name] = list
		last = name
	}
	if size > MaxHeaderBytes {
		f.bad = true
	}
	return h
}

// cursor reads fields from bytes. After the first error every further field is
// zero.
type cursor struct {
	b   []byte
	bad bool
}

// number reads a varint of at most most.
func (c *cursor) number(most uint64) uint64 {
	v, n := binary.Uvarint(c.b)
	if c.bad || n <= 0 || v > most {
		c.bad = true
		return 0
	}
	c.b = c.b[n:]
	return v
}

// bytes reads a length of at most most and as many bytes; nil for none.
func (c *cursor) bytes(most int) []byte {
	n := int(c.number(uint64(most)))
	if c.bad || n > len(c.b) {
		c.bad = true
		return nil
	}
	if n == 0 {
		return nil
	}
	got := c.b[:n:n]
	c.b = c.b[n:]
	return got
}
