package load

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"whittle/internal/fatal"
	"whittle/load/plan"
	"whittle/load/report"
)

// schemaTable returns the names between backquotes in the rows of the table of
// what runs, by whether their row says that they are refused.
func schemaTable(t *testing.T) (runs, refused map[string]bool) {
	t.Helper()
	_, text, _ := strings.Cut(fatal.Read(t, "../docs/load.md"), "## What of Artillery's schema runs")
	text, _, _ = strings.Cut(text, "\n## ")
	quoted, word := regexp.MustCompile("`[^`]+`"), regexp.MustCompile(`[A-Za-z][\w-]*`)
	runs, refused = map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		cells := strings.Split(line, "|")
		into := runs
		if strings.HasPrefix(strings.TrimSpace(cells[2]), "refused") {
			into = refused
		}
		for i, cell := range cells {
			if place, rest, ok := strings.Cut(cell, "`: "); ok && strings.TrimSpace(place) == "`config" {
				cell = rest
			}
			for _, q := range quoted.FindAllString(cell, -1) {
				for _, w := range word.FindAllString(q, -1) {
					if i == 1 || strings.HasPrefix(q, "`{") {
						into[w] = true
					}
				}
			}
		}
		// What is refused of an element that runs is said in its row.
		for _, m := range regexp.MustCompile("`(\\w+)` (?:within|without) (?:`\\w+`|end) is refused").FindAllStringSubmatch(line, -1) {
			refused[m[1]] = true
		}
	}
	return runs, refused
}

// The reader itself says what it knows at a place: in the note on what it leaves out, and
// of a step in its error.
func TestEveryElementIsInTheTable(t *testing.T) {
	runs, refused := schemaTable(t)
	for what, text := range map[string]string{
		"the plan":    "X: 1\n" + small,
		"config":      "config: {X: 1}\n" + small,
		"config.http": "config: {http: {X: 1}}\n" + small,
		"defaults":    "config: {http: {defaults: {X Y: 1}}}\n" + small, // X alone could be a header's name
		"think":       "config: {http: {defaults: {think: {X: 1}}}}\n" + small,
		"config.tls":  "config: {tls: {X: 1}}\n" + small,
		"a phase":     "config: {phases: [{X: 1, pause: 1}]}\n" + small,
		"payload":     "config: {payload: {X: 1, path: a.csv, fields: [a]}}\n" + small,
		"ensure":      "config: {ensure: {X: 1}}\n" + small,
		"a condition": "config: {ensure: {conditions: [{X: 1, expression: http.responses > 1}]}}\n" + small,
		"a flow":      "before: {X: 1, flow: []}\n" + small,
		"a scenario":  "scenarios: [{X: 1, flow: [{get: {url: /}}]}]",
		"a step":      "scenarios: [{flow: [{X: 1}]}]",
		"a request":   "scenarios: [{flow: [{get: {X: 1, url: /}}]}]",
		"auth":        "scenarios: [{flow: [{get: {auth: {X: 1}, url: /}}]}]",
		"a file":      "scenarios: [{flow: [{post: {formData: {a: {X: 1, fromFile: a.csv}}, url: /}}]}]",
		"a capture":   "scenarios: [{flow: [{get: {capture: {X: 1, json: $, as: a}, url: /}}]}]",
		"a match":     "scenarios: [{flow: [{get: {match: {X: 1, json: $, value: a}, url: /}}]}]",
		"expect":      "scenarios: [{flow: [{get: {expect: {X: 1}, url: /}}]}]",
	} {
		p, err := Parse("p.yml", []byte(text), plan.Source{Open: func(string) ([]byte, error) { return []byte("a\n"), nil }})
		var said string
		if err != nil {
			said = err.Error()
		} else {
			said = strings.Join(p.Notes, "\n")
		}
		_, list, ok := strings.Cut(said, "known are ")
		if !ok || !strings.Contains(said, "X") {
			t.Errorf("%s takes anything: %s", what, said)
			continue
		}
		list, _, _ = strings.Cut(list, ";")
		for name := range strings.SplitSeq(list, ", ") {
			if !runs[name] && name != "config" && name != "onError" {
				t.Errorf("%s knows %s, which is not in the table as running", what, name)
			}
			if refused[name] && !slices.Contains([]string{"engine", "loop", "onError"}, name) {
				t.Errorf("%s knows %s, which the table calls refused", what, name)
			}
		}
	}
}

func TestWhatTheTableRefusesIsRefused(t *testing.T) {
	_, refused := schemaTable(t)
	for name, text := range map[string]string{
		"engine":  "scenarios: [{engine: ws, flow: [{get: {url: /}}]}]",
		"loop":    "scenarios: [{flow: [{loop: [{get: {url: /}}]}]}]",
		"onError": "scenarios: [{onError: f, flow: [{get: {url: /}}]}]",
	} {
		if !refused[name] {
			t.Errorf("%s is not in the table as refused", name)
		}
		_, err := Parse("p.yml", []byte(text), plan.Source{})
		if err == nil || !strings.Contains(err.Error(), "is not supported") {
			t.Errorf("%s: %v", name, err)
		}
		delete(refused, name)
	}
	if len(refused) > 0 {
		t.Errorf("the table refuses %v, which is tried by nobody", refused)
	}
}

// The table of the report has every field that a report has.
func TestEveryFieldOfTheReportIsInTheTable(t *testing.T) {
	_, text, _ := strings.Cut(fatal.Read(t, "../docs/load.md"), "\n## The report\n")
	text, _, _ = strings.Cut(text, "\n## ")
	of := reflect.TypeFor[report.Report]()
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" && !strings.Contains(text, "`"+name+"`") {
			t.Errorf("%s is not in docs/load.md", name)
		}
	}
}
