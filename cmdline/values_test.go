package cmdline

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"whittle"
)

// measureVerb has a flag of each kind.
type measureVerb struct {
	Rate   float64
	Users  int
	Loops  int64
	Seed   uint64
	For    time.Duration
	Each   []int
	Name   string
	Note   string   `placeholder:"TEXT"`
	To     []string `sep:"none"`
	Other  string   `env:"TOOL_OTHER"`
	Same   map[string]string
	Lines  string        `enum:"auto,exact" default:"auto"`
	Wait   time.Duration `bound:">0"`
	Limit  *int64        `bound:">=0"`
	Share  float64       `bound:">0"`
	Target string        `arg:"" optional:""`
}

func (v *measureVerb) Run(p *Program) error {
	fmt.Fprintf(p.Out, "%g %d %d %d %s %v %s\n", v.Rate, v.Users, v.Loops, v.Seed, v.For, v.Each, v.Name)
	return nil
}

func measured(args string) (status int, out, errs string) {
	var o, e strings.Builder
	var verbs struct {
		Measure measureVerb `cmd:"" help:"Measure it."`
	}
	p := &Program{Name: "tool", Verbs: &verbs, Out: &o, Err: &e}
	p.Bind = []any{p}
	status = p.Run(context.Background(), strings.Fields(args))
	return status, o.String(), e.String()
}

func TestValuesAreReadAsTheyAreWritten(t *testing.T) {
	for args, want := range map[string]string{
		"--rate 0.5 --users 3 --loops 4 --seed 5 --for 2m --each 1,2": "0.5 3 4 5 2m0s [1 2] \n",
		"--rate -1 --users -2 --for -3s --each=-1":                    "-1 -2 0 0 -3s [-1] \n",
		"--limit 0 --wait 1ms --share 0.1":                            "0 0 0 0 0s [] \n",
		"--users 010 --name 010":                                      "0 10 0 0 0s [] 010\n", // no octal number
	} {
		if status, out, errs := measured("measure " + args); status != 0 || out != want {
			t.Errorf("%s: status %d, %q, %q; want %q", args, status, out, errs, want)
		}
	}
}

// TestWhatMayBeEmpty: free text, and what is switched off so.
func TestWhatMayBeEmpty(t *testing.T) {
	for _, args := range []string{"--note=", "--other=", "--lines=auto"} {
		if status, _, errs := measured("measure " + args); status != 0 {
			t.Errorf("%s: status %d, %q", args, status, errs)
		}
	}
	t.Setenv("TOOL_OTHER", "")
	if status, _, errs := measured("measure"); status != 0 {
		t.Errorf("an empty variable: status %d, %q", status, errs)
	}
}

// TestBadUsageIsSaidPlainly: no fault of a command line is told in the words of the parser
// or of Go, and each says what is expected.
func TestBadUsageIsSaidPlainly(t *testing.T) {
	for args, want := range map[string]string{
		"--name=":                      `--name is empty: give it a value, or leave it out`,
		"--each=":                      `--each is empty: give it a value, or leave it out`,
		"--to a --to=":                 `--to is empty: give it a value, or leave it out`,
		"--rate abc":                   `--rate: "abc" is not a number`,
		"--rate=":                      `--rate: "" is not a number`,
		"--rate":                       `--rate needs a value`,
		"--rate --users 3":             `--rate needs a value, and "--users" looks like a flag`,
		"--users 1.5":                  `--users: "1.5" is not a whole number`,
		"--users 0x10":                 `--users: "0x10" is not a whole number`,
		"--loops 9999999999e9":         `--loops: "9999999999e9" is not a whole number`,
		"--seed -1":                    `--seed: "-1" is not a whole number from 0`,
		"--for 3":                      `--for: "3" has no unit: write 3s for seconds or 3ms for milliseconds`,
		"--for 1d":                     `--for: "1d" is not a duration: write 30s, 500ms or 2h`,
		"--for abc":                    `--for: "abc" is not a duration: write 30s, 500ms or 2h`,
		"--each 1,x":                   `--each: "x" is not a whole number`,
		"--name -5x":                   `--name needs a value, and "-5x" looks like a flag; if it is meant, write --name="-5x"`,
		"--same foo":                   `--same: "foo" is not of the form NAME=VALUE`,
		"--lines none":                 `--lines must be one of "auto","exact" but got "none"`,
		"--wait -1s":                   `--wait: "-1s" is not above 0`,
		"--wait 0":                     `--wait: "0" is not above 0`,
		"--limit -1":                   `--limit: "-1" is below 0`,
		"--share NaN":                  `--share: "NaN" is not above 0`,
		"--nosuch":                     `unknown flag --nosuch`,
		"one two":                      `unexpected argument two`,
		"--rate 1 --for -x":            `--for needs a value, and "-x" looks like a flag`,
		"--users 99999999999999999999": `"99999999999999999999" is out of range`,
	} {
		status, _, errs := measured("measure " + args)
		if status != whittle.Invalid.ExitStatus() || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %q; want %q", args, status, errs, want)
		}
		for _, internal := range []string{"EOL", "short flag", "64 bit", "strconv", "time: ", "(string)", "perhaps"} {
			if strings.Contains(errs, internal) {
				t.Errorf("%s: %q has the parser's own words", args, errs)
			}
		}
	}
}

func TestHelpOfAVerb(t *testing.T) {
	_, asked, _ := measured("measure --help")
	for _, args := range []string{"help measure", "help measure --help"} {
		if status, out, errs := measured(args); status != 0 || out != asked || !strings.Contains(out, "Measure it.") {
			t.Errorf("%s: status %d, %q, %q; want %q", args, status, out, errs, asked)
		}
	}
	if status, out, _ := measured("help"); status != 0 || !strings.Contains(out, "measure") {
		t.Errorf("help: status %d, %q", status, out)
	}
	if status, _, errs := measured("help nosuch"); status != 2 || !strings.Contains(errs, "unexpected argument nosuch") {
		t.Errorf("help nosuch: status %d, %q", status, errs)
	}
}

func TestVersionSaysWhatIsKnown(t *testing.T) {
	set := func(kv ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{GoVersion: "go1.26"}
		info.Main.Version = kv[0]
		for i := 1; i < len(kv); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: kv[i], Value: kv[i+1]})
		}
		return info
	}
	for _, tt := range []struct {
		info *debug.BuildInfo
		want []string
	}{
		{set("v1.2.3", "vcs.revision", "abc", "vcs.time", "2026-11-23T00:00:00Z", "vcs.modified", "false"), []string{"v1.2.3", "abc", "2026-11-23T00:00:00Z", "go1.26"}},
		{set("v1.2.3", "vcs.revision", "abc", "vcs.modified", "true"), []string{"v1.2.3+dirty", "abc", "go1.26"}},
		{set("v1.2.3+dirty", "vcs.modified", "true"), []string{"v1.2.3+dirty", "go1.26"}},
		{set(""), []string{"go1.26"}},
	} {
		if got := versionOf(tt.info); !slices.Equal(got, tt.want) {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestPlainScreenPrintsNowAndThen(t *testing.T) {
	var b strings.Builder
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := &Screen{w: &b, now: func() time.Time { return at }}
	s.Heading("Act %d", 1)
	for i := range 11 {
		s.Progress("%d done", i)
		at = at.Add(time.Second)
	}
	s.Say("over")
	if got, want := b.String(), "\nAct 1\n  … 0 done\n  … 5 done\n  … 10 done\n  over\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTerminalRedrawsOneLine(t *testing.T) {
	var b strings.Builder
	s := &Screen{w: &b, tty: true, now: time.Now}
	s.Heading("Act")
	s.Progress("länger")
	s.Progress("kurz")
	s.Say("over")
	s.Say("and out")
	want := "\n\x1b[1mAct\x1b[0m\n" + "\r  länger" + "\r  kurz  " + "\r      \r" + "  over\n" + "  and out\n"
	if got := b.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRedrawLeavesNothingBehind plays a terminal: whatever came before, the last line is left.
func TestRedrawLeavesNothingBehind(t *testing.T) {
	var b strings.Builder
	s := &Screen{w: &b, tty: true, now: time.Now}
	for _, line := range []string{"a long line of progress", "short", "a bit longer", "x"} {
		s.Progress("%s", line)
		if got := strings.TrimRight(drawn(b.String()), " "); got != "  "+line {
			t.Errorf("the screen shows %q after %q", got, line)
		}
	}
	s.Clear()
	if got := strings.TrimRight(drawn(b.String()), " "); got != "" {
		t.Errorf("the screen shows %q after it was cleared", got)
	}
}

// drawn is what a terminal shows of one line with carriage returns in it.
func drawn(text string) string {
	var row []rune
	for part := range strings.SplitSeq(text, "\r") {
		for i, r := range []rune(part) {
			if i < len(row) {
				row[i] = r
			} else {
				row = append(row, r)
			}
		}
	}
	return string(row)
}
