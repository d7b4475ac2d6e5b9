package load

import (
	"fmt"
	"time"

	"whittle"
	"whittle/load/report"
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

// ensure reads config.ensure, or the settings of the plugin of that name.
func (r *reader) ensure(n *node) error {
	known := map[string]func(*node) error{
		"thresholds": r.thresholds,
		"maxErrorRate": func(n *node) error {
			return r.threshold("maxErrorRate", n)
		},
	}
	for _, name := range []string{"min", "max", "median", "p95", "p99"} {
		known[name] = func(n *node) error { return r.threshold("http.response_time."+name, n) }
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
			if !report.KnownMetric(name) {
				return nil, fmt.Errorf("%s is not supported: known are %s", name, report.MetricNames)
			}
			return func(e *evaluation) datum {
				v, _ := e.figure(name)
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

func (r *reader) thresholds(n *node) error {
	if n.kind != kindList {
		return n.invalid("thresholds is a list, not %s", n.kind)
	}
	for _, item := range n.items {
		if item.kind != kindMap {
			return item.invalid("a threshold is a metric and its greatest value, not %s", item.kind)
		}
		for _, f := range item.fields {
			if !report.KnownMetric(f.name) {
				return place(whittle.Unsupported, n.file, f.line, f.col, "a threshold on %s is not supported: known are %s", f.name, report.MetricNames)
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

// check judges the bounds of the plan.
func (p *Plan) check(r *report.Report) {
	if p.apdex > 0 {
		r.RateApdex(p.apdex)
	}
	for _, t := range p.ensure {
		if t.condition != nil {
			met := t.condition(&evaluation{figure: r.Metric}).truth()
			r.Ensure = append(r.Ensure, report.Check{Expression: t.text, Passed: met, Optional: t.optional})
			continue
		}
		v, ok := r.Metric(t.metric)
		if !ok {
			v = 0 // JSON has no number for "none"
		}
		r.Ensure = append(r.Ensure, report.Check{Metric: t.metric, Max: t.max, Value: v, Passed: ok && v <= t.max})
	}
	if n := r.Errors[report.ErrorExpectation]; p.expects && n > 0 {
		r.Ensure = append(r.Ensure, report.Check{Metric: "errors." + report.ErrorExpectation, Value: float64(n)})
	}
	r.Warnings = append(r.Warnings, p.notes...)
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
