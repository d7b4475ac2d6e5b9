package collect

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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
