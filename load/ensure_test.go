package load

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"whittle"
	"whittle/load/report"
)

func TestEnsureDecidesTheExitStatus(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bad" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer srv.Close()
	const head = "config: {phases: [{duration: 0.1, arrivalCount: 4}], "
	const flow = "}\nscenarios: [{flow: [{get: {url: /}}, {get: {url: /bad}}]}]"
	for _, c := range []struct {
		ensure, says string
		code         whittle.Code
	}{
		{"ensure: {maxErrorRate: 0, p99: 60000, thresholds: [{http.codes.500: 4}, {vusers.failed: 0}]}", "", 0},
		{"ensure: {conditions: [{expression: 'http.codes.500 == 4 and errors.timeout == 0'}, {expression: http.requests < 8, strict: false}]}", "", 0},
		{"ensure: {conditions: [{expression: http.requests < 8}]}", "the condition http.requests < 8 is not met", whittle.FallsShort},
		{"plugins: {expect: {}, ensure: {thresholds: [{http.responses: 7, errors.server_error: 3}]}}", "http.responses is 8, at most 7 is allowed; errors.server_error is 4", whittle.FallsShort},
		{"ensure: {thresholds: [{http.response_time.min: 0}]}", "at most 0 is allowed", whittle.FallsShort},
	} {
		r := run(t, parsed(t, head+c.ensure+flow), Options{Target: srv.URL, MaxLate: 60e9})
		err := r.Err()
		if c.says == "" {
			if err != nil {
				t.Errorf("%s: %v", c.ensure, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.says) || whittle.CodeOf(err) != c.code {
			t.Errorf("%s: %v", c.ensure, err)
		}
	}
	void := &report.Report{Void: "late", Ensure: []report.Check{{Metric: "x"}}}
	if err := void.Err(); whittle.CodeOf(err).ExitStatus() != 3 {
		t.Errorf("a void run: %v", err)
	}
}
