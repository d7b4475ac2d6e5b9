package bodycopy

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"whittle/internal/fatal"
)

// A transport may go on reading the request's body while the response is already
// being accounted for.
func TestCaptureIsDroppedWhileTheBodyGoesBy(t *testing.T) {
	b := newBudget(1 << 20)
	for range 200 {
		c := Copy{Limit: 1 << 20, Budget: b}
		var wg sync.WaitGroup
		wg.Go(func() {
			for range 50 {
				c.Add(make([]byte, 1000))
			}
		})
		c.Drop()
		wg.Wait()
		c.Drop()
	}
	fatal.Same(t, b.Used.Load(), 0, "bytes still reserved")
}

func TestBudgetIsNeverOverdrawn(t *testing.T) {
	b := newBudget(1000)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 2000 {
				if b.Take(300) {
					b.Give(300)
				}
			}
		})
	}
	wg.Wait()
	if !b.Take(1000) || b.Take(1) {
		t.Error("at rest the budget must hold exactly its limit")
	}
}

// FuzzCapture writes a body in pieces that the fuzzer chooses and checks the
// copy against the body, and that every byte reserved is given back.
func FuzzCapture(f *testing.F) {
	f.Add([]byte("a body"), []byte{1, 2, 0, 255}, uint16(100), uint32(1<<20))
	f.Add(patterned(70_000), []byte{255, 1, 128}, uint16(65_535), uint32(40_000))
	f.Add(patterned(5000), []byte{}, uint16(4999), uint32(0))
	f.Fuzz(func(t *testing.T, body, cuts []byte, limit uint16, memory uint32) {
		b := newBudget(int64(memory))
		c := Copy{Limit: int64(limit), Budget: b}
		before := bytes.Clone(body)
		rest := body
		for i := 0; len(rest) > 0; i++ {
			n := len(rest)
			if i < len(cuts) {
				n = min(n, int(cuts[i])*17)
			}
			c.Add(rest[:n])
			rest = rest[n:]
			if used := b.Used.Load(); used > b.Limit {
				t.Fatalf("%d bytes reserved of %d", used, b.Limit)
			}
		}
		if !bytes.Equal(body, before) {
			t.Fatal("the capture changed the body")
		}
		got, ok := c.Flatten()
		switch state, _ := c.Now(); {
		case ok && !bytes.Equal(got, body):
			t.Fatalf("captured %d bytes that are not the body's %d", len(got), len(body))
		case ok && len(body) > int(limit):
			t.Fatalf("captured %d bytes above the bound of %d", len(got), limit)
		case !ok && len(body) <= int(limit) && state != Exhausted:
			t.Fatalf("lost a body of %d bytes within the bound of %d", len(body), limit)
		case ok:
			b.Give(int64(len(got)))
		}
		c.Drop()
		if n := b.Used.Load(); n != 0 {
			t.Fatalf("%d bytes still reserved", n)
		}
	})
}

// newBudget makes a budget with a count of its own.
func newBudget(limit int64) *Budget { return &Budget{Limit: limit, Used: new(atomic.Int64)} }

// holding a response never loses or doubles a byte, whenever it must be let go.
func TestHoldThenWriteOut(t *testing.T) {
	for _, memory := range []int64{0, firstPiece, firstPiece + nextPiece, 1 << 20} {
		for _, size := range []int{0, 1, firstPiece, firstPiece + 5, 3 * nextPiece} {
			b := newBudget(memory)
			c := Copy{Limit: 2 * nextPiece, Budget: b}
			var out bytes.Buffer
			body := patterned(size)
			held := true
			for piece := range slices.Chunk(body, 1000) {
				if held = held && c.Hold(piece); !held {
					fatal.If(t, c.WriteOut(&out))
					out.Write(piece)
				}
			}
			fatal.If(t, c.WriteOut(&out))
			if !bytes.Equal(out.Bytes(), body) || b.Used.Load() != 0 {
				t.Errorf("memory %d, size %d: %d bytes came out, %d still reserved", memory, size, out.Len(), b.Used.Load())
			}
		}
	}
}

// patterned is a body in which every position differs from its neighbours.
func patterned(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

// TestRoutesShareABudget: what one route's copies hold is not there for
// another's, and it comes back when they let go.
func TestRoutesShareABudget(t *testing.T) {
	whole := newBudget(100)
	one, other := newBudget(80), newBudget(80)
	one.Whole, other.Whole = whole, whole
	if !one.Take(70) || other.Take(40) {
		t.Fatal("two routes hold more than the whole")
	}
	if other.Used.Load() != 0 || whole.Used.Load() != 70 {
		t.Fatalf("a refusal left %d and %d", other.Used.Load(), whole.Used.Load())
	}
	if one.Take(20) || whole.Used.Load() != 70 {
		t.Fatalf("a route's own bound was passed, the whole has %d", whole.Used.Load())
	}
	one.Give(70)
	if !other.Take(40) || whole.Used.Load() != 40 {
		t.Fatalf("what was given back is not there: %d", whole.Used.Load())
	}
}

// TestQueueIsAQueue: whatever is put in and taken out in whatever pieces comes out in
// order, within limit and budget, and all memory comes back.
func TestQueueIsAQueue(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		limit, memory := 1+rng.Int64N(200_000), 1+rng.Int64N(300_000)
		b := newBudget(memory)
		q := Queue{Limit: limit, Budget: b}
		body := patterned(rng.IntN(400_000))
		var out []byte
		in := 0
		for len(out) < len(body) {
			n := q.Put(body[in : in+min(len(body)-in, rng.IntN(50_000))])
			in += n
			if q.Len() > limit || b.Used.Load() > memory || q.Len() != int64(in-len(out)) {
				t.Fatalf("seed %d: %d held of %d, %d of %d bytes of memory", seed, q.Len(), limit, b.Used.Load(), memory)
			}
			if q.Len() == 0 && memory < nextPiece && in < len(body) {
				break // there is no room for anything
			}
			if rng.IntN(2) == 0 {
				if p := q.Next(); p != nil {
					out = append(out, p.Bytes()...)
					q.Free(p)
				}
				continue
			}
			p := make([]byte, rng.IntN(60_000))
			out = append(out, p[:q.Read(p)]...)
		}
		if !bytes.Equal(out, body[:len(out)]) {
			t.Fatalf("seed %d: other bytes came out", seed)
		}
		q.Drop()
		if n := b.Used.Load(); n != 0 {
			t.Fatalf("seed %d: %d bytes still reserved", seed, n)
		}
	}
}
