package compare

import (
	"testing"

	"whittle"
)

// TestAskingAgainIsARepeat holds that a difference that both sides were asked
// about again is not called one that was never repeated to the monolith, unless
// the monolith was seen to change.
func TestAskingAgainIsARepeat(t *testing.T) {
	for _, c := range []struct {
		asked whittle.Asked
		cause string
		want  string
	}{
		{whittle.Asked{Times: 3, Intermittent: 3}, noRepeats, ""},
		{whittle.Asked{Times: 3, Reproducible: 3}, noRepeats + "; a guess: it is cut off", "a guess: it is cut off"},
		{whittle.Asked{Times: 3, Reproducible: 2, Noise: 1}, noRepeats, noRepeats},
		{whittle.Asked{}, noRepeats, noRepeats},
	} {
		r := rechecks{Places: []recheckPlace{{Place: "$.total", Mirrored: c.asked}}}
		f := whittle.Finding{Kind: whittle.FoundField, Path: "$.total", Cause: c.cause}
		if r.annotate(&f, 0); f.Cause != c.want {
			t.Errorf("%+v: the cause is %q, want %q", c.asked, f.Cause, c.want)
		}
	}
}
