package load

import (
	"strconv"
	"strings"

	"whittle"
	"whittle/latency"
)

// threshold is one bound of config.ensure.
type threshold struct {
	metric string
	max    float64
}

// Check is a bound of the plan's config.ensure, and what the run came to.
type Check struct {
	// Metric is an Artillery name: "http.response_time.p99" (milliseconds, from
	// the intended send time), "http.codes.200", "errors.timeout",
	// "maxErrorRate" (percent of requests)…
	Metric string  `json:"metric"`
	Max    float64 `json:"max"`
	Value  float64 `json:"value"`
	Passed bool    `json:"passed"`
}

// latencyNames are the summaries of http.response_time, and the plain names
// of plans for Artillery 1.
var latencyNames = map[string]float64{
	"min": 0, "max": 1, "median": .5, "p50": .5, "p75": .75, "p90": .9, "p95": .95, "p99": .99, "p999": .999,
}

const responseTime = "http.response_time."

// ensure reads config.ensure, or the settings of the plugin of that name.
func (r *reader) ensure(n *node) error {
	known := map[string]func(*node) error{
		"thresholds": r.thresholds,
		"maxErrorRate": func(n *node) error {
			return r.threshold("maxErrorRate", n)
		},
	}
	for _, name := range []string{"min", "max", "median", "p95", "p99"} {
		known[name] = func(n *node) error { return r.threshold(responseTime+name, n) }
	}
	return r.fields(n, "ensure", known, map[string]string{
		"conditions": "they are expressions; thresholds bound one metric each",
	})
}

func (r *reader) thresholds(n *node) error {
	if n.kind != kindList {
		return n.invalid("thresholds is a list, not %s", n.kind)
	}
	for _, item := range n.items {
		if item.kind != kindMap {
			return item.invalid("a threshold is a metric and its greatest value, not %s", item.kind)
		}
		for _, f := range item.fields {
			if _, ok := (&Report{Histograms: Histograms{Intended: new(latency.Histogram)}}).metric(f.name); !ok {
				return place(whittle.Unsupported, n.file, f.line, f.col, "a threshold on %s is not supported: known are %s", f.name, metricNames)
			}
			if err := r.threshold(f.name, f.value); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *reader) threshold(metric string, n *node) error {
	t := threshold{metric: metric}
	err := number(&t.max, 0, 1e15)(n)
	r.plan.ensure = append(r.plan.ensure, t)
	return err
}

const metricNames = "http.response_time.{min,max,mean,median,p50,p75,p90,p95,p99,p999}, http.requests, http.responses, " +
	"http.request_rate, http.codes.N, http.downloaded_bytes, vusers.{created,completed,failed,skipped}, errors.KIND"

// metric gives a figure by its Artillery name.
func (r *Report) metric(name string) (float64, bool) {
	if rest, ok := strings.CutPrefix(name, responseTime); ok {
		return r.responseTime(rest)
	}
	if code, ok := strings.CutPrefix(name, "http.codes."); ok {
		_, err := strconv.ParseUint(code, 10, 16)
		return float64(r.Codes[code]), err == nil
	}
	if kind, ok := strings.CutPrefix(name, "errors."); ok {
		return float64(r.Errors[kind]), kind != ""
	}
	switch name {
	case "http.requests":
		return float64(r.Requests), true
	case "http.responses":
		return float64(r.Completed), true
	case "http.request_rate":
		return float64(r.Requests) / max(r.Seconds, 1e-9), true
	case "http.downloaded_bytes":
		return float64(r.Received), true
	case "vusers.created":
		return float64(r.Users.Started), true
	case "vusers.completed":
		return float64(r.Users.Finished - r.Users.Failed), true
	case "vusers.failed":
		return float64(r.Users.Failed), true
	case "vusers.skipped":
		return float64(r.Users.Skipped), true
	case "maxErrorRate":
		return 100 * float64(r.Failed) / float64(max(r.Requests, 1)), true
	}
	return 0, false
}

func (r *Report) responseTime(name string) (float64, bool) {
	if name == "mean" {
		return latency.Milliseconds(r.Histograms.Intended.Mean()), true
	}
	q, ok := latencyNames[name]
	return latency.Milliseconds(r.Histograms.Intended.Quantile(q)), ok
}

func (r *Report) check(ts []threshold) {
	for _, t := range ts {
		v, _ := r.metric(t.metric)
		r.Ensure = append(r.Ensure, Check{t.metric, t.max, v, v <= t.max})
	}
}

// Err says whether the run is to be taken as a success: nil, or an error with
// the code whittle.Unavailable (exit status 3) where it is void, and
// whittle.FallsShort (exit status 1) where a bound of the plan's ensure is
// exceeded.
func (r *Report) Err() error {
	if r.Void != "" {
		return whittle.Errorf(whittle.Unavailable, "the run is void: %s", r.Void)
	}
	var passed []string
	for _, c := range r.Ensure {
		if !c.Passed {
			passed = append(passed, c.Metric+" is "+formatNumber(c.Value)+", at most "+formatNumber(c.Max)+" is allowed")
		}
	}
	if len(passed) > 0 {
		return whittle.Errorf(whittle.FallsShort, "%s", strings.Join(passed, "; "))
	}
	return nil
}

// plugins reads config.plugins: those whose work whittle does itself.
func (r *reader) plugins(n *node) error {
	if n.kind == kindNull {
		return nil
	}
	accept := func(*node) error { return nil }
	known := map[string]func(*node) error{
		"expect": accept, "metrics-by-endpoint": accept,
		"ensure": func(n *node) error {
			if n.kind == kindNull {
				return nil
			}
			return r.ensure(n)
		},
	}
	refused := map[string]string{}
	for _, f := range n.fields {
		if known[f.name] == nil {
			refused[f.name] = "it is a JavaScript package; the plugins whose work whittle does itself are ensure, expect and metrics-by-endpoint"
		}
	}
	return r.fields(n, "plugins", known, refused)
}
