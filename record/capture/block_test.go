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
		if err := b.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	bytes := b.Seal(nil, 42)
	if b.Len() != 0 || b.Size() != 0 {
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

func TestABlockSaysWhatIsInIt(t *testing.T) {
	b, _ := sealed(t, 90)
	h, _ := ParseHeader(b)
	rows, err := h.Rows(b[HeaderLen : HeaderLen+h.SummarySize()])
	if err != nil || len(rows) != 2 {
		t.Fatalf("%v, %v", rows, err)
	}
	body := int64(len(full().Request.Body) + len(full().Response.Body))
	want := Row{
		Route: "r0", Method: "POST", Path: "/orders/*/lines", Count: 45, Bytes: 45 * body,
		Statuses: map[int]int64{200: 15, 201: 15, 202: 15},
	}
	if !reflect.DeepEqual(rows[0], want) {
		t.Errorf("got %+v\nwant %+v", rows[0], want)
	}
}

func TestASummaryIsBounded(t *testing.T) {
	var b Block
	for i := range 5000 {
		e := &Entry{Route: fmt.Sprint("r", i%3), At: time.Unix(1, 0), Request: whittle.Request{Method: "GET", Target: fmt.Sprintf("/page-%c%c%c", 'a'+i%26, 'a'+i/26%26, 'a'+i/676)}}
		if err := b.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	sealed := b.Seal(nil, 1)
	h, _ := ParseHeader(sealed)
	rows, err := h.Rows(sealed[HeaderLen : HeaderLen+h.SummarySize()])
	if err != nil || len(rows) != maxRows+3 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	count := int64(0)
	for _, r := range rows {
		count += r.Count
	}
	if count != 5000 {
		t.Errorf("the rows come to %d", count)
	}
}

// Any flipped bit is found: in the header, the summary or the payload.
func TestAFlippedBitIsFound(t *testing.T) {
	b, _ := sealed(t, 20)
	for at := range b {
		b[at] ^= 1 << (at % 8)
		h, ok := ParseHeader(b)
		if ok {
			_, rows := h.Rows(b[HeaderLen : HeaderLen+h.SummarySize()])
			if _, err := readBlock(&h, b[HeaderLen:]); err == nil && rows == nil {
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
	if err := b.Add(e); err != nil {
		t.Fatal(err)
	}
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
