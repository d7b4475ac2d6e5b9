package artillery

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/load/plan"
)

func TestErrorsPointAtTheirPlace(t *testing.T) {
	for _, c := range []struct {
		yaml, at, says string
		code           whittle.Code
	}{
		{"", "1:1", "empty", whittle.Invalid},
		{"a: [1", "", "not readable as YAML", whittle.Invalid},
		{"config: {}", "1:1", "no scenarios", whittle.Invalid},
		{"config:\n  processor: ./f.js\n" + smallest, "2:14", "the processor ./f.js: f.js is not in the plan's folder", whittle.NotFound},
		{"config:\n  processor: ./f.ts\n" + smallest, "2:14", "the processor ./f.ts: f.ts is not in the plan's folder", whittle.NotFound},
		{"scenarios: [{flow: [{get: {url: '/{{ $fakeEmail() }}'}}]}]", "1:33", "{{ $fakeEmail() }} is not supported", whittle.Invalid},
		{"config:\n  ensure:\n    thresholds: [{http.response_time.p98: 5}]\n" + smallest, "3:19", "a threshold on http.response_time.p98 is not supported", whittle.Unsupported},
		{"config:\n  ensure:\n    thresholds: [{errors.EPROTO: 0}]\n" + smallest, "3:19", "a threshold on errors.EPROTO is not supported: known are", whittle.Unsupported},
		{"config:\n  ensure:\n    conditions:\n    - expression: errors.timeouts == 0\n" + smallest, "4:7", "errors.timeouts is not supported: known are", whittle.Invalid},
		{"config:\n  ensure:\n    conditions:\n    - expression: http.nothing < 5\n" + smallest, "4:7", "http.nothing is not supported: known are", whittle.Invalid},
		{"config:\n  phases:\n    - duration: 10\n      arrivalRate: fast\n" + smallest, "4:20", `a number is wanted here, not "fast"`, whittle.Invalid},
		{"config:\n  phases:\n    - duration: 5 parsecs\n" + smallest, "3:17", "a duration is wanted", whittle.Invalid},
		{"config: {phases: [{duration: -1, arrivalRate: 1}]}\n" + smallest, "1:30", "not within", whittle.Invalid},
		{"config: {phases: [{arrivalRate: 1}]}\n" + smallest, "1:19", "has a duration above 0", whittle.Invalid},
		{"config: {phases: [{duration: 1, rampTo: 4}]}\n" + smallest, "1:19", "rampTo needs the arrivalRate", whittle.Invalid},
		{"config: {phases: [{duration: 1, arrivalRate: 4, arrivalCount: 4}]}\n" + smallest, "1:19", "either arrivalRate or", whittle.Invalid},
		{"config: {phases: [{pause: 1, duration: 4}]}\n" + smallest, "1:19", "pause has no duration", whittle.Invalid},
		{"config:\n  payload: {path: a.csv, fields: [a], name: rows, loadAll: true, order: sequence}\n" + smallest, "2:73", "loadAll with an order is not supported", whittle.Unsupported},
		{"config: {mode: burst}\n" + smallest, "1:16", `uniform or poisson is wanted here, not "burst"`, whittle.Invalid},
		{"config: {target: 'ftp://x'}\n" + smallest, "1:18", "not of the form", whittle.Invalid},
		{"scenarios: [{flow: [{post: {url: /, form: {f: 2024-05-01}}}]}]", "1:47", "without quotes is not supported: to Artillery it is a time", whittle.Unsupported},
		{"scenarios: [{flow: [{post: {url: /, json: {n: .inf}}}]}]", "1:47", ".inf has no meaning", whittle.Invalid},
		{"config: {target: 'localhost:3000'}\n" + smallest, "1:18", "is not of the form http://host", whittle.Invalid},
		{"scenarios:\n  - flow:\n    - get:\n      url: /reviews\n", "4:7", "url is not known in a step", whittle.Invalid},
		{"scenarios: [{name: x, flows: []}]", "1:13", "a scenario has a flow", whittle.Invalid},
		{"scenarios: [{engine: ws, flow: []}]", "1:22", "the engine ws is not supported", whittle.Unsupported},
		{"scenarios: [{flow: [{get: {url: /}, name: x}]}]", "1:37", "name is not known in a step; known are", whittle.Invalid},
		{"scenarios: [{flow: [{think: 1}]}]", "1:12", "no scenario sends a request", whittle.Invalid},
		{"scenarios: [{flow: [{get: {url: '/{{ $randomNumber(a,1) }}'}}]}]", "1:33", "two whole numbers", whittle.Invalid},
		{"scenarios: [{flow: [{get: {url: '/{{ x'}}]}]", "1:33", "{{ without }}", whittle.Invalid},
		{"scenarios: [{flow: [{get: {json: {}}}]}]", "1:27", "a GET with a body is not sent by Artillery", whittle.Unsupported},
		{"scenarios: [{flow: [{get: {name: x}}]}]", "1:27", "has a url", whittle.Invalid},
		{"scenarios: [{flow: [{post: {url: /, json: {}, form: {a: x}}}]}]", "1:28", "one of json, body, form and formData", whittle.Invalid},
		{"scenarios: [{flow: [{post: {url: /, headers: {Content-Length: 5}}}]}]", "1:47", "frames the message", whittle.Unsupported},
		{"scenarios: [{flow: [{get: {url: /, qs: {'{{ k }}': v}}}]}]", "1:41", "an expression in a name of qs is not supported: {{ k }}", whittle.Unsupported},
		{"scenarios: [{flow: [{loop: [{get: {url: /}}]}]}]", "1:21", "never end", whittle.Unsupported},
		{"scenarios: [{weight: 0, flow: [{get: {url: /}}]}]", "1:12", "weights add up to 0", whittle.Invalid},
		{"a: &a [*a]\n" + smallest, "", "contains itself", whittle.Invalid},
		{"config: {}\nconfig: {}\n" + smallest, "", "", whittle.Invalid},
		{"scenarios: [{flow: [{get: {url: /, capture: {json: '$[', as: a}}}]}]", "", "the json is not understood", whittle.Invalid},
		{"scenarios: [{flow: [{get: {url: /, capture: {regexp: '(?=x', as: a}}}]}]", "", "the pattern is not understood", whittle.Invalid},
		{"scenarios: [{flow: [{get: {url: /, capture: {regexp: '(?=x)', group: 1, as: a}}}]}]", "", "no group 1", whittle.Invalid},
		{"scenarios: [{flow: [{get: {url: /, capture: {regexp: x, group: 2, as: a}}}]}]", "", "no group 2", whittle.Invalid},
		{"scenarios: [{flow: [{get: {url: /, capture: {selector: '[', attr: id, as: a}}}]}]", "", "the selector is not understood", whittle.Invalid},
		{"scenarios: [{flow: [{get: {url: /, capture: {selector: p, as: a}}}]}]", "1:45", "a selector without an attr is not supported", whittle.Unsupported},
		{"scenarios: [{flow: [{get: {url: /, capture: {xpath: '//[', as: a}}}]}]", "", "xpath is not supported: use selector, regexp or json", whittle.Unsupported},
		{"scenarios: [{flow: [{get: {url: /, capture: {json: $}}}]}]", "", "not a variable's name", whittle.Invalid},
		{"config: {http: {pool: 2}}\nscenarios: [{flow: [{parallel: [{get: {url: /}}]}]}]", "", "parallel with http.pool", whittle.Unsupported},
		{"scenarios: [{flow: [{post: {url: /, formData: {f: {fromFile: '{{ a }}'}}}}]}]", "", "an expression in the path of a file is not supported", whittle.Unsupported},
		{"scenarios: [{flow: [{loop: [{get: {url: /}}], count: -1}]}]", "", "would never end", whittle.Unsupported},
		{"scenarios: [{flow: [{get: {url: /}, count: 2}]}]", "", "this belongs to a loop", whittle.Invalid},
	} {
		_, err := Parse("p.yml", []byte(c.yaml), plan.Source{})
		e, ok := errors.AsType[*whittle.Error](err)
		if !ok || e.Code != c.code || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "p.yml:"+c.at) {
			t.Errorf("%q: %v\nwant %s at %s: %s", c.yaml, err, c.code, c.at, c.says)
		}
	}
}

func TestAliasesCannotExplode(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 9 {
		b.WriteString(strings.NewReplacer("N", string(rune('0'+i)), "M", string(rune('1'+i))).
			Replace("aM: &aM [*aN, *aN, *aN, *aN, *aN, *aN, *aN, *aN, *aN, *aN]\n"))
	}
	if _, err := Parse("p.yml", []byte(b.String()+smallest), plan.Source{}); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a billion values: %v", err)
	}
}

// TestCSVFilesAreReadAsByArtillery: testdata/csv.txt has files with what csv-parse, by
// which Artillery reads them, makes of them.
func TestCSVFilesAreReadAsByArtillery(t *testing.T) {
	table := fatal.Read(t, "testdata/csv.txt")
	fields := "[c0"
	for i := range 30 {
		fields += fmt.Sprintf(", c%d", i+1)
	}
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(strings.TrimSpace(line), "\t")
		var src string
		fatal.If(t, json.Unmarshal([]byte(parts[0]), &src))
		payload := "{path: rows.csv, fields: " + fields + "]" + strings.Replace(strings.Trim(parts[1], "{}"), `"delimiter"`, `, delimiter`, 1) + "}"
		p, err := Parse("p.yml", []byte("config: {payload: "+payload+"}\n"+smallest), plan.Source{Open: func(string) ([]byte, error) { return []byte(src), nil }})
		if err != nil {
			if !strings.HasPrefix(parts[2], "error ") && parts[2] != "[]" {
				t.Errorf("%s %s: %v, want %s", parts[0], parts[1], err, parts[2])
			}
			continue
		}
		var rows []string
		for _, row := range p.Payloads[0].Rows {
			var cells []string
			for _, c := range row {
				if c.JSON != "" {
					cells = append(cells, c.JSON)
				}
			}
			rows = append(rows, "["+strings.Join(cells, ",")+"]")
		}
		fatal.Same(t, "["+strings.Join(rows, ",")+"]", parts[2], "%s %s", parts[0], parts[1])
	}
}

const smallest = "scenarios: [{flow: [{get: {url: /}}]}]\n"

// parsed reads a plan or fails the test.
func parsed(t testing.TB, src string) *plan.Plan {
	t.Helper()
	p, err := Parse("plan.yml", []byte(src), plan.Source{})
	fatal.If(t, err)
	return p
}

// What a plan has too much of for a report is said with its number.
func TestTooMuchForAReportIsCounted(t *testing.T) {
	var flow, odd strings.Builder
	for i := range 150 {
		fmt.Fprintf(&flow, "{get: {url: /%d}}, ", i)
	}
	for i := range maxNotes + 7 {
		fmt.Fprintf(&odd, "\n  odd%d: 1", i)
	}
	p := parsed(t, "config:"+odd.String()+"\nscenarios: [{flow: ["+flow.String()+"]}]")
	notes := strings.Join(p.Notes, "\n")
	fatal.Has(t, notes, "the plan has 150 names of requests, and 51 of them are counted together as (all others)", "\n7 further notes of the plan are left out")
	if p.Shared != 51 || len(p.Names) != plan.MaxNames {
		t.Errorf("%d shared, %d names", p.Shared, len(p.Names))
	}
}

// What Artillery leaves out or passes over, a note says.
func TestNotesSayWhatIsLeftOut(t *testing.T) {
	for src, says := range map[string]string{
		"config: {phasess: []}\n" + smallest:                                              "line 1: phasess in config is left out, as Artillery leaves it out: known are ",
		"phases: []\n" + smallest:                                                         "phases in the plan is left out",
		"config: {plugins: {slack: {}}}\n" + smallest:                                     "plugin slack is left out",
		"config: {engines: {playwright: {}}}\n" + smallest:                                "the engine playwright is left out",
		"scenarios: [{flow: [{get: {url: '/{{ who }}'}}]}]":                               "nothing in the plan sets {{ who }}: it is undefined",
		"scenarios: [{flow: [{get: {url: /, ifTrue: shouldGo}}]}]":                        "nothing in the plan sets {{ shouldGo }}",
		"scenarios: [{flow: [{get: {url: /, ifTrue: 'a && b'}}]}]":                        "holds always, as by Artillery",
		"scenarios: [{flow: [{get: {url: /, expect: {jmespath: x}}}]}]":                   "the expectation jmespath is left out",
		"scenarios: [{flow: [{function: sign}, {get: {url: /}}]}]":                        "the function sign is passed over, as Artillery does: the plan has no config.processor",
		"scenarios: [{flow: [{get: {url: /, beforeRequest: sign}}]}]":                     "the function sign is passed over",
		"scenarios: [{flow: [{get: {url: no-slash}}]}]":                                   "does not begin with a slash",
		"scenarios: [{flow: [{get: {url: /}}, {think: 0.5}]}]":                            "0.5 milliseconds",
		"scenarios: [{flow: [{get: {url: /, capture: {header: X-Id, as: a}}}]}]":          "the header X-Id is not found",
		"scenarios: [{flow: [{get: {url: /, capture: {json: $, as: a, transform: x}}}]}]": "transform in a capture is left out",
		"config: {http: {defaults: {headers: {a: '{{ token }}'}}}}\n" + smallest:          "{{ token }} is not known in the config",
	} {
		if notes := strings.Join(parsed(t, src).Notes, "\n"); !strings.Contains(notes, says) {
			t.Errorf("%s notes %q", src, notes)
		}
	}
	if _, err := Parse("p.yml", []byte(smallest), plan.Source{Environment: "none"}); err != nil {
		t.Errorf("an environment that is not there: %v", err)
	}
}

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
		fatal.Write(t, path, text)
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

func TestQuickMistakesAreReported(t *testing.T) {
	const at = "http://127.0.0.1:1"
	for says, q := range map[string]Quick{
		"is not a URL":                {URL: "127.0.0.1:80"},
		"not a URL such":              {URL: "ftp://x/"},
		"is not JSON":                 {URL: at, Request: Request{JSON: "{"}},
		"one body":                    {URL: at, Request: Request{JSON: "{}", Body: "x"}},
		"form \"Name: value\"":        {URL: at, Request: Request{Headers: []string{"X"}}},
		"is not a header's name":      {URL: at, Request: Request{Headers: []string{": x"}}},
		"is not a method":             {URL: at, Request: Request{Method: "G T"}},
		"either a rate":               {URL: at, Rate: 1, Duration: time.Second, Closed: plan.Closed{Users: 2}},
		"--rate needs --duration":     {URL: at, Rate: 1},
		"a rate of -1":                {URL: at, Rate: -1, Duration: time.Second},
		"a think time of -1":          {URL: at, Request: Request{Think: -1}},
		"a timeout of -1":             {URL: at, Request: Request{Timeout: -1}},
		"users are not within":        {URL: at, Closed: plan.Closed{Users: plan.MaxClosed + 1}},
		"nothing in the plan defines": {URL: at, Request: Request{Body: "{{ x }}"}},
	} {
		_, err := q.Plan()
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "flags:") || whittle.CodeOf(err) != whittle.Invalid {
			t.Errorf("%+v: %v, want %q", q, err, says)
		}
	}
}
