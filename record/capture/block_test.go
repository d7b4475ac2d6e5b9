package capture

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
)

// sealed makes a block of n entries that differ.
func sealed(t testing.TB, n int) ([]byte, []*Entry) {
	t.Helper()
	var b Block
	var all []*Entry
	for i := range n {
		e := full()
		e.At = e.At.Add(time.Duration((i*7)%n) * time.Second)
		e.Route = fmt.Sprint("r", i%2)
		e.Request.Target = fmt.Sprintf("/orders/%d/lines?x=%d", i, i)
		e.Response.Status = 200 + i%3
		all = append(all, e)
		fatal.If(t, b.Add(e))
	}
	bytes := b.Seal(nil, 42)
	if b.Len() != 0 || b.Unpacked() != 0 {
		t.Fatal("a sealed block is not empty")
	}
	return bytes, all
}

func readBlock(h *Header, body []byte) (all []*Entry, err error) {
	var r BlockReader
	if err := r.Reset(h, body); err != nil {
		return nil, err
	}
	for {
		var e Entry
		if err := r.Next(&e); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return all, err
		}
		all = append(all, e.Clone())
	}
}

func TestABlockComesBackAsItWas(t *testing.T) {
	b, want := sealed(t, 100)
	h, ok := ParseHeader(b)
	if !ok || h.Count != 100 || h.Segment != 42 || h.Size() != int64(len(b)) {
		t.Fatalf("header %+v of %d bytes", h, len(b))
	}
	if !h.First().Equal(full().At) || !h.Last().Equal(full().At.Add(99*time.Second)) {
		t.Errorf("from %s to %s", h.First(), h.Last())
	}
	got, err := readBlock(&h, b[HeaderLen:])
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%d entries, %v", len(got), err)
	}
	if again, _ := sealed(t, 100); !reflect.DeepEqual(again, b) {
		t.Error("the same entries make other bytes")
	}
}

// Any flipped bit is found: in the header or the payload.
func TestAFlippedBitIsFound(t *testing.T) {
	b, _ := sealed(t, 20)
	for at := range b {
		b[at] ^= 1 << (at % 8)
		h, ok := ParseHeader(b)
		if ok {
			if _, err := readBlock(&h, b[HeaderLen:]); err == nil {
				t.Fatalf("byte %d of %d", at, len(b))
			}
		}
		b[at] ^= 1 << (at % 8)
	}
}

func TestWhatDoesNotCompressFits(t *testing.T) {
	e := full()
	e.Response.Body = make([]byte, MaxBody)
	e.Request.Body = make([]byte, MaxBody)
	noise := rand.New(rand.NewPCG(1, 2))
	for i := range e.Response.Body {
		e.Response.Body[i], e.Request.Body[i] = byte(noise.Uint32()), byte(noise.Uint32())
	}
	var b Block
	fatal.If(t, b.Add(e))
	if err := b.Add(e); err == nil || whittle.CodeOf(err) != whittle.ResourceExhausted || b.Len() != 1 {
		t.Errorf("a block of more than its bound: %v", err)
	}
	sealed := b.Seal(nil, 1)
	h, ok := ParseHeader(sealed)
	if !ok {
		t.Fatal("no header")
	}
	if got, err := readBlock(&h, sealed[HeaderLen:]); err != nil || !reflect.DeepEqual(got, []*Entry{e}) {
		t.Errorf("%d entries, %v", len(got), err)
	}
}
