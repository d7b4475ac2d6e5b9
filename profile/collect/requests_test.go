package collect

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"whittle"
)

func TestRequests(t *testing.T) {
	for name, c := range map[string]struct {
		page string
		want map[string]int64
		code whittle.Code

		classes map[string]int64
	}{
		"by route": {page: `
# TYPE http_requests_total counter
http_requests_total{route="/a",method="get",code="200"} 7
http_requests_total{route="/a",method="get",code="500"} 1
http_requests_total{route="/b",method="post",code="200"} 5
# TYPE promhttp_metric_handler_requests_total counter
promhttp_metric_handler_requests_total{code="200"} 99
`, want: map[string]int64{"GET /a": 8, "POST /b": 5}, classes: map[string]int64{"2xx": 12, "5xx": 1}},
		"a histogram": {page: `
# TYPE http_request_duration_seconds histogram
http_request_duration_seconds_bucket{handler="GET /a",le="+Inf"} 4
http_request_duration_seconds_sum{handler="GET /a"} 1
http_request_duration_seconds_count{handler="GET /a"} 4
`, want: map[string]int64{"GET /a": 4}},
		"not distinguished": {page: "# TYPE count_calls_total counter\ncount_calls_total{protocol=\"twirp\"} 3\n", want: map[string]int64{"": 3}},
		"none":              {page: "# TYPE up gauge\nup 1\n", code: whittle.NotFound},
		"no metrics":        {page: "<html>", code: whittle.Invalid},
		"too large":         {page: strings.Repeat("# a comment\n", maxMetrics/12+1), code: whittle.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, c.page) }))
			defer srv.Close()
			defer client.CloseIdleConnections()
			got, err := Requests(t.Context(), MetricsOf(srv.URL+"/debug/pprof"))
			if c.want != nil && (err != nil || !maps.Equal(got.Endpoints, c.want) || !maps.Equal(got.Classes, c.classes)) {
				t.Errorf("%v, %v; want %v", got, err, c.want)
			}
			if c.want == nil && whittle.CodeOf(err) != c.code {
				t.Errorf("error %v, want %s", err, c.code)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	const requests = "# TYPE http_requests_total counter\nhttp_requests_total{route=\"/a\"} 7\nhttp_requests_total{route=\"/b\"} 3\n"
	for name, c := range map[string]struct {
		page string
		want whittle.CPUUse
		code whittle.Code
	}{
		"one process": {page: "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 1.25\n" + requests, want: whittle.CPUUse{CPU: 1250 * time.Millisecond, Requests: 10}},
		"untyped":     {page: "process_cpu_seconds_total 2\n" + requests, want: whittle.CPUUse{CPU: 2 * time.Second, Requests: 10}},
		"workers": {
			page: "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total{worker=\"1\"} 1\nprocess_cpu_seconds_total{worker=\"2\"} 2\n" + requests,
			want: whittle.CPUUse{CPU: 3 * time.Second, Requests: 10},
		},
		"no CPU":      {page: requests, code: whittle.NotFound},
		"no requests": {page: "process_cpu_seconds_total 2\n", code: whittle.NotFound},
		"nonsense":    {page: "process_cpu_seconds_total NaN\n" + requests, code: whittle.Invalid},
		"below none":  {page: "process_cpu_seconds_total -1\n" + requests, code: whittle.Invalid},
		"for ever":    {page: "process_cpu_seconds_total +Inf\n" + requests, code: whittle.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, c.page) }))
			defer srv.Close()
			defer client.CloseIdleConnections()
			got, err := Usage(t.Context(), srv.URL)
			if got != c.want || err != nil && whittle.CodeOf(err) != c.code || (err != nil) != (c.code != whittle.Code(0)) {
				t.Errorf("%+v, %v; want %+v, %v", got, err, c.want, c.code)
			}
		})
	}
}
