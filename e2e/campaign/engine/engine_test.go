package engine

import (
	"testing"

	"whittle"
	"whittle/e2e/campaign/family"
	"whittle/e2e/campaign/fault"
	"whittle/internal/fatal"
)

func play(t *testing.T, f, m string, seed uint64) Result {
	t.Helper()
	s := Defaults()
	s.Requests, s.Live = 40_000, 200
	r, err := Run(family.Named(t, f), fault.Named(t, m), seed, s)
	fatal.If(t, err)
	return r
}

// The same seed gives the same run, so that what the report names can be looked
// at.
func TestARunCanBeRepeated(t *testing.T) {
	a, b := play(t, "money", "rounding-down", 7), play(t, "money", "rounding-down", 7)
	if a != b {
		t.Errorf("%+v\n%+v", a, b)
	}
}

// Families whose config cannot be read, or whose faithful candidate cannot get
// on, would prove nothing.
func TestAFaithfulCandidateGoesLive(t *testing.T) {
	if r := play(t, "terms", "", 1); r.End != Live || r.Largest != whittle.All || r.Wrong != 0 || r.Served == 0 {
		t.Errorf("%+v", r)
	}
	for _, f := range family.All() {
		if _, err := Route(f, ""); err != nil {
			t.Error(err)
		}
	}
}

// A candidate that is wrong everywhere meets no user; one that is wrong only
// when it is asked first meets some, and they are counted.
func TestWhatUsersMeetIsCounted(t *testing.T) {
	if r := play(t, "terms", "off-by-one", 1); r.End != Refused || r.Wrong != 0 || r.Served != 0 || r.Finding != "body" {
		t.Errorf("wrong everywhere: %+v", r)
	}
	if r := play(t, "terms", "first-100", 1); r.End != RolledBack || r.Wrong == 0 || r.Wrong > r.Served || r.Largest == 0 {
		t.Errorf("wrong when asked first: %+v", r)
	}
	if r := play(t, "terms", "first-fails", 1); r.Wrong != 0 || r.Fallbacks == 0 {
		t.Errorf("failing when asked first: %+v", r)
	}
}

// The finding says of swapped responses that they are another request's; a value
// that is wrong by itself is not.
func TestSwappedResponsesBelongToAnotherRequest(t *testing.T) {
	if r := play(t, "money", "swapped-users", 1); r.End != Refused || r.Wrong != 0 || !r.Others {
		t.Errorf("swapped: %+v", r)
	}
	if r := play(t, "money", "off-by-one-rare", 1); r.Asked == 0 || r.Others {
		t.Errorf("off by one: %+v", r)
	}
}

// A slow tail lets the rise wait before any user or at the first step, and that is
// what names it.
func TestASlowTailWaits(t *testing.T) {
	r := play(t, "terms", "slow-tail", 1)
	if r.End != Waiting || !r.Held || !r.Spoken() || r.Largest > 100 || r.Finding != "guard p99 (waits)" || r.Named == 0 {
		t.Errorf("%+v", r)
	}
}
