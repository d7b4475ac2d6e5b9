package plan

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"
)

// Body is the content of a request or a response: its number, and then bytes from a
// table at a place that follows from the number. So a byte of another body, or of
// another place, is found, and whose it is.
type Body struct {
	prefix string
	offset int
	// Length is the number of its bytes.
	Length int
}

// Piece is how much of a table is given at once, in bytes.
const piece = 64 << 10

const tableLength = 1 << 20

var table = func() []byte {
	b := make([]byte, tableLength+piece)
	var key [32]byte
	_, _ = rand.NewChaCha8(key).Read(b[:tableLength]) // cannot fail
	copy(b[tableLength:], b)
	return b
}()

const prefixLength = 17

// Request is the content that is sent, Response the content that comes back.
func (p *Plan) Request() Body  { return p.body(1, p.Upload) }
func (p *Plan) Response() Body { return p.body(2, p.Length) }

func (p *Plan) body(which uint64, length int) Body {
	return Body{fmt.Sprintf("%016x ", p.Number), int(random(p.Seed^which, p.Number).Uint64() % tableLength), length} //nolint:gosec // below it
}

// at gives bytes from a place on, at least one where there is one.
func (b *Body) at(at int) []byte {
	left := b.Length - at
	if at < prefixLength {
		return []byte(b.prefix[at:min(prefixLength, at+left)])
	}
	from := (b.offset + at) % tableLength
	return table[from : from+min(left, piece)]
}

// match reports whether bytes are those of a place.
func (b *Body) match(at int, got []byte) bool {
	if at+len(got) > b.Length {
		return false
	}
	for len(got) > 0 {
		want := b.at(at)
		n := min(len(want), len(got))
		if !bytes.Equal(want[:n], got[:n]) {
			return false
		}
		at, got = at+n, got[n:]
	}
	return true
}

// WriteTo writes all of it.
func (b *Body) WriteTo(w io.Writer) (int64, error) {
	at := 0
	for at < b.Length {
		n, err := w.Write(b.at(at))
		if at += n; err != nil {
			return int64(at), err
		}
	}
	return int64(at), nil
}

// Bytes is all of it.
func (b *Body) Bytes() []byte {
	var all bytes.Buffer
	_, _ = b.WriteTo(&all) // memory does not fail
	return all.Bytes()
}

var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// Verify reads a body to its end and holds it to the plan's. An error of the reading
// is returned as it is; one of the content is a *Mismatch.
func (b *Body) Verify(r io.Reader) error {
	whole := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(whole)
	buf := whole[:]
	for at := 0; ; {
		n, err := r.Read(buf)
		if !b.match(at, buf[:n]) {
			return b.mismatch(at, buf[:n])
		}
		at += n
		switch {
		case err == io.EOF && at == b.Length:
			return nil
		case err == io.EOF:
			return &Mismatch{At: at, Short: true, Text: fmt.Sprintf("%d of %d bytes, and no sign that more were to come", at, b.Length)}
		case err != nil:
			return err
		}
	}
}

func (b *Body) mismatch(at int, got []byte) *Mismatch {
	m := &Mismatch{At: at, Text: fmt.Sprintf("at byte %d of %d: %.80q", at, b.Length, got)}
	if at == 0 && len(got) >= prefixLength && string(got[:prefixLength-1]) != b.prefix[:prefixLength-1] {
		if n, err := strconv.ParseUint(string(got[:prefixLength-1]), 16, 64); err == nil {
			m.Other, m.Mixed = n, true
		}
	}
	return m
}

// Mismatch says that content is not what it must be.
type Mismatch struct {
	At   int
	Text string
	// Short says that it ended too early, and was right so far.
	Short bool
	// Mixed says that it is another request's, Other's.
	Mixed bool
	Other uint64
}

func (m *Mismatch) Error() string {
	if m.Mixed {
		return fmt.Sprintf("the response of request %d: %s", m.Other, m.Text)
	}
	return "wrong content " + m.Text
}

// Event is the i-th event of an event stream.
func (p *Plan) Event(i int) string {
	return fmt.Sprintf("id: %d\ndata: %d %x\n\n", i, p.Number, random(p.Seed+uint64(i), p.Number).Uint64()) //nolint:gosec // few
}

// Stream is all events.
func (p *Plan) Stream() []byte {
	var all bytes.Buffer
	for i := range p.Length {
		all.WriteString(p.Event(i))
	}
	return all.Bytes()
}
