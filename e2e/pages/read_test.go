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
	"regexp"
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

// command is one step of a page: a command, or a file that the page shows.
type command struct {
	line  int
	text  string
	want  []string // what the page prints after it
	last  bool     // it is the last of its block
	file  string   // the name of the file with this text
	stops bool     // no command: the section ends, or the page says that Ctrl-C does it
}

// elsewhere are the commands that are not run here, by their beginnings, with the reason and
// what holds them instead. A test fails if an entry is on no page.
var elsewhere = map[string]string{
	"make build":                       "TestPages builds the programs by itself; TestTargetsOfTheDocs, at the root, finds make's targets",
	"make demo":                        "it takes two minutes; `make recording` keeps what it prints",
	"make lint":                        "it is what CI runs",
	"go test ":                         "TestCommandsOfTheDocsTestSomething, at the root, finds what it runs",
	"go install ":                      "it writes outside of the folder; deploy/release builds both programs",
	"sudo apt install ":                "root; deploy/release looks into the package",
	"sudoedit ":                        "root; deploy/release checks the package's config",
	"sudo systemctl ":                  "root; deploy/check reads the unit",
	"docker ":                          "a daemon; `make deploy-check` reads the files",
	"helm install ":                    "a cluster; `make deploy-check` renders the chart",
	"whittle worker ":                  "several machines; e2e/load starts several workers",
	"whittle load plan.yml --workers ": "several machines; e2e/load runs plans on several workers",
	"whittle load primes/load.yaml":    inShort + "two minutes of traffic; TestCount, in e2e/new, walks to 100 % in seconds",
	"whittle status 'GET /primes/{n}'": inShort + "two minutes of traffic; TestCount, in e2e/new, walks to 100 % in seconds",
	"whittle find $(pgrep -f server.js) --duration": inShort + "half a minute of profile; find-and-profile.md's own find runs",
	"whittle load http://127.0.0.1:3000/Count ":     inShort + "ten seconds of load; cmd/whittle/testdata/script/load.txtar has these flags",
	"whittle load plan.yml --fail-if ":              inShort + "ten seconds of load; cmd/whittle/testdata/script/load.txtar has this flag",
	"whittle new session.har ":                      inShort + "a build; contract/scaffold makes projects of HAR files",
	"whittle new openapi.yaml ":                     inShort + "a build; contract/scaffold makes projects of OpenAPI documents",
	"whittle new proto/shop.proto ":                 inShort + "a build; contract/scaffold makes projects of .proto files",
}

// inShort begins the reason of what is left out in short runs only.
const inShort = "in short runs: "

// exception is the entry of the list that a command has; empty: none.
func exception(text string) string {
	for begins := range elsewhere {
		if strings.HasPrefix(text, begins) {
			return begins
		}
	}
	return ""
}

func leftOut(text string) bool {
	begins := exception(text)
	return begins != "" && (testing.Short() || !strings.HasPrefix(elsewhere[begins], inShort))
}

// checkExceptions holds the exceptions to the pages.
func checkExceptions(t *testing.T, all map[string][]command) {
	t.Helper()
	used := map[string]bool{}
	for _, commands := range all {
		for _, c := range commands {
			used[exception(c.text)] = true
		}
	}
	for begins := range elsewhere {
		if !used[begins] {
			t.Errorf("no page has %q: take it out of the list", begins)
		}
	}
}

// commandsOfPages reads every page of the documentation.
func commandsOfPages(t *testing.T) map[string][]command {
	t.Helper()
	all := map[string][]command{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "examples/*/*.md"} {
		paths, _ := filepath.Glob(filepath.Join(process.Repository, pattern)) // the pattern is right
		for _, path := range paths {
			page := strings.TrimPrefix(path, process.Repository+"/")
			all[page] = commandsOf(t, page)
		}
	}
	return all
}

var (
	fence   = regexp.MustCompile("^```(\\w*)$")
	heredoc = regexp.MustCompile(`<<'(\w+)'$`)
)

// commandsOf reads a page. In a console block a line with a dollar is a command, and the
// other lines are printed. In a shell block every line is a command.
func commandsOf(t *testing.T, page string) (all []command) {
	t.Helper()
	text := fatal.Read(t, filepath.Join(process.Repository, page))
	files := worlds[page].files
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		m := fence.FindStringSubmatch(lines[i])
		if m == nil {
			if strings.HasPrefix(lines[i], "## ") || strings.Contains(lines[i], "Ctrl-C") {
				all = append(all, command{line: i + 1, stops: true})
			}
			continue
		}
		first := i + 1
		for i = first; lines[i] != "```"; i++ {
			if m[1] == "" && strings.HasPrefix(lines[i], "$ ") {
				t.Errorf("%s:%d: a block with a command is a console block", page, i+1)
			}
		}
		block := lines[first:i]
		switch {
		case m[1] == "sh" || m[1] == "console":
			all = append(all, commandsOfBlock(block, first+1, m[1] == "console")...)
		case m[1] != "" && len(files) > 0:
			all = append(all, command{line: first + 1, text: strings.Join(block, "\n") + "\n", file: files[0]})
			files = files[1:]
		}
	}
	return all
}

func commandsOfBlock(block []string, line int, console bool) (all []command) {
	for i := 0; i < len(block); i++ {
		text, isCommand := strings.CutPrefix(block[i], "$ ")
		switch {
		case console && !isCommand && len(all) > 0:
			all[len(all)-1].want = append(all[len(all)-1].want, block[i])
			continue
		case text == "" || text[0] == '#':
			continue
		}
		c := command{line: line + i, text: text}
		end := heredoc.FindStringSubmatch(text)
		for i+1 < len(block) && (strings.HasSuffix(block[i], `\`) || end != nil && block[i] != end[1]) {
			i++
			c.text += "\n" + block[i]
		}
		all = append(all, c)
	}
	if len(all) > 0 {
		all[len(all)-1].last = true
	}
	return all
}

// world is what a page takes to be there, besides the files of testdata.
type world struct {
	// before are commands of the shell before the page's own.
	before string
	// files are the names of the files that the page shows, in their order.
	files []string
}

const (
	monolith  = "node server.js\n"
	candidate = "PORT=8090 node server.js\n"
	recorded  = "whittle record --listen :8080 --monolith http://127.0.0.1:3000 --to recorded &\nwhittle load users.yml --seed 7\nkill -INT %2; wait %2\n"
)

var worlds = map[string]world{
	"README.md":      {before: monolith + recorded + candidate},
	"docs/config.md": {before: "cp systems/count/count.binpb .", files: []string{"whittle.yaml"}},
	"docs/find-and-profile.md": {before: `node --inspect server.js
		bin/count -listen 127.0.0.1:6666 -admin 127.0.0.1:6060 &
		bin/count -listen 127.0.0.1:6665 -admin 127.0.0.1:8091 &
		curl -s -o cpu.pb.gz 'http://127.0.0.1:6060/debug/pprof/profile?seconds=1'
		whittle profile http://127.0.0.1:6060 --duration 1s --save after/`},
	"docs/load-jmeter.md":       {before: "cp systems/../examples/load-jmeter/plan.jmx .\n" + monolith + "PORT=8080 node server.js"},
	"docs/load.md":              {before: monolith + "PORT=8080 node server.js", files: []string{"plan.yml"}},
	"docs/new.md":               {before: "sed -i '/- get:/d' users.yml\n" + monolith + recorded},
	"docs/record-and-replay.md": {before: monolith + recorded + candidate},
	"docs/rollout.md":           {before: "openssl rand -hex 32 > preview.key\nmv preview.yaml whittle.yaml\nwhittle run -c whittle.yaml"},
	"docs/tutorial.md":          {files: []string{"app.js", "users.yml", "primes/internal/service/getprime.go"}},
}
