package load

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"whittle/load/report"
)

// groovyElement is an element that is a script in Groovy.
func groovyElement(kind, name, text string) string {
	return `<` + kind + ` testname="` + name + `">` + prop("scriptLanguage", "groovy") + prop("script", text) + `</` + kind + `><hashTree/>`
}

// A script that fails is told by its element, its line, how often and with what, whether
// or not it ends a request.
func TestScriptsThatFailAreReported(t *testing.T) {
	srv := newAsked(t, func(http.ResponseWriter, *http.Request) {})
	flow := get("/a", groovyElement("JSR223PreProcessor", "early", "int n = 1\nif (n > 0) {\n  vars.put('l', vars.get('none').length().toString())\n}\n")) + "\n" +
		get("/b", groovyElement("JSR223PostProcessor", "late", "vars.put('n', vars.get('none').trim())")) + "\n" +
		get("/c?x=${__groovy(vars.get('none').length())}", "") + groovyElement("JSR223Sampler", "own", "throw new Exception('no')")
	r := runJMX(t, jmx(threads(2, 3, flow)), nil, Options{Target: srv.URL})
	at := func(f report.ScriptFailure, element string, line int, says string) bool {
		return f.Element == element && f.File == "p.jmx" && f.Line == line && f.Count == 6 && strings.Contains(f.Sample, says) && !strings.Contains(f.Sample, "library")
	}
	for _, want := range []struct {
		element string
		line    int
		says    string
	}{
		{`JSR223PreProcessor "early"`, 3, "TypeError: Cannot read property 'length' of"},
		{`JSR223PostProcessor "late"`, 6, "null, where a text is wanted"},
		{"__groovy", 7, "TypeError"},
		{`JSR223Sampler "own"`, 7, "Error: no"},
	} {
		if !slices.ContainsFunc(r.ScriptFailures, func(f report.ScriptFailure) bool { return at(f, want.element, want.line, want.says) }) {
			t.Errorf("no %s in line %d: %+v", want.element, want.line, r.ScriptFailures)
		}
	}
	if len(r.ScriptFailures) != 4 || r.Requests != 18 || r.Failed != 0 {
		t.Errorf("%+v, %d requests, %d failed", r.ScriptFailures, r.Requests, r.Failed)
	}
	var b strings.Builder
	if err := r.WriteSummary(&b); err != nil || !strings.Contains(b.String(), "SCRIPT FAILED: JSR223PreProcessor \"early\" (p.jmx:3) 6 times, such as: ") {
		t.Errorf("%v: %s", err, b.String())
	}
	// The next run counts anew.
	if r := runJMX(t, jmx(threads(1, 1, get("/a", groovyElement("JSR223PreProcessor", "sound", "vars.put('n', '5')")))), nil, Options{Target: srv.URL}); len(r.ScriptFailures) != 0 {
		t.Errorf("%+v", r.ScriptFailures)
	}
}
