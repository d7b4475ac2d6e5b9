package guard

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"whittle/internal/fatal"
)

func TestTheVerdictForCISystems(t *testing.T) {
	for name, c := range map[string]struct {
		verdict        Verdict
		failures       int
		junit, command string
	}{
		"broken": {
			Verdict{Outcome: Broken, Ratio: 3, Low: 2.5, High: 3.5, Limit: 0.1, Before: 1e6, After: 3e6, Blame: []Blame{{Function: "main.<work>", Before: 1e6, After: 3e6}}},
			1, "main.<work>, with what it asks for: 1000.0 µs a request before, 3000.0 µs now",
			"::error title=CPU per request of shop%3A1%2C2::CPU per request 3 ms, 1 ms in the baseline: 3 times as much (2.5 times as much to 3.5 times as much, 95 %25), limit +10 %25: broken. To blame first: main.<work>, 3 ms a request where it was 1 ms.%0Amain.<work>",
		},
		"incomparable": {Verdict{Outcome: Incomparable, Reason: "all failed"}, 1, "", "::error title=CPU per request of shop%3A1%2C2::The runs cannot be held against the baseline: all failed."},
		"held":         {Verdict{Outcome: Held, Ratio: 1, Low: 0.9, High: 1.1, Warnings: []string{"another machine"}}, 0, "note: another machine", "::warning title="},
		"undecided":    {Verdict{Outcome: Undecided, Ratio: 1, Low: 0.9, High: 1.1}, 0, "More or longer runs would decide it", "::notice title="},
	} {
		var x, command bytes.Buffer
		fatal.If(t, c.verdict.WriteJUnit(&x, "shop:1,2"))
		fatal.If(t, c.verdict.WriteGitHub(&command, "shop:1,2"))
		var read junit
		if err := xml.Unmarshal(x.Bytes(), &read); err != nil {
			t.Fatalf("%s: %v in %s", name, err, x.Bytes())
		}
		text := read.Case.Out
		if read.Case.Failure != nil {
			text = read.Case.Failure.Message + read.Case.Failure.Text
		}
		if read.Tests != 1 || read.Failures != c.failures || (read.Case.Failure != nil) != (c.failures == 1) || !strings.Contains(text, c.junit) {
			t.Errorf("%s: %s", name, x.Bytes())
		}
		if got := command.String(); !strings.HasPrefix(got, c.command) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: %q, want %q first", name, got, c.command)
		}
	}
}
