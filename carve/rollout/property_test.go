package rollout_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"whittle"
	"whittle/carve/rollout"
	"whittle/internal/fatal"
)

// walk drives the machine through a run of inputs made of bytes and checks,
// after each of them, what must hold whatever the inputs are.
func walk(t *testing.T, script []byte) {
	t.Helper()
	take := func() byte {
		if len(script) == 0 {
			return 0
		}
		b := script[0]
		script = script[1:]
		return b
	}
	p := whittle.Rollout{
		Auto: take()%2 == 0, Hold: time.Duration(take()) * time.Second,
		MinRequests: int(take()), Retry: time.Duration(take()) * time.Second,
	}
	for n := take() % 6; n > 0; n-- {
		p.Steps = append(p.Steps, whittle.Share(take())*40)
	}
	now := began
	s := rollout.Start(p)
	lastAt := time.Time{}
	for len(script) > 0 {
		before := s
		now = now.Add(time.Duration(int8(take())) * time.Second) // clocks are set back too
		in := rollout.Input{
			Verdict:    []whittle.State{whittle.Undecided, whittle.Equivalent, whittle.Different}[take()%3],
			StepServed: int(take()),
		}
		if take()%8 == 0 {
			in.Breach = &rollout.Breach{Guard: "errors", Hard: take()%2 == 0}
		}
		var d *whittle.Decision
		order := rollout.Order{}
		if k := int(take()); k%3 == 0 {
			order = rollout.Order{Kind: rollout.Kinds[k/3%len(rollout.Kinds)], Force: take()%2 == 0}
			if take()%2 == 0 {
				order.Reason = "because"
			}
			var err error
			if s, d, err = rollout.Command(p, s, in, order, now); err != nil && (d != nil || s.Share != before.Share || s.Phase != before.Phase) {
				t.Fatalf("a refused order moved the state: %+v → %+v", before, s)
			}
		} else {
			s, d = rollout.Step(p, s, in, now)
		}
		if err := holds(p, before, s, in, order, d, now); err != nil {
			t.Fatalf("%v\npolicy %+v\nbefore %+v\ninput %+v\norder %+v\nafter %+v", err, p, before, in, order, s)
		}
		if d != nil {
			if d.At.Before(lastAt) {
				t.Fatalf("decision at %s after one at %s", d.At, lastAt)
			}
			lastAt = d.At
		}
	}
}

func holds(p whittle.Rollout, before, after rollout.State, in rollout.Input, order rollout.Order, d *whittle.Decision, now time.Time) error {
	if after.Share > before.Share {
		forced := order.Kind == rollout.Promote && order.Force && order.Reason != "" && in.Verdict == whittle.Undecided
		if in.Verdict != whittle.Equivalent && !forced {
			return fmt.Errorf("the share rose on %s", in.Verdict)
		}
		if in.Breach != nil {
			return fmt.Errorf("the share rose in spite of a breach")
		}
		if want := stepAbove(p, before.Share); after.Share != want {
			return fmt.Errorf("rose to %d, the next step is %d", after.Share, want)
		}
		if order.Kind == "" && before.Phase == whittle.PhaseShift && (max(0, now.Sub(before.Since)) < p.Hold || in.StepServed < p.MinRequests) {
			return fmt.Errorf("a step ended early")
		}
		if order.Kind == "" && (before.Held || !p.Auto) {
			return fmt.Errorf("rose by itself while held or by hand")
		}
	}
	if order.Kind == "" && before.Share > 0 && (in.Breach != nil || in.Verdict == whittle.Different) {
		if after.Share != 0 || after.Phase != whittle.PhaseRolledBack || after.Reason == "" {
			return fmt.Errorf("users stay on a candidate that failed")
		}
	}
	if moved := after.Share != before.Share || after.Phase != before.Phase; moved && d == nil {
		return fmt.Errorf("moved without a decision")
	}
	if d != nil && (d.Reason == "" || d.By == "" || d.From != before.Share || d.To != after.Share || d.Phase != after.Phase) {
		return fmt.Errorf("decision %+v does not tell what happened", *d)
	}
	if rollout.Next(p, after, in, now) == "" {
		return fmt.Errorf("no word on what is next")
	}
	b, err := rollout.Encode(after)
	if err != nil {
		return err
	}
	back, err := rollout.Decode(b)
	if err != nil {
		return fmt.Errorf("the state does not decode: %w", err)
	}
	if !back.Since.Equal(after.Since) || !back.Decided.Equal(after.Decided) {
		return fmt.Errorf("times of %+v came back as %+v", after, back)
	}
	back.Since, back.Decided = after.Since, after.Decided
	if back != after {
		return fmt.Errorf("came back as %+v", back)
	}
	return nil
}

// stepAbove is written apart from the machine's own search.
func stepAbove(p whittle.Rollout, share whittle.Share) whittle.Share {
	steps := slices.DeleteFunc(slices.Clone(p.Steps), func(s whittle.Share) bool { return s == 0 })
	if len(steps) == 0 {
		steps = []whittle.Share{whittle.All}
	}
	slices.Sort(steps)
	for _, s := range steps {
		if s = min(s, whittle.All); s > share {
			return s
		}
	}
	return share
}

func TestAnySequenceKeepsTheRules(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		script := make([]byte, 20+rng.IntN(600))
		for i := range script {
			script[i] = byte(rng.Uint32())
		}
		walk(t, script)
	}
}

func FuzzSequence(f *testing.F) {
	f.Add([]byte{0, 1, 0, 60, 3, 2, 12, 250, 1, 1, 9, 1, 0, 1, 1, 9, 1, 0})
	f.Fuzz(func(t *testing.T, script []byte) {
		walk(t, script[:min(len(script), 4096)])
	})
}

func FuzzDecode(f *testing.F) {
	good, err := rollout.Encode(shift(500))
	fatal.If(f, err)
	f.Add(good)
	f.Add([]byte(`{"version":1,"phase":"shadow","share_bp":10000}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := rollout.Decode(b)
		if err != nil {
			return
		}
		if (s.Share > 0) != (s.Phase == whittle.PhaseShift || s.Phase == whittle.PhaseLive) {
			t.Fatalf("decoded %+v", s)
		}
	})
}

func TestDecodeRefuses(t *testing.T) {
	for _, text := range []string{
		``, `{}`, `[]`, `{"version":1}`,
		`{"version":2,"phase":"shadow"}`,
		`{"version":1,"phase":"shadow","share_bp":1}`,
		`{"version":1,"phase":"shift","share_bp":0}`,
		`{"version":1,"phase":"live","share_bp":10001}`,
		`{"version":1,"phase":"sideways"}`,
	} {
		if s, err := rollout.Decode([]byte(text)); err == nil {
			t.Errorf("%s decoded to %+v", text, s)
		}
	}
}
