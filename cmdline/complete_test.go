package cmdline

import (
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// grammar has what verbs have: flags with and without values, fixed words, and verbs below
// verbs, one of which is run by default.
type grammar struct {
	Run struct {
		Config string   `short:"c" help:"The config."`
		Level  string   `enum:"debug,info,warn" default:"info" help:"How much is said."`
		Match  []string `help:"Repeatable."`
		Fast   bool     `help:"Do it fast."`
	} `cmd:"" help:"Run it."`
	Record struct {
		Live struct {
			To string `help:"Where to."`
		} `cmd:"" default:"withargs" help:"Record (the default)."`
		List struct {
			Log string `arg:"" help:"The log."`
		} `cmd:"" help:"List what there is."`
	} `cmd:"" help:"Record what passes."`
	Shell struct {
		Which string `arg:"" enum:"bash,zsh,fish" help:"Which one."`
	} `cmd:"" help:"Say it to a shell."`
	Secret struct{} `cmd:"" hidden:"" help:"Hidden."`
}

func TestComplete(t *testing.T) {
	k, err := kong.New(&grammar{}, kong.Name("engine"))
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"":                         "record run shell",
		"r":                        "record run",
		"run --":                   "--config --fast --help --level --match",
		"run --le":                 "--level",
		"run --level ":             "debug info warn",
		"run --level w":            "warn",
		"run --level = d":          "debug",
		"run --level info --fa":    "--fast",
		"run --config o":           "",
		"run -c ot":                "",
		"record l":                 "list live",
		"record --t":               "--to",
		"record live --t":          "--to",
		"record list o":            "",
		"shell ":                   "bash fish zsh",
		"run --match run --fa":     "--fast",
		"record --to run li":       "list live",
		"nothing --of --the --kin": "",
	} {
		if got := Complete(k.Model, strings.Split(line, " ")); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	for _, name := range []string{"", "-x", "a b", "x;reboot", "$(x)", "x\ny", "../x"} {
		if err := Completion(&strings.Builder{}, "bash", name); err == nil {
			t.Errorf("completions for %q", name)
		}
	}
}
