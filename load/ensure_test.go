package load

import (
	"encoding/json"
	"fmt"
	"net"
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
		{"ensure: {thresholds: [{'plugins.metrics-by-endpoint.response_time./bad.p99': 60000}, {apdex: 1}]}, plugins: {apdex: {threshold: 60000}, metrics-by-endpoint: {stripQueryString: true}}", "", 0},
		{"ensure: {thresholds: [{'plugins.metrics-by-endpoint.response_time./none.p99': 60000}]}", "./none.p99 has no value: there was no response of that name", whittle.FallsShort},
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

// A port that refuses every connection gives no response: a bound on latency must
// not be kept by that.
func TestEnsureOnLatencyIsNotKeptByATargetThatResponsesNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	target := "http://" + l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	const head = "config: {phases: [{duration: 0.1, arrivalCount: 4}], "
	const flow = "}\nscenarios: [{flow: [{get: {url: /}}]}]"
	for ensure, says := range map[string]string{
		"{p99: 200}": "http.response_time.p99 has no value: there was no response",
		"{thresholds: [{http.response_time.mean: 200}]}":                                     "http.response_time.mean has no value: there was no response",
		"{thresholds: [{'plugins.metrics-by-endpoint.response_time./.p99': 200}]}":           "./.p99 has no value: there was no response",
		"{conditions: [{expression: http.response_time.p99 < 200}]}":                         "the condition http.response_time.p99 < 200 is not met: there was no response",
		"{conditions: [{expression: not (http.response_time.p99 > 200)}]}":                   "is not met: there was no response",
		"{conditions: [{expression: http.requests == 4 and http.response_time.p99 != 200}]}": "is not met: there was no response",
		"{conditions: [{expression: http.responses == 0 or http.response_time.p99 < 200}]}":  "",
		"{conditions: [{expression: http.response_time.p99 < 200, strict: false}]}":          "",
	} {
		r := run(t, parsed(t, head+"ensure: "+ensure+flow), Options{Target: target, MaxLate: 60e9})
		if r.Completed != 0 || r.Requests != 4 {
			t.Fatalf("%d of %d got a response", r.Completed, r.Requests)
		}
		err := r.Err()
		// The run fails in any case; what follows is what ensure adds to that.
		none, added, _ := strings.Cut(fmt.Sprint(err), "; ")
		if whittle.CodeOf(err) != whittle.FallsShort || none != "not one of 4 requests to "+target+" got a response (refused: 4)" {
			t.Errorf("%s: %v", ensure, err)
		}
		if says == "" {
			if added != "" {
				t.Errorf("%s: %v", ensure, err)
			}
			continue
		}
		if !strings.Contains(added, says) {
			t.Errorf("%s: %v", ensure, err)
		}
		if line := r.Ensure[0].String(); !strings.Contains(line, "there was no response") || strings.Contains(line, "held") {
			t.Errorf("%s: %s", ensure, line)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("%s: %v", ensure, err)
		}
	}
}
