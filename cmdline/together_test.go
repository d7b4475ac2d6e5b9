package cmdline_test

import (
	"context"
	"errors"
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
		var errs strings.Builder
		p := cmdline.Program{Name: "p", Verbs: &verbs{}, Out: &errs, Err: &errs}
		status := p.Run(t.Context(), append([]string{"look"}, strings.Fields(line)...))
		if got := errs.String(); want == "" && strings.Contains(got, "does nothing") || want != "" && (status != 2 || !strings.Contains(got, want)) {
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

// An interrupt excuses no failure next to it: a state that could not be saved at the end is
// said, and is the exit status.
func TestAnInterruptHidesNoFailure(t *testing.T) {
	unsaved := whittle.Errorf(whittle.Unavailable, "save: disk full")
	interrupted := fmt.Errorf("serve: %w", context.Canceled)
	for _, tt := range []struct {
		err    error
		status int
		said   string
	}{
		{nil, 0, ""},
		{interrupted, 0, ""},
		{errors.Join(interrupted, interrupted), 0, ""},
		{errors.Join(interrupted, unsaved), 3, "p: save: disk full\n"},
		{errors.Join(interrupted, errors.Join(nil, unsaved)), 3, "p: save: disk full\n"},
	} {
		var out strings.Builder
		p := cmdline.Program{Name: "p", Out: &out, Err: &out}
		if status := p.Report(tt.err); status != tt.status || out.String() != tt.said {
			t.Errorf("%v: status %d, %q; want %d, %q", tt.err, status, out.String(), tt.status, tt.said)
		}
	}
}
