package cmdline_test

import (
	"fmt"
	"strings"
	"testing"

	"whittle"
	"whittle/cmdline"
)

// A flag that would be ignored is refused, whatever the order; a default is not given.
func TestFlagsThatDoNothingAreRefused(t *testing.T) {
	type verbs struct {
		Look struct {
			Watch  string `help:"."`
			Every  int    `needs:"watch" default:"1" help:"."`
			Target string `needs:"during,endpoint" help:"."`
			During string `help:"."`
			DryRun bool   `help:"."`
			Out    string `not:"dry-run" help:"."`
		} `cmd:"" help:"."`
	}
	for line, want := range map[string]string{
		"":                        "",
		"--watch=x --every=1":     "",
		"--every=1 --watch=x":     "",
		"--every=1":               "--every does nothing without --watch: give that too, or leave --every out",
		"--target=x --during=y":   "",
		"--target=x":              "--target does nothing without --during: give", // it has no --endpoint
		"--out=x":                 "",
		"--dry-run":               "",
		"--out=x --dry-run":       "--out does nothing with --dry-run: leave one of them out",
		"--dry-run --out=":        "--out does nothing with --dry-run",
		"--watch=x --target=y":    "--target does nothing without",
		"--watch=--every --every": "--every needs a value",
	} {
		var errors strings.Builder
		p := cmdline.Program{Name: "p", Verbs: &verbs{}, Out: &errors, Err: &errors}
		status := p.Run(t.Context(), append([]string{"look"}, strings.Fields(line)...))
		if got := errors.String(); want == "" && strings.Contains(got, "does nothing") || want != "" && (status != 2 || !strings.Contains(got, want)) {
			t.Errorf("%s: status %d, %s", line, status, got)
		}
	}
}

// What to do is said however far down it was known.
func TestTheHintOfACauseIsPrinted(t *testing.T) {
	var out strings.Builder
	p := cmdline.Program{Name: "p", Out: &out, Err: &out}
	cause := whittle.Errorf(whittle.NotFound, "no plan").WithHint("write one")
	p.Report(whittle.Errorf(whittle.FallsShort, "act 2: %w", fmt.Errorf("read: %w", cause)))
	if want := "p: act 2: read: no plan\n  write one\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
