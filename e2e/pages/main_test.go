// Package pages runs the commands that the documentation shows, as they stand, and compares
// what they print with the page. Each page has a folder and a network of its own, in which
// the ports that it names are free.
package pages

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/internal/needs"
)

// pageVariable names the page that a process of TestPage runs, and builtVariable the programs' folder.
const pageVariable, builtVariable = "WHITTLE_PAGE", "WHITTLE_BUILT"

// TestPages runs each page in a process and a network of its own. A user namespace makes the
// network, which takes no privileges.
func TestPages(t *testing.T) {
	const what, remedy = "the commands of the documentation", "run it on Linux with bash, curl, jq, iproute2 and user namespaces"
	if err := process.NeedMonolith(); err != nil {
		needs.Missing(t, what, err.Error())
	}
	network := []string{"-r", "-n", "sh", "-c", `ip link set lo up && exec "$@"`, "sh"}
	if err := exec.CommandContext(t.Context(), "unshare", append(network, "sh", "-c", "command -v bash && command -v curl && command -v jq")...).Run(); err != nil {
		needs.Missing(t, what, remedy)
	}
	built, err := process.Build("./cmd/whittle", "./systems/count/cmd/count", "./systems/ingest/cmd/ingest", "./systems/emojify/cmd/emojify")
	fatal.If(t, err)
	all := commandsOfPages(t)
	checkExceptions(t, all)
	for page, commands := range all {
		if !slices.ContainsFunc(commands, func(c command) bool { return !c.stops && !leftOut(c.text) }) {
			continue
		}
		t.Run(strings.ReplaceAll(page, "/", "-"), func(t *testing.T) {
			t.Parallel()
			test := []string{os.Args[0], "-test.run=^TestPage$", fmt.Sprintf("-test.v=%v", testing.Verbose()), fmt.Sprintf("-test.short=%v", testing.Short())}
			cmd := exec.CommandContext(t.Context(), "unshare", slices.Concat(network, test)...)
			cmd.Env = append(os.Environ(), pageVariable+"="+page, builtVariable+"="+built)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Error(err)
			}
			t.Logf("%s", out)
		})
	}
}

// TestPage runs the page that the environment names.
func TestPage(t *testing.T) {
	page := os.Getenv(pageVariable)
	if page == "" {
		return // TestPages starts it
	}
	s := newShell(t, page)
	for line := range strings.Lines(strings.TrimSpace(worlds[page].before)) {
		s.run(command{text: strings.TrimSpace(line)}, untilPageEnds)
	}
	for _, c := range commandsOf(t, page) {
		switch {
		case c.stops:
			s.stop(untilSectionEnds)
		case c.file != "":
			path := filepath.Join(s.dir, c.file)
			fatal.If(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(c.text), 0o600)))
		case !leftOut(c.text):
			s.run(c, endOf(c.text))
		}
		if c.last {
			s.endBlock()
		}
	}
	s.stop(untilPageEnds)
}
