package load

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/latency"
)

// threshold is one bound of config.ensure: on a metric, or a condition over
// several.
type threshold struct {
	metric    string
	max       float64
	condition condition // nil for a metric's bound
	text      string    // of the condition
	optional  bool      // it is shown, and decides nothing
}

// Check is a bound of the plan's config.ensure, and what the run came to.
type Check struct {
	// Metric is an Artillery name: "http.response_time.p99" (milliseconds, from
	// the intended send time), "http.codes.200", "errors.timeout",
	// "maxErrorRate" (percent of virtual users)… Empty for an expression.
	Metric string  `json:"metric,omitempty"`
	Max    float64 `json:"max"`
	Value  float64 `json:"value"`
	Passed bool    `json:"passed"`
	// Expression is a condition over metrics; Max and Value are then 0.
	Expression string `json:"expression,omitempty"`
	// Optional checks do not decide whether the run is a success.
	Optional bool `json:"optional,omitempty"`
}

// String is the check with its outcome, on one line.
func (c Check) String() string {
	word, optional := "held", ""
	if !c.Passed {
		word = "EXCEEDED"
	}
	if c.Optional {
		optional = " (optional)"
	}
	if c.Expression != "" {
		if !c.Passed {
			word = "NOT MET"
		}
		return "condition " + c.Expression + ": " + word + optional
	}
	return "bound on " + c.Metric + ": " + formatNumber(c.Value) + " of at most " + formatNumber(c.Max) + ", " + word + optional
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
	known["conditions"] = r.conditions
	return r.fields(n, "ensure", known, nil)
}

// conditions reads expressions over metrics.
func (r *reader) conditions(n *node) error {
	if n.kind != kindList {
		return n.invalid("conditions is a list, not %s", n.kind)
	}
	for _, item := range n.items {
		var text string
		strict := true
		err := r.fields(item, "a condition", map[string]func(*node) error{
			"expression": str(&text), "strict": boolean(&strict),
		}, nil)
		if err != nil {
			return err
		}
		c, err := compileCondition(text, dialectPlan, func(name string) (func(*evaluation) datum, error) {
			if !knownMetric(name) {
				return nil, fmt.Errorf("%s is not supported: known are %s", name, metricNames)
			}
			return func(e *evaluation) datum {
				v, _ := e.report.metric(name)
				return numberDatum(v)
			}, nil
		})
		if err != nil {
			return item.invalid("the condition %q: %v", text, err)
		}
		r.plan.ensure = append(r.plan.ensure, threshold{condition: c, text: text, optional: !strict})
	}
	return nil
}

// knownMetric says whether a report can have a metric of that name.
func knownMetric(name string) bool {
	_, ok := (&Report{Histograms: Histograms{Intended: new(latency.Histogram)}}).metric(name)
	return ok || strings.HasPrefix(name, byEndpoint)
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
			if !knownMetric(f.name) {
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
	"http.request_rate, http.codes.N, http.downloaded_bytes, vusers.{created,completed,failed,skipped}, errors.KIND, apdex, " +
	byEndpoint + "NAME.{min,…,p999}"

// metric gives a figure by its Artillery name.
func (r *Report) metric(name string) (float64, bool) {
	if rest, ok := strings.CutPrefix(name, responseTime); ok {
		return r.responseTime(rest)
	}
	if rest, ok := strings.CutPrefix(name, byEndpoint); ok {
		return r.endpointTime(rest)
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
		// Artillery's arithmetic: of the virtual users, those that did not
		// complete.
		return 100 * float64(r.Users.Started-(r.Users.Finished-r.Users.Failed)) / float64(max(r.Users.Started, 1)), true
	case "apdex":
		return r.Apdex, true
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

// byEndpoint is the prefix of what Artillery's plugin metrics-by-endpoint
// measures: the latency of one request's name, or of one path.
const byEndpoint = "plugins.metrics-by-endpoint.response_time."

// endpointTime gives NAME.p99, where NAME is a request's name in the report,
// its path, or Artillery's "path (name)".
func (r *Report) endpointTime(rest string) (float64, bool) {
	i := strings.LastIndexByte(rest, '.')
	if i < 0 {
		return 0, false
	}
	name, summary := rest[:i], rest[i+1:]
	if j := strings.LastIndex(name, " ("); j >= 0 && strings.HasSuffix(name, ")") {
		name = name[j+2 : len(name)-1]
	}
	for i := range r.Names {
		n := &r.Names[i]
		_, path, _ := strings.Cut(n.Name, " ")
		if n.Name != name && path != name {
			continue
		}
		d, ok := map[string]time.Duration{
			"min": n.Intended.Min, "mean": n.Intended.Mean, "median": n.Intended.P50, "p50": n.Intended.P50,
			"p75": n.Intended.P75, "p90": n.Intended.P90, "p95": n.Intended.P95, "p99": n.Intended.P99,
			"p999": n.Intended.P999, "max": n.Intended.Max,
		}[summary]
		return latency.Milliseconds(d), ok
	}
	return math.NaN(), false
}

// check judges the bounds of the plan.
func (r *Report) check(p *Plan) {
	if p.apdex > 0 {
		r.Apdex = apdex(r.Histograms.Intended, p.apdex)
	}
	for _, t := range p.ensure {
		if t.condition != nil {
			met := t.condition(&evaluation{report: r}).truth()
			r.Ensure = append(r.Ensure, Check{Expression: t.text, Passed: met, Optional: t.optional})
			continue
		}
		v, ok := r.metric(t.metric)
		if !ok {
			v = 0 // JSON has no number for "none"
		}
		r.Ensure = append(r.Ensure, Check{Metric: t.metric, Max: t.max, Value: v, Passed: ok && v <= t.max})
	}
	if n := r.Errors[ErrorExpectation]; p.expects && n > 0 {
		r.Ensure = append(r.Ensure, Check{Metric: "errors." + ErrorExpectation, Value: float64(n)})
	}
	r.Warnings = append(r.Warnings, p.notes...)
}

// apdex is the index of that name: those within the threshold, and half of
// those within four times it, over all.
func apdex(h *latency.Histogram, threshold time.Duration) float64 {
	var satisfied, tolerated, all float64
	for _, b := range h.Bars() {
		n := float64(b.Count)
		all += n
		switch {
		case b.To <= threshold:
			satisfied += n
		case b.To <= 4*threshold:
			tolerated += n
		}
	}
	if all == 0 {
		return 0
	}
	return (satisfied + tolerated/2) / all
}

// Err says whether the run is to be taken as a success: nil, or an error with
// the code whittle.Unavailable (exit status 3) where it is void, and
// whittle.FallsShort (exit status 1) where a bound of the plan's ensure is
// exceeded.
func (r *Report) Err() error {
	if r.Void != "" {
		return whittle.Errorf(whittle.Unavailable, "the run is void: %s", r.Void)
	}
	var failed []string
	for _, c := range r.Ensure {
		switch {
		case c.Passed || c.Optional:
		case c.Expression != "":
			failed = append(failed, "the condition "+c.Expression+" is not met")
		default:
			failed = append(failed, c.Metric+" is "+formatNumber(c.Value)+", at most "+formatNumber(c.Max)+" is allowed")
		}
	}
	if len(failed) > 0 {
		return whittle.Errorf(whittle.FallsShort, "%s", strings.Join(failed, "; "))
	}
	return nil
}

// plugins reads config.plugins: those whose work whittle does itself, and
// those that only send figures elsewhere.
func (r *reader) plugins(n *node) error {
	if n.kind == kindNull {
		return nil
	}
	ignored := func(name, why string) func(*node) error {
		return func(*node) error {
			r.plan.notes = append(r.plan.notes, "the plan's plugin "+name+" is left out: "+why)
			return nil
		}
	}
	known := map[string]func(*node) error{
		"ensure":              optional(r.ensure),
		"expect":              r.expectPlugin,
		"apdex":               r.apdex,
		"metrics-by-endpoint": optional(r.endpointPlugin),
		"publish-metrics":     ignored("publish-metrics", "figures go into the report, and nowhere else"),
	}
	refused := map[string]string{
		"fake-data": "it is a JavaScript package of invented names; give them in variables or in a CSV payload",
	}
	for _, f := range n.fields {
		if known[f.name] == nil && refused[f.name] == "" {
			refused[f.name] = "it is a JavaScript package; the plugins whose work whittle does itself are apdex, ensure, expect and metrics-by-endpoint"
		}
	}
	return r.fields(n, "plugins", known, refused)
}

// optional reads settings that may be left out.
func optional(read func(*node) error) func(*node) error {
	return func(n *node) error {
		if n.kind == kindNull {
			return nil
		}
		return read(n)
	}
}

// expectPlugin reads the settings of the plugin expect. A failed expectation is
// an error and fails the run in any case; how it is printed is whittle's.
func (r *reader) expectPlugin(n *node) error {
	r.plan.expects = true
	return optional(func(n *node) error {
		var unused bool
		var text string
		return r.fields(n, "the plugin expect", map[string]func(*node) error{
			"expectDefault200": boolean(&r.expect200), "reportFailuresAsErrors": boolean(&unused),
			"useOnlyRequestNames": boolean(&unused), "outputFormat": str(&text), "formatter": str(&text),
		}, map[string]string{"externalReporting": "figures go into the report, and nowhere else"})
	})(n)
}

// endpointPlugin reads the settings of metrics-by-endpoint: figures by name are
// always there, under the names of the report.
func (r *reader) endpointPlugin(n *node) error {
	var unused bool
	var text string
	return r.fields(n, "the plugin metrics-by-endpoint", map[string]func(*node) error{
		"useOnlyRequestNames": boolean(&unused), "stripQueryString": boolean(&unused),
		"ignoreUnnamedRequests": boolean(&unused), "groupDynamicURLs": boolean(&unused), "metricsNamespace": str(&text),
	}, nil)
}

// apdex reads {threshold}, in milliseconds; 500 unless given.
func (r *reader) apdex(n *node) error {
	r.plan.apdex = 500 * time.Millisecond
	return optional(func(n *node) error {
		ms := 500.0
		err := r.fields(n, "apdex", map[string]func(*node) error{"threshold": number(&ms, 1, 1e7)}, nil)
		r.plan.apdex = time.Duration(ms * float64(time.Millisecond))
		return err
	})(n)
}
