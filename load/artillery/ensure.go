package artillery

import (
	"fmt"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/report"
)

// ensure reads config.ensure, or the settings of the plugin of that name.
func (r *reader) ensure(n *node) {
	if n.kind == expr.KindList {
		r.note(n, "ensure is left out, as Artillery leaves it out: it is a list, and wanted is a mapping with thresholds, conditions or maxErrorRate")
		return
	}
	known := map[string]func(*node){
		"thresholds":   r.thresholds,
		"maxErrorRate": func(n *node) { r.threshold("maxErrorRate", n) },
		"conditions":   r.conditions,
	}
	for _, name := range []string{"min", "max", "median", "p95", "p99"} {
		known[name] = func(n *node) { r.threshold("http.response_time."+name, n) }
	}
	r.fields(n, "ensure", known)
}

// conditions reads expressions over metrics.
func (r *reader) conditions(n *node) {
	for _, item := range n.list("conditions is a list") {
		var text string
		strict := true
		r.fields(item, "a condition", map[string]func(*node){
			"expression": str(&text), "strict": boolean(&strict),
		})
		c, err := expr.CompileCondition(text, func(name string) (func(*expr.Evaluation) expr.Datum, error) {
			if !report.KnownMetric(name) {
				return nil, fmt.Errorf("%s is not supported: known are %s", name, report.MetricNames)
			}
			return func(e *expr.Evaluation) expr.Datum {
				v, _ := e.Figure(name)
				return expr.NumberDatum(v)
			}, nil
		})
		if err != nil {
			panic(item.Invalid("the condition %q: %v", text, err))
		}
		r.Plan.Ensure = append(r.Plan.Ensure, plan.Threshold{Condition: c, Text: text, Optional: !strict})
	}
}

func (r *reader) thresholds(n *node) {
	for _, item := range n.list("thresholds is a list") {
		for _, f := range item.mapping("a threshold is a metric and its greatest value") {
			if !report.KnownMetric(f.name) {
				panic(f.Errorf(whittle.Unsupported, "a threshold on %s is not supported: known are %s", f.name, report.MetricNames))
			}
			r.threshold(f.name, f.value)
		}
	}
}

func (r *reader) threshold(metric string, n *node) {
	t := plan.Threshold{Metric: metric}
	number(&t.Max, 0, 1e15)(n)
	r.Plan.Ensure = append(r.Plan.Ensure, t)
}

// plugins reads config.plugins: those whose work whittle does itself, and
// those that only send figures elsewhere.
func (r *reader) plugins(n *node) {
	if n.kind == expr.KindNull {
		return
	}
	if n.kind == expr.KindList {
		r.note(n, "the list of plugins is left out, as by Artillery: plugins are a mapping, of which each key is one")
		return
	}
	ignored := func(name, why string) func(*node) {
		return func(*node) {
			r.Plan.Notes = append(r.Plan.Notes, "the plan's plugin "+name+" is left out: "+why)
		}
	}
	known := map[string]func(*node){
		"ensure":              optional(r.ensure),
		"expect":              r.expectPlugin,
		"apdex":               ignored("apdex", "an index of bounds says less than a bound on a percentile does; see ensure and --fail-if"),
		"metrics-by-endpoint": optional(r.endpointPlugin),
		"publish-metrics":     ignored("publish-metrics", "figures go into the report, and nowhere else"),
	}
	for _, f := range n.fields {
		r.fakesData = r.fakesData || f.name == "fake-data"
		if known[f.name] == nil {
			known[f.name] = ignored(f.name, "it is a package of JavaScript; those whose work whittle does itself are ensure, expect and metrics-by-endpoint")
		}
	}
	r.fields(n, "plugins", known)
}

// optional reads settings that may be left out.
func optional(read func(*node)) func(*node) {
	return func(n *node) {
		if n.kind != expr.KindNull {
			read(n)
		}
	}
}

// expectPlugin reads the settings of the plugin expect. A failed expectation is
// an error and fails the run in any case; how it is printed is whittle's.
func (r *reader) expectPlugin(n *node) {
	r.Plan.FailOnExpectation = true
	optional(func(n *node) {
		var unused bool
		var text string
		r.fields(n, "the plugin expect", map[string]func(*node){
			"expectDefault200": boolean(&r.expect200), "reportFailuresAsErrors": boolean(&r.endsOnExpect),
			"useOnlyRequestNames": boolean(&unused), "outputFormat": str(&text), "formatter": str(&text),
			"externalReporting": accepted,
		})
	})(n)
}

// endpointPlugin reads the settings of metrics-by-endpoint: figures by name are
// always there, under the names of the report.
func (r *reader) endpointPlugin(n *node) {
	var unused bool
	var text string
	r.fields(n, "the plugin metrics-by-endpoint", map[string]func(*node){
		"useOnlyRequestNames": boolean(&unused), "stripQueryString": boolean(&unused),
		"ignoreUnnamedRequests": boolean(&unused), "groupDynamicURLs": boolean(&unused), "metricsNamespace": str(&text),
	})
}
