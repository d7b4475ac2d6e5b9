package dedup

import (
	"math/rand/v2"
	"testing"
)

// TestClaimsAreAMap tries tables whose ids lie close together at the end and at the
// beginning, so that every search goes on and around, and which grow.
func TestClaimsAreAMap(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		ids := make([]ID, 1+r.IntN(150))
		for i := range ids {
			ids[i] = ID{0: byte(i), 8: byte(60 + r.IntN(8))} // of 64 slots the last and the first
		}
		c := claims{slots: make([]claimSlot, fewestSlots)}
		model := map[ID]*pendingClaim{}
		for step := range 600 {
			id := ids[r.IntN(len(ids))]
			slot, ok := c.find(&id)
			was, want := model[id]
			if ok != want || ok && slot.claim != was {
				t.Fatalf("seed %d, step %d: found %v, want %v", seed, step, ok, want)
			}
			switch {
			case r.IntN(5) < 2:
				if got := c.end(&id); got != was {
					t.Fatalf("seed %d, step %d: another claim was ended", seed, step)
				}
				delete(model, id)
			case ok:
				slot.claim = &pendingClaim{}
				model[id] = slot.claim
			default:
				c.take(slot, &id)
				model[id] = nil
			}
			if c.used != len(model) || 2*c.used > len(c.slots) {
				t.Fatalf("seed %d, step %d: %d claims of %d in %d slots", seed, step, c.used, len(model), len(c.slots))
			}
		}
		for id := range model {
			if _, ok := c.find(&id); !ok {
				t.Fatalf("seed %d: a claim is lost", seed)
			}
		}
	}
}
