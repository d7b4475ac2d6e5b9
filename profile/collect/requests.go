package collect

import (
	"bytes"
	"context"
	"net/url"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"whittle"
)

// maxMetrics bounds a metrics page.
const maxMetrics = 8 << 20

// routeLabels are the names under which services name their endpoints, and
// codeLabels those of the status, the first that a metric has.
var (
	routeLabels = []string{"endpoint", "route", "handler", "path", "uri"}
	codeLabels  = []string{"code", "status", "status_code"}
)

// Count is how many requests a process has served since it began.
type Count struct {
	Endpoints map[string]int64 // "": all of those that are not distinguished
	// Classes counts them by the first digit of their status, as "2xx". Those
	// whose status the page does not have are not in it.
	Classes map[string]int64
}

// Requests reads from a metrics page how many requests a process has served: the first
// counter or histogram with requests or calls in its name, such as
// http_requests_total or http_request_duration_seconds. The difference of two readings
// is the number in between.
func Requests(ctx context.Context, page string) (Count, error) {
	families, err := metrics(ctx, page)
	if err != nil {
		return Count{}, err
	}
	return requestsOf(families, page)
}

// Since is what was served after an earlier reading of the same page.
func (c Count) Since(before Count) Count {
	return Count{Endpoints: risen(before.Endpoints, c.Endpoints), Classes: risen(before.Classes, c.Classes)}
}

func risen(before, after map[string]int64) map[string]int64 {
	out := map[string]int64{}
	for name, n := range after {
		if d := n - before[name]; d > 0 {
			out[name] = d
		}
	}
	return out
}

// metrics reads a metrics page.
func metrics(ctx context.Context, page string) (map[string]*dto.MetricFamily, error) {
	ctx, cancel := context.WithTimeout(ctx, responseTimeout)
	defer cancel()
	b, err := get(ctx, page, maxMetrics)
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "read metrics: %w", err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(b))
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "read metrics of %s: %w", page, err)
	}
	return families, nil
}

func requestsOf(families map[string]*dto.MetricFamily, page string) (Count, error) {
	best, rank := (*dto.MetricFamily)(nil), 0
	for _, f := range families {
		if r := rankOf(f); r > rank || r == rank && r > 0 && f.GetName() < best.GetName() {
			best, rank = f, r
		}
	}
	if best == nil {
		return Count{}, whittle.Errorf(whittle.NotFound, "read metrics of %s: no counter of requests", page).
			WithHint("a counter such as http_requests_total{route=…} makes CPU per request known; or put load on it with --during")
	}
	out := Count{Endpoints: map[string]int64{}, Classes: map[string]int64{}}
	for _, m := range best.GetMetric() {
		labels, n := labelsOf(m), valueOf(m)
		out.Endpoints[endpointOf(labels)] += n
		if class := classOf(labels); class != "" {
			out.Classes[class] += n
		}
	}
	return out, nil
}

// rankOf says how sure it is that a metric counts requests. 0: it does not.
func rankOf(f *dto.MetricFamily) int {
	name := f.GetName()
	counts := f.GetType() == dto.MetricType_COUNTER || f.GetType() == dto.MetricType_HISTOGRAM || f.GetType() == dto.MetricType_SUMMARY
	switch {
	case !counts || strings.HasPrefix(name, "promhttp_") || strings.HasPrefix(name, "go_") || strings.Contains(name, "bytes") || strings.Contains(name, "size"):
		return 0
	case strings.HasSuffix(name, "http_requests_total"):
		return 4
	case strings.HasSuffix(name, "requests_total") || strings.HasSuffix(name, "calls_total"):
		return 3
	case strings.Contains(name, "http_request_duration") || strings.Contains(name, "http_requests"):
		return 2
	case strings.Contains(name, "request") && f.GetType() == dto.MetricType_HISTOGRAM:
		return 1
	}
	return 0
}

func labelsOf(m *dto.Metric) map[string]string {
	labels := map[string]string{}
	for _, l := range m.GetLabel() {
		labels[strings.ToLower(l.GetName())] = l.GetValue()
	}
	return labels
}

func endpointOf(labels map[string]string) string {
	for _, name := range routeLabels {
		if route := labels[name]; route != "" {
			if method := labels["method"]; method != "" && !strings.Contains(route, " ") {
				return strings.ToUpper(method) + " " + route
			}
			return route
		}
	}
	return ""
}

// classOf knows "404" and "4xx". "": no status is given.
func classOf(labels map[string]string) string {
	for _, name := range codeLabels {
		if code := labels[name]; len(code) == 3 && '1' <= code[0] && code[0] <= '5' {
			return code[:1] + "xx"
		}
	}
	return ""
}

// valueOf is a metric's count, of whichever type it is.
func valueOf(m *dto.Metric) int64 {
	return int64(m.GetCounter().GetValue()) + int64(m.GetHistogram().GetSampleCount()+m.GetSummary().GetSampleCount())
}

// MetricsOf guesses where a target's metrics page is: next to its pprof.
func MetricsOf(target string) string {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" || u.Scheme == "ws" {
		return ""
	}
	return u.Scheme + "://" + u.Host + "/metrics"
}
