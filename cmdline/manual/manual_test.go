package manual

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"whittle/internal/needs"
)

// grammar has what verbs have: flags with and without values, fixed words, verbs below
// verbs, one of which is run by default, and texts that mean something to every shell.
type grammar struct {
	Run struct {
		Config string   `short:"c" placeholder:"FILE" help:"The config: 'a' file [of \"yours\"] with $HOME and $$(x). And more."`
		Level  string   `enum:"debug,info,warn" default:"info" help:"How much is said."`
		Match  []string `help:"Repeatable. Twice."`
		Fast   bool     `help:"Do it fast."`
	} `cmd:"" help:"Run it: with [brackets] and 'quotes'."`
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

func app(t *testing.T) *kong.Application {
	t.Helper()
	k, err := kong.New(&grammar{}, kong.Name("engine"), kong.Description("engine does it: all.\n\nIt is \\ odd.\n\n.dot\n\n  engine run -c x\n  engine record\n\nExit status: 0."))
	if err != nil {
		t.Fatal(err)
	}
	return k.Model
}

// completed is what a shell offers for the words of a line, the last of which is being
// written.
var completed = []struct {
	line string
	want []string
}{
	{"engine ", []string{"record", "run", "shell"}},
	{"engine r", []string{"record", "run"}},
	{"engine sh", []string{"shell"}},
	{"engine run --", []string{"--config", "--fast", "--help", "--level", "--match"}},
	{"engine run --le", []string{"--level"}},
	{"engine run --level ", []string{"debug", "info", "warn"}},
	{"engine run --level w", []string{"warn"}},
	{"engine run --level info --fa", []string{"--fast"}},
	{"engine run --config o", []string{"one file", "other"}},
	{"engine run -c ot", []string{"other"}},
	{"engine record l", []string{"list", "live"}},
	{"engine record --t", []string{"--to"}},
	{"engine record live --t", []string{"--to"}},
	{"engine record list o", []string{"one file", "other"}},
	{"engine shell ", []string{"bash", "fish", "zsh"}},
	{"engine run --match run --fa", []string{"--fast"}},
	{"engine record --to run li", []string{"list", "live"}},
}

func script(t *testing.T, shell string) string {
	t.Helper()
	var b strings.Builder
	if err := Completion(&b, shell, app(t).Name, app(t)); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string]string{"engine." + shell: b.String(), "one file": "", "other": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	return "engine." + shell
}

func lines(out []byte) (words []string) {
	for l := range strings.Lines(string(out)) {
		l, _, _ = strings.Cut(strings.TrimRight(l, "\n"), "\t")
		if l = strings.TrimSuffix(strings.TrimSpace(l), "="); l != "" {
			words = append(words, l)
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// TestBash completes in a real bash.
func TestBash(t *testing.T) {
	bash := needs.Tool(t, "completions in bash", "apt-get install bash", "bash")
	file := script(t, "bash")
	for _, tt := range append(completed, struct {
		line string
		want []string
	}{"engine run --level = d", []string{"debug"}}) {
		words := strings.Split(tt.line, " ")
		cmd := exec.CommandContext(t.Context(), bash, append([]string{"--norc", "-uc", `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _engine; printf '%s\n' "${COMPREPLY[@]}"`, file}, words...)...)
		out, err := cmd.CombinedOutput()
		if got := lines(out); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, %v, want %q", tt.line, got, err, tt.want)
		}
	}
}

// TestFish completes in a real fish.
func TestFish(t *testing.T) {
	fish := needs.Tool(t, "completions in fish", "apt-get install fish", "fish")
	file := script(t, "fish")
	t.Setenv("HOME", t.TempDir())
	program := []string{"source " + file}
	for _, tt := range completed {
		program = append(program, "echo @@; complete -C "+inFish(tt.line))
	}
	out, err := exec.CommandContext(t.Context(), fish, "--no-config", "-c", strings.Join(program, "\n")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	offers := strings.Split(string(out), "@@\n")[1:]
	for i, tt := range completed {
		got := lines([]byte(strings.ReplaceAll(offers[i], `\ `, " ")))
		if strings.HasSuffix(tt.line, "--") {
			got = slices.DeleteFunc(got, func(s string) bool { return !strings.HasPrefix(s, "--") })
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.line, got, tt.want)
		}
	}
}

// TestMan: a page that mandoc and groff have nothing against, with every verb and flag.
func TestMan(t *testing.T) {
	var b strings.Builder
	if err := Man(&b, app(t), "1.2.3", "2026-11-23"); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{
		`.TH ENGINE 1 "2026-11-23" "1.2.3"`, `engine \- does it: all`, `.SS "engine record list <log>"`, `\fB\-\-config, \-c\fR=\fIFILE\fR`,
		"It is \\e odd.", "\n\\&.dot\n", ".nf\nengine run \\-c x\nengine record\n.fi",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %s in\n%s", want, page)
		}
	}
	if strings.Contains(page, "secret") {
		t.Error("what is hidden is in the page")
	}
	file := filepath.Join(t.TempDir(), "engine.1")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	mandoc := needs.Tool(t, "man pages in mandoc", "apt-get install mandoc", "mandoc")
	if out, err := exec.CommandContext(t.Context(), mandoc, "-T", "lint", "-W", "warning", file).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("mandoc: %v: %s", err, out)
	}
	text, err := exec.CommandContext(t.Context(), mandoc, "-T", "utf8", file).Output()
	if err != nil || !strings.Contains(string(text), "engine does it") && !strings.Contains(string(text), "does it: all") {
		t.Errorf("mandoc: %v: %s", err, text)
	}
}

func TestNoSuchShell(t *testing.T) {
	if err := Completion(&strings.Builder{}, "tcsh", "made", app(t)); err == nil {
		t.Error("completions for tcsh")
	}
}

// TestAnotherName completes a program that is called by another name, which is a word and
// nothing else: a shell reads it.
func TestAnotherName(t *testing.T) {
	bash := needs.Tool(t, "completions in bash", "apt-get install bash", "bash")
	var b strings.Builder
	if err := Completion(&b, "bash", "engine-fleet", app(t)); err != nil {
		t.Fatal(err)
	}
	script := b.String() + `
COMP_WORDS=(engine-fleet record l); COMP_CWORD=2; _engine-fleet; printf '%s\n' "${COMPREPLY[@]}"; complete -p engine-fleet`
	out, err := exec.CommandContext(t.Context(), bash, "--norc", "-uc", script).CombinedOutput()
	if want := "live\nlist\ncomplete -o filenames -F _engine-fleet engine-fleet\n"; err != nil || string(out) != want {
		t.Errorf("%v: %s", err, out)
	}
	for _, name := range []string{"", "-x", "a b", "x;reboot", "$(x)", "x\ny", "../x"} {
		if err := Completion(&b, "bash", name, app(t)); err == nil {
			t.Errorf("completions for %q", name)
		}
	}
}

// TestZsh completes in a real, interactive zsh.
func TestZsh(t *testing.T) {
	zsh := needs.Tool(t, "completions in zsh", "apt-get install zsh", "zsh")
	driver, err := filepath.Abs("testdata/complete.zsh")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-f", driver, script(t, "zsh")}
	for _, tt := range completed {
		args = append(args, tt.line)
	}
	cmd := exec.CommandContext(t.Context(), zsh, args...)
	cmd.Env = append(os.Environ(), "TERM=dumb", "ZDOTDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	offers := strings.Split(string(out), "@@\n")
	if err != nil || len(offers) != len(completed)+1 {
		t.Fatalf("%v: %d offers: %s", err, len(offers)-1, out)
	}
	for i, tt := range completed {
		var got []string
		for l := range strings.Lines(offers[i+1]) {
			if hit, ok := strings.CutPrefix(strings.TrimSpace(l), "hit:"); ok {
				got = append(got, strings.ReplaceAll(strings.TrimSuffix(hit, "="), `\ `, " "))
			}
		}
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q\n%s", tt.line, got, tt.want, offers[i+1])
		}
	}
}
