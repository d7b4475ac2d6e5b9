//go:build linux

// Package profile runs the built whittle's profile, diff, guard and find against
// real processes: the Node monolith, the count service as it was published, and
// emojify.
package profile

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/profile/report"
)

// built is where the commands are.
var built string

func TestMain(m *testing.M) {
	process.Main(m, func() (err error) {
		if err := process.NeedMonolith(); err != nil {
			return err
		}
		built, err = process.Build("./cmd/whittle", "./cmd/demo", "./systems/count/cmd/...", "./systems/emojify/cmd/...")
		return err
	})
}

// counter starts one of the count services, as it is or as it was published.
func counter(t testing.TB, name string, flags ...string) *process.Process {
	t.Helper()
	argv := []string{filepath.Join(built, name), "-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0", "-env-file", ""}
	return process.Start(t, append(argv, flags...)...)
}

// pid is a process's id as whittle profile takes it.
func pid(p *process.Process) string { return strconv.Itoa(p.Pid()) }

// program runs a built program in the repository's root, and gives what it printed and its exit
// status.
func program(t *testing.T, name string, args ...string) (said string, status int) {
	t.Helper()
	status, said = process.Run(t, process.Repository, append([]string{filepath.Join(built, name)}, args...)...)
	t.Logf("%s %s: exit status %d\n%s", name, strings.Join(args, " "), status, said)
	return said, status
}

// must runs whittle where it has to succeed.
func must(t *testing.T, args ...string) string {
	t.Helper()
	return process.MustRun(t, process.Repository, 0, append([]string{filepath.Join(built, "whittle")}, args...)...)
}

// enough is how many samples a report names a line from.
const enough = 100

// counted profiles a server while it counts, at a rate a second, and returns what is printed
// and the report saved in a folder. A busy machine gives the server little of a core: the load
// then goes on for longer, until the samples suffice.
func counted(t *testing.T, target, server, path, folder string, rate int) (out string, r report.Report) {
	t.Helper()
	for seconds := 4; ; seconds *= 2 {
		plan := fatal.Write(t, filepath.Join(folder, "plan.yml"), fmt.Sprintf(`
config:
  target: "http://127.0.0.1:1"
  phases:
    - {duration: %d, arrivalRate: %d}
scenarios:
  - flow:
      - post: {url: %q, json: {times: 1000000}}
`, seconds, 2*rate, path))
		file := filepath.Join(folder, "report.json")
		out = must(t, "profile", target, "--during", plan, "--target", "http://"+server, "--save", folder, "--json", file)
		if r = fatal.JSON[report.Report](t, file); r.Samples >= enough || seconds > 60 {
			return out, r
		}
	}
}
