package duel

import (
	"errors"
	"math"
	"strings"
	"testing"

	"whittle"
	"whittle/internal/fatal"
)

func comparisonOf(f Compared) *Comparison { return &Comparison{Figures: []Compared{f}} }

func TestGates(t *testing.T) {
	f := Compared{Key: "p99", Ratio: 1.2, Low: 1.05, High: 1.4}
	for text, fails := range map[string]bool{
		"p99 ratio > 1.1": true, "p99 ratio > 1.2": false, "p99 ratio >= 1.2": true, "p99 ratio > 1.3": false,
		"p99 ratio surely > 1.1": false, "p99 ratio surely > 1.04": true, "p99 ratio surely >= 1.05": true,
		"p99 ratio possibly > 1.3": true, "p99 ratio possibly > 1.4": false, "p99  ratio\tpossibly >= 1.4": true,
		"p99 ratio < 1.3": true, "p99 ratio surely < 1.3": false, "p99 ratio surely < 1.5": true, "p99 ratio possibly < 1.1": true, "p99 ratio <= 1.2": true,
	} {
		g, err := ParseGate(text)
		fatal.If(t, err)
		err = comparisonOf(f).Err([]Gate{g})
		if (err != nil) != fails {
			t.Errorf("%s: %v", text, err)
		}
		if fails && (whittle.CodeOf(err) != whittle.FallsShort || !strings.Contains(err.Error(), "1.2 (1.05 to 1.4)")) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestGatesOnWhatCannotBeSaid(t *testing.T) {
	nan, inf := Number(math.NaN()), Number(math.Inf(1))
	gate := func(s string) []Gate {
		g, err := ParseGate(s)
		fatal.If(t, err)
		return []Gate{g}
	}
	open := comparisonOf(Compared{Key: "errors", Ratio: nan, Low: 0, High: inf})
	if err := open.Err(gate("errors ratio > 1")); err != nil {
		t.Errorf("no errors on either side: %v", err)
	}
	if err := open.Err(gate("errors ratio possibly > 2")); err == nil {
		t.Error("an interval without bound is possibly above 2")
	}
	if err := comparisonOf(Compared{Key: "errors", Ratio: inf, High: inf}).Err(gate("errors ratio > 1")); err == nil {
		t.Error("errors where A has none pass")
	}
	if err := open.Err(gate("cpu ratio > 1")); whittle.CodeOf(err) != whittle.Invalid {
		t.Errorf("CPU was not measured: %v", err)
	}
	unknown := comparisonOf(Compared{Key: "p99", Ratio: nan, Low: 0, High: inf, P: nan})
	for _, text := range []string{"p99 ratio > 1", "p99 ratio < 1", "p99 ratio surely > 1", "p99 ratio possibly > 1"} {
		if err := unknown.Err(gate(text)); whittle.CodeOf(err) != whittle.Unavailable || !strings.Contains(err.Error(), "cannot be decided") {
			t.Errorf("%s of a ratio that is not known: %v", text, err)
		}
	}
	if err := comparisonOf(Compared{Key: "errors", A: nan, Ratio: nan, P: 1, High: inf}).Err(gate("errors ratio > 1")); whittle.CodeOf(err) != whittle.Unavailable {
		t.Errorf("errors of no requests: %v", err)
	}
	void := &Comparison{Void: "late"}
	if err := void.Err(gate("cpu ratio > 1")); whittle.CodeOf(err) != whittle.Unavailable {
		t.Errorf("void: %v", err)
	}
}

// Whole runs have no interval of errors: surely would never
// stop anything, possibly always.
func TestGatesOnAnIntervalThatThereIsNone(t *testing.T) {
	for text, refused := range map[string]bool{
		"errors ratio surely > 1": true, "errors ratio possibly > 1": true, "errors ratio > 1": false, "p99 ratio surely > 1": false,
	} {
		g, err := ParseGate(text)
		fatal.If(t, err)
		figures := []Compared{{Key: "p99", Ratio: 1, Low: 1, High: 1, P: 1}, {Key: "errors", A: .1, B: .1, Ratio: 1, High: Number(math.Inf(1)), P: Number(math.NaN())}}
		l := &LevelsReport{Levels: []Level{{Users: 1, Figures: figures}}}
		for _, err := range []error{l.Err([]Gate{g}), CheckUnpaired([]Gate{g})} {
			coded, _ := errors.AsType[*whittle.Error](err)
			if (err != nil) != refused || refused && (coded.Code.ExitStatus() != 2 || !strings.Contains(coded.Hint, "errors ratio > 1")) {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

func TestGatesThatAreNone(t *testing.T) {
	for _, text := range []string{
		"", "p99", "p99 ratio", "p99 ratio >", "p98 ratio > 1", "p99 diff > 1", "p99 ratio = 1", "p99 ratio > x", "p99 ratio > 0", "p99 ratio > -1",
		"p99 ratio > NaN", "p99 ratio > Inf", "p99 ratio maybe > 1", "p99 ratio surely > 1 2", strings.Repeat("p", 300),
	} {
		if g, err := ParseGate(text); whittle.CodeOf(err) != whittle.Invalid {
			t.Errorf("%q: %+v, %v", text, g, err)
		}
	}
}

func FuzzGate(f *testing.F) {
	f.Add("p99 ratio surely > 1.1")
	f.Fuzz(func(t *testing.T, s string) {
		g, err := ParseGate(s)
		if err != nil {
			return
		}
		if g.String() != s || !(g.value > 0) {
			t.Errorf("%q became %+v", s, g)
		}
		_ = comparisonOf(Compared{Key: g.key, Ratio: 1, Low: .5, High: 2}).Err([]Gate{g})
	})
}
