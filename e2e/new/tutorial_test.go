package newservice

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/record/capture"
)

// tutorial gives a file of examples/express-endpoint, which docs/tutorial.md shows whole.
func tutorial(t *testing.T, name string) string {
	t.Helper()
	file := fatal.Read(t, filepath.Join(process.Repository, "examples/express-endpoint", name))
	if !strings.Contains(fatal.Read(t, filepath.Join(process.Repository, "docs/tutorial.md")), "\n"+file+"```\n") {
		t.Fatalf("docs/tutorial.md does not show examples/express-endpoint/%s as it is", name)
	}
	return file
}

// replaced puts a text in the place of one that is there once.
func replaced(t *testing.T, in, old, with string) string {
	t.Helper()
	if strings.Count(in, old) != 1 {
		t.Fatalf("%q is not there once:\n%s", old, in)
	}
	return strings.Replace(in, old, with, 1)
}

// tutorialMonolith runs the tutorial's app.js.
func tutorialMonolith(t *testing.T) string {
	t.Helper()
	fatal.If(t, process.NeedMonolith())
	packages, err := filepath.Abs(filepath.Join(process.Repository, "systems/count/monolith/node_modules"))
	fatal.If(t, err)
	t.Setenv("NODE_PATH", packages)
	app := replaced(t, tutorial(t, "app.js"), "app.listen(3000, '127.0.0.1');",
		"const server = app.listen(0, '127.0.0.1', () => console.log(`listening public=127.0.0.1:${server.address().port}`));")
	dir := t.TempDir()
	fatal.Write(t, filepath.Join(dir, "app.js"), app)
	return "http://" + process.StartIn(t, dir, "node", "app.js").Public
}

// tutorialInputs are those of the tutorial's users.
var tutorialInputs = []int{0, 2, 10, 100, 500, 1000, 2000, 5000, 300000}

// TestTheTutorialWithAnyInputBroken makes the tutorial's project of what its users
// asked, gives it the tutorial's logic, and breaks one input at a time: what
// make test runs passes with none broken and fails with any, the one that only
// ever failed too; and the load plan asks all of them, so that the shadow has
// them as well.
func TestTheTutorialWithAnyInputBroken(t *testing.T) {
	monolith, work := tutorialMonolith(t), t.TempDir()
	tutorial(t, "users.yml")
	record(t, monolith, filepath.Join(work, "recorded"), 500, func(i int) request {
		// The first input alone for long, as a log may begin.
		n := tutorialInputs[0]
		if i >= 200 {
			n = tutorialInputs[i%len(tutorialInputs)]
		}
		return request{"GET", fmt.Sprintf("/primes/%d", n), ""}
	})
	report := filepath.Join(work, "new.json")
	said := process.MustRun(t, work, 0, whittled, "new", "recorded", "--to", "primes", "--route", "GET /primes/{n}", "--monolith", monolith, "--no-build", "--json", report)
	fatal.Has(t, said, "GetPrime: its tests ask 9 of 9 distinct recorded inputs, the load plan 9\n")
	m := fatal.JSON[struct {
		Coverage []struct{ Tests, Plan capture.Coverage }
	}](t, report)
	if len(m.Coverage) != 1 || m.Coverage[0].Tests.Covered != 9 || m.Coverage[0].Plan.Covered != 9 || m.Coverage[0].Tests.Inputs != 9 {
		t.Errorf("the report says %+v", m)
	}
	dir := filepath.Join(work, "primes")
	plan := fatal.Read(t, filepath.Join(dir, "load.yaml"))
	for _, n := range tutorialInputs {
		fatal.Has(t, plan, fmt.Sprintf("url: \"/primes/%d\"\n", n))
	}

	logic := tutorial(t, "getprime.go.txt")
	logic = replaced(t, logic, "import (\n", "import (\n\t\"os\"\n\t\"strconv\"\n")
	logic = replaced(t, logic, "if n < 0 || n > most {", "broken := os.Getenv(\"BROKEN\") == strconv.Itoa(int(n))\n\tif (n < 0 || n > most) && !broken {")
	logic = replaced(t, logic, "\treturn out, nil\n", "\tif broken {\n\t\tout.Count++\n\t}\n\treturn out, nil\n")
	fatal.Write(t, filepath.Join(dir, "internal/service/getprime.go"), logic)
	process.MustRun(t, dir, 0, "go", "test", "-c", "-o", "server.test", "./internal/server")
	tests := filepath.Join(dir, "server.test")
	process.MustRun(t, filepath.Join(dir, "internal/server"), 0, tests)
	for _, n := range tutorialInputs {
		cmd := exec.CommandContext(t.Context(), tests, "-test.run", "TestRecorded")
		cmd.Dir, cmd.Env = filepath.Join(dir, "internal/server"), append(os.Environ(), fmt.Sprintf("BROKEN=%d", n))
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "$.count is ") {
			t.Errorf("with the response to %d broken the project's tests end with %v and say\n%s", n, err, out)
		}
	}
}
