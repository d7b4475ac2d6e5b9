package bodycopy

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

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
