package control_test

import (
	"errors"
	"testing"
	"time"

	"whittle"
	"whittle/carve/control"
)

// On a clock of the caller's the same decisions are made as in Run: a rise is
// saved before it is in force, a store that fails keeps it from rising, and it
// is tried again.
func TestStep(t *testing.T) {
	disk := &memory{}
	h := newRig(t, disk, spec())
	now := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	o := h.options([]whittle.Route{spec()})
	o.Now = func() time.Time { return now }
	c, err := control.New(o)
	if err != nil {
		t.Fatal(err)
	}
	h.c = c
	step := func() error {
		now = now.Add(10 * time.Second)
		return c.Step()
	}
	if err := step(); err != nil || h.share() != 0 {
		t.Fatalf("%v, share %d without a verdict", err, h.share())
	}
	h.say(whittle.Equivalent)
	disk.set(func(m *memory) { m.fail = errFull })
	if err := step(); !errors.Is(err, errFull) || h.share() != 0 {
		t.Fatalf("%v, share %d although nothing could be saved", err, h.share())
	}
	disk.set(func(m *memory) { m.fail = nil })
	if err := step(); err != nil || h.share() != 100 {
		t.Fatalf("%v, share %d", err, h.share())
	}
	before := disk.attempts()
	if err := step(); err != nil || disk.attempts() != before {
		t.Errorf("%v, %d saves where nothing was decided", err, disk.attempts()-before)
	}
	h.say(whittle.Different)
	if err := step(); err != nil || h.share() != 0 {
		t.Errorf("%v, share %d of a candidate that is DIFFERENT", err, h.share())
	}
	h.journal.take()
}

// waiting lets a rise wait while why says something.
type waiting struct {
	guard
	why *string
}

func (w *waiting) Wait() string { return *w.why }

// TestAGuardLetsARiseWait: before any user and between steps, the status says why,
// and no share falls.
func TestAGuardLetsARiseWait(t *testing.T) {
	h := newRig(t, &memory{}, spec())
	now, why := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC), "mirrored responses are slow"
	o := h.options([]whittle.Route{spec()})
	o.Now = func() time.Time { return now }
	o.NewGuard = func(whittle.Guard) control.Guard { return &waiting{why: &why} }
	c, err := control.New(o)
	if err != nil {
		t.Fatal(err)
	}
	h.c = c
	h.say(whittle.Equivalent)
	step := func(share whittle.Share) {
		t.Helper()
		now = now.Add(time.Hour)
		if err := c.Step(); err != nil || h.share() != share {
			t.Errorf("%v, share %d, expected %d", err, h.share(), share)
		}
	}
	step(0)
	if s, err := c.Route(spec().Name); err != nil || s.Next != "shadow → 1 %: mirrored responses are slow." || s.Withheld != why {
		t.Errorf("%v, %q, %q", err, s.Next, s.Withheld)
	}
	why = ""
	step(100)
	h.users(whittle.Candidate, 200, 50)
	why = "mirrored responses are slow"
	step(100)
	why = ""
	step(2500)
}
