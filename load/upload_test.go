package load

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whittle/internal/fatal"
	"whittle/load/plan"
	"whittle/load/report"
)

// TestAFormWhoseHooksChangeItSendsItsFileEachTime: the bound on files is on those of the
// plan, however often a request of them is made anew.
func TestAFormWhoseHooksChangeItSendsItsFileEachTime(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer s.Close()
	dir := t.TempDir()
	for name, content := range map[string][]byte{
		"p.yml": []byte(`config: {target: 'http://x', processor: p.js}
scenarios: [{flow: [{post: {url: /, beforeRequest: mark, formData: {f: {fromFile: big.bin}}}}]}]`),
		"p.js":    []byte("let n = 0; exports.mark = (p, c, e, done) => { p.headers = {'x-n': String(++n)}; done(); }"),
		"big.bin": bytes.Repeat([]byte("x"), 5<<20),
	} {
		fatal.If(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	p, err := ReadPlan(filepath.Join(dir, "p.yml"))
	fatal.If(t, err)
	if p, err = p.WithUsers(plan.Closed{Users: 1, Loops: 5}); err != nil {
		t.Fatal(err)
	}
	if r := run(t, p, Options{Target: s.URL}); r.Completed != 5 || r.Failed != 0 {
		t.Errorf("%d responses, %v: %v", r.Completed, r.Errors, r.ErrorSamples)
	}
}

// TestAHookThatMakesNoRequestIsAFailure of its request, and of nothing else.
func TestAHookThatMakesNoRequestIsAFailure(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"p.yml": "config: {target: 'http://127.0.0.1:1', processor: p.js}\nscenarios: [{flow: [{get: {url: /, beforeRequest: spoil}}]}]",
		"p.js":  "exports.spoil = (p, c, e, done) => { p.headers = {'no name': 'x'}; done(); }",
	} {
		fatal.If(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	p, err := ReadPlan(filepath.Join(dir, "p.yml"))
	fatal.If(t, err)
	if p, err = p.WithUsers(plan.Closed{Users: 1}); err != nil {
		t.Fatal(err)
	}
	r := run(t, p, Options{})
	if r.Errors[report.ErrorScript] != 1 || !strings.Contains(r.ErrorSamples[report.ErrorScript], "no name") {
		t.Errorf("%v: %v", r.Errors, r.ErrorSamples)
	}
}
