package gateway

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"whittle/carve/control"
	"whittle/carve/state"
	"whittle/internal/fatal"
)

// sheets is a disk in memory.
type sheets map[string]state.Record

func (r sheets) Load(route string) (state.Record, error) { return r[route], nil }

func (r sheets) Save(route string, rec state.Record) error {
	r[route] = rec
	return nil
}

// TestModel runs the real control and the real gateway's counters, breaker and
// positions through random requests, verdicts, breaches, trips (whose notices come
// late, twice or never), orders, reloads that fail, saves that fail with and without
// having written, kills and restarts, and holds after each step: the share in force
// is the model's, the ledger has each request once and adds up, a fall is in force
// at once, a rise only once it is on the disk, nothing rises over DIFFERENT.
//
// MODEL_SEED and MODEL_STEPS take another walk: MODEL_SEED=7 MODEL_STEPS=1000000.
func TestModel(t *testing.T) {
	seed, steps := number(t, "MODEL_SEED", 1), number(t, "MODEL_STEPS", 100_000)
	walkModel(t, seed, int(steps), sheets{})
}

// TestModelOnADisk is a shorter walk on the real state file.
func TestModelOnADisk(t *testing.T) {
	s, err := state.Open(filepath.Join(t.TempDir(), "whittle.db"))
	fatal.If(t, err)
	defer s.Close()
	walkModel(t, 2, 600, s)
}

func walkModel(t *testing.T, seed uint64, steps int, store control.Store) {
	t.Helper()
	w, err := newWorld(seed, store)
	fatal.If(t, err)
	shares := map[string]int{}
	for i := range steps {
		if err := w.step(); err != nil {
			t.Fatalf("MODEL_SEED=%d, step %d: %v\nlast operations: %v", seed, i, err, w.last)
		}
		shares[string(w.m.phase)+" "+strconv.Itoa(int(w.m.inForce()))]++
	}
	if err := w.g.Close(t.Context()); err != nil {
		t.Error(err)
	}
	t.Logf("seed %d: %v; %d requests: %v; stood at %v", seed, w.done, w.m.total, maps.Clone(w.m.fates), shares)
}

func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	fatal.If(t, err)
	return n
}
