package relay

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/internal/notify"
	"whittle/systems/ingest/stream"
)

func filled(n, partitions, keys int) *fakeStore {
	s := newFakeStore(partitions)
	numbers := map[string]int{}
	for i := range n {
		key := fmt.Sprint("k", i%keys)
		if i%7 == 0 {
			key = ""
		}
		s.put(event(key, numbers[key]))
		numbers[key]++
	}
	return s
}

// positionFiles is what a kill would leave of a folder at this moment.
func positionFiles(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, name := range []string{"position.0", "position.1"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = b
	}
	return files
}

func restore(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMoveOverKills ends a move at random moments, most times with the checkpoint
// of a moment before, and lets it go on until it is done: the target has each
// record once, in order, and the proof says so.
func TestMoveOverKills(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { moveOverKills(t, seed) })
		})
	}
}

func moveOverKills(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 3))
	const records = 2000
	from, to := filled(records, 3, 25), filled(50, 2, 5)
	old := len(to.all())
	bad := faults{refuse: 0.1, partial: 0.2, vanish: 0.1, hang: 0.02, lag: 5 * time.Millisecond}
	dir := folder(t)
	pace := quick()
	pace.IdleTimeout = 30 * time.Millisecond
	run := func(ctx context.Context, n uint64, f faults) (Moved, error) {
		source := newFakeSink(from, 0, faults{})
		source.bare = seed%2 == 1
		return Move(ctx, source, newFakeSink(to, seed<<8+n, f), MoveOptions{Limits: pace, Dir: dir, Label: "a to b"})
	}
	kills := 0
	for n := uint64(0); ; n++ {
		ctx, cancel := context.WithCancel(t.Context())
		var left map[string][]byte
		go func() {
			defer cancel()
			notify.Sleep(ctx, time.Duration(100+random.IntN(900))*time.Millisecond)
			if ctx.Err() == nil && n%4 != 3 {
				left = positionFiles(t, dir)
			}
			notify.Sleep(ctx, time.Duration(random.IntN(300))*time.Millisecond)
		}()
		_, err := run(ctx, n, bad)
		cancel()
		synctest.Wait()
		if err == nil {
			break
		}
		if code := whittle.CodeOf(err); code != whittle.Canceled && !errors.Is(err, context.Canceled) {
			t.Fatalf("run %d: %v", n, err)
		}
		if kills++; kills > 200 {
			t.Fatal("it does not get on")
		}
		if left != nil {
			restore(t, dir, left)
		}
	}
	to.put(event("other", 1)) // somebody else appends meanwhile
	moved, err := run(t.Context(), 1000, faults{})
	if err != nil {
		t.Fatal(err)
	}
	if moved.Source != moved.Target || moved.Source.Records != records || moved.Duplicates != 0 || !moved.Resumed {
		t.Errorf("moved: %+v", moved)
	}
	fresh := newFakeStore(len(to.parts))
	for i, p := range to.parts {
		for _, r := range p {
			if _, _, _, ok := originOf(&r, placeOf(t, dir).ID); ok {
				fresh.parts[i] = append(fresh.parts[i], r)
			}
		}
	}
	got := counts(t, fresh)
	for _, r := range from.all() {
		if got[r.ID] != 1 {
			t.Errorf("%s is %d times at the target", r.ID, got[r.ID])
		}
	}
	if n := len(to.all()); n != records+old+1 {
		t.Errorf("%d records at the target", n)
	}
	t.Logf("%d records, %d kills", records, kills)
}

func placeOf(t *testing.T, dir string) checkpoint {
	t.Helper()
	p, err := openCheckpoints(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	at, err := p.load()
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestMoveFindsWhatIsWrong spoils the target, or the source, between the move
// and a second comparison.
func TestMoveFindsWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(from, to *fakeStore)
		says  string
		check func(Moved) bool
	}{
		"nothing": {func(_, _ *fakeStore) {}, "", func(m Moved) bool { return m.Source == m.Target && m.Source.Keys == 10 }},
		"lost": {
			func(_, to *fakeStore) { to.parts[0] = append(to.parts[0][:5:5], to.parts[0][6:]...) }, "1 records are missing at the target: at ",
			func(m Moved) bool { return m.Missing == 1 && len(m.Positions) == 1 },
		},
		"altered value": {func(_, to *fakeStore) {
			to.parts[0][3].Value = []byte("other")
			to.parts[0][3].Seal()
		}, "1 are not what they were: at ", func(m Moved) bool { return m.Altered == 1 && len(m.Positions) == 1 }},
		"altered key": {func(_, to *fakeStore) { to.parts[0][3].Key = "other" }, "1 are not what they were", func(m Moved) bool { return m.Altered == 1 }},
		"altered header": {
			func(_, to *fakeStore) { to.parts[0][3].Header[0].Value = "other" }, "1 are not what they were",
			func(m Moved) bool { return m.Altered == 1 },
		},
		"corrupt at the target": {
			func(_, to *fakeStore) { to.parts[0][3].Value = []byte("other") }, "1 records are missing",
			func(m Moved) bool { return m.Missing == 1 },
		},
		"doubled": {
			func(_, to *fakeStore) { to.parts[0] = append(to.parts[0], to.parts[0][2]) }, "",
			func(m Moved) bool { return m.Duplicates == 1 },
		},
		"disordered": {func(_, to *fakeStore) {
			p := to.parts[0]
			for i := range p {
				if p[i].Key != "" && p[i].Key == p[len(p)-1].Key {
					p[i], p[len(p)-1] = p[len(p)-1], p[i]
					return
				}
			}
		}, "the order within a key is another", func(m Moved) bool { return m.Source.Content == m.Target.Content }},
		"source altered": {func(from, _ *fakeStore) {
			from.parts[0][3].Value = []byte("other")
			from.parts[0][3].Seal()
		}, "the source now reads otherwise", func(m Moved) bool { return m.Missing+m.Altered == 0 }},
		"source corrupt": {
			func(from, _ *fakeStore) { from.parts[0][3].Value = []byte("other") }, "1 are corrupt at the source: at 0/3",
			func(m Moved) bool { return m.Corrupt == 1 },
		},
		"source trimmed": {func(from, _ *fakeStore) { from.first[0] = 3 }, "no longer has the beginning", func(Moved) bool { return true }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				from, to, dir := filled(400, 1, 10), newFakeStore(2), folder(t)
				run := func() (Moved, error) {
					return Move(t.Context(), newFakeSink(from, 0, faults{}), newFakeSink(to, 0, faults{}), MoveOptions{Limits: quick(), Dir: dir})
				}
				if m, err := run(); err != nil || m.Source.Records != 400 || m.Resumed {
					t.Fatalf("move: %+v, %v", m, err)
				}
				c.spoil(from, to)
				m, err := run()
				if !c.check(m) {
					t.Errorf("moved: %+v", m)
				}
				switch {
				case c.says == "" && err != nil:
					t.Error(err)
				case c.says != "" && (whittle.CodeOf(err) != whittle.FallsShort || !strings.Contains(err.Error(), c.says)):
					t.Errorf("%v; want %q", err, c.says)
				}
			})
		})
	}
}

func TestMoveOfWhatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, dead := filled(500, 1, 10), newFakeStore(1)
		full := event("full", 0)
		full.Header = make([]stream.Header, stream.MaxHeaders)
		from.put(full)
		long := event("long", 0)
		long.Value = make([]byte, 3000)
		long.Seal()
		from.put(long)
		poison := faults{poison: func(r *stream.Record) bool { return r.ID == "k3.7" }}
		move := func(dead stream.Stream) (Moved, error) {
			target := newFakeSink(newFakeStore(1), 0, poison)
			target.limit = 3000
			return Move(t.Context(), newFakeSink(from, 0, faults{}), target, MoveOptions{Limits: quick(), Dir: folder(t), Dead: dead})
		}
		if _, err := move(nil); whittle.CodeOf(err) != whittle.Invalid {
			t.Errorf("without dead letters: %v", err)
		}
		m, err := move(newFakeSink(dead, 0, faults{}))
		if err != nil || m.Dead != 3 || m.Source != m.Target || m.Source.Records != 499 {
			t.Errorf("moved: %+v, %v", m, err)
		}
		ids := map[string]bool{}
		for _, r := range dead.all() {
			l, err := ReadDeadLetter(&r)
			if err != nil {
				t.Fatal(err)
			}
			ids[l.Record.ID] = true
		}
		if !ids["full.0"] || !ids["long.0"] || !ids["k3.7"] {
			t.Errorf("letters: %v", ids)
		}
	})
}

func TestMoveIntoAnotherFolderOrOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := folder(t)
		move := func(n int, label string) (Moved, error) {
			return Move(t.Context(), newFakeSink(filled(n, 2, 3), 0, faults{}), newFakeSink(newFakeStore(1), 0, faults{}), MoveOptions{Limits: quick(), Dir: dir, Label: label})
		}
		if m, err := move(0, "one"); err != nil || m.Source.Records != 0 || m.Source != m.Target {
			t.Errorf("nothing: %+v, %v", m, err)
		}
		if _, err := move(5, "another"); whittle.CodeOf(err) != whittle.Invalid {
			t.Errorf("another label: %v", err)
		}
	})
}

// TestProofOverSampledKeys holds that two sides with more keys than are held
// still agree, and still differ where the order of a key in the sample does.
func TestProofOverSampledKeys(t *testing.T) {
	var h hasher
	add := func(tr *tracker, key string, n int) {
		r := stream.Record{Key: key, Value: []byte(fmt.Sprint(n))}
		tr.add(key, 1, h.of(&r))
	}
	one, two, swapped := newTracker(40), newTracker(200), newTracker(40)
	const keys = 500
	for n := range 3 {
		for k := range keys {
			add(one, fmt.Sprint(k), n)
			add(two, fmt.Sprint(keys-1-k), n)
			add(swapped, fmt.Sprint(k), []int{1, 0, 2}[n])
		}
	}
	sample := max(one.sample, two.sample)
	one.narrow(sample)
	two.narrow(sample)
	if a, b := one.proof(), two.proof(); a != b || a.Sample == 0 || a.Keys == 0 || a.Keys > 40 {
		t.Errorf("%+v\n%+v", a, b)
	}
	if a, b := one.proof(), swapped.proof(); a.Content != b.Content || a.Order == b.Order {
		t.Errorf("swapped: %+v\n%+v", a, b)
	}
}
