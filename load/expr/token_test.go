package expr

import (
	"math/rand/v2"
	"regexp"
	"testing"
)

func TestUUID(t *testing.T) {
	version4 := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	rng := rand.New(rand.NewPCG(1, 2))
	seen := map[string]bool{}
	for range 1000 {
		id := UUID(rng)
		if !version4.MatchString(id) || seen[id] {
			t.Fatalf("%q", id)
		}
		seen[id] = true
	}
}
