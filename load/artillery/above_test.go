package artillery

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whittle/internal/fatal"
	"whittle/load/plan"
)

// A processor may stand above the plan's folder, as in repositories that have scenarios
// and processors next to each other; what it reads by a plain name is the plan's. What
// is above the folder that holds both stays out of reach.
func TestAProcessorMayStandAboveThePlan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"secret.js":                     "module.exports = 1",
		"tests/processors/p.js":         "exports.f = require('./lib').f; exports.g = require('fs').readFileSync('data.txt', 'utf8') === 'own' ? () => {} : undefined",
		"tests/processors/lib.js":       "exports.f = () => {}",
		"tests/processors/out.js":       "require('../../secret')",
		"tests/scenarios/load/data.txt": "own",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		fatal.If(t, os.MkdirAll(filepath.Dir(path), 0o750))
		fatal.If(t, os.WriteFile(path, []byte(text), 0o600))
	}
	read := func(processor string) (*plan.Plan, error) {
		return Parse("plan.yml", []byte("config: {target: 'http://h', processor: "+processor+"}\nscenarios: [{flow: [{function: f}, {function: g}, {get: {url: /}}]}]"),
			plan.Source{Folder: filepath.Join(dir, "tests", "scenarios", "load")})
	}
	p, err := read("../../processors/p.js")
	if err != nil || len(p.Notes) > 0 {
		t.Errorf("%v, notes %v", err, p)
	}
	if _, err := read("../../processors/out.js"); err == nil || !strings.Contains(err.Error(), "outside of the plan's folder") {
		t.Errorf("%v", err)
	}
}
