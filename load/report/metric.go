package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"whittle/internal/latency"
)

// latencyNames are the summaries of http.response_time, and the plain names
// of plans for Artillery 1.
var latencyNames = map[string]float64{
	"min": 0, "max": 1, "median": .5, "p50": .5, "p75": .75, "p90": .9, "p95": .95, "p99": .99, "p999": .999,
}

// mean is the summary that is no quantile.
const mean = "mean"

const responseTime = "http.response_time."

// MetricNames lists the metrics that a plan may put a bound on.
var MetricNames = "http.response_time.{min,max,mean,median,p50,p75,p90,p95,p99,p999}, http.requests, http.responses, " +
	"http.request_rate, http.codes.N, http.downloaded_bytes, vusers.{created,completed,failed,skipped}, errors.{" + kindNames() + "}, apdex, " +
	byEndpoint + "NAME.{min,…,p999}"

// Metric returns a figure by its Artillery name. It is false, and the figure NaN,
// for an unknown name, and for latencies without any response: 0 ms would keep any
// bound.
func (r *Report) Metric(name string) (float64, bool) {
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
		kind, ok := kindOf(kind)
		return float64(r.Errors[kind]), ok
	}
	if of, ok := metrics[name]; ok {
		return of(r), true
	}
	return 0, false
}

// metrics are the figures that a name alone says.
var metrics = map[string]func(*Report) float64{
	"http.requests":         func(r *Report) float64 { return float64(r.Requests) },
	"http.responses":        func(r *Report) float64 { return float64(r.Completed) },
	"http.request_rate":     func(r *Report) float64 { return float64(r.Requests) / max(r.Seconds, 1e-9) },
	"http.downloaded_bytes": func(r *Report) float64 { return float64(r.Received) },
	"vusers.created":        func(r *Report) float64 { return float64(r.Users.Started) },
	"vusers.completed":      func(r *Report) float64 { return float64(r.Users.Finished - r.Users.Failed) },
	"vusers.failed":         func(r *Report) float64 { return float64(r.Users.Failed) },
	"vusers.skipped":        func(r *Report) float64 { return float64(r.Users.Skipped) },
	// Artillery's arithmetic: of the virtual users, those that did not complete.
	"maxErrorRate": func(r *Report) float64 {
		return 100 * float64(r.Users.Started-(r.Users.Finished-r.Users.Failed)) / float64(max(r.Users.Started, 1))
	},
	"apdex": func(r *Report) float64 {
		if r.Apdex == nil {
			return 0
		}
		return *r.Apdex
	},
}

// responseTime returns a summary of all latencies. Timeouts are among these, and
// by themselves are no responses.
func (r *Report) responseTime(summary string) (float64, bool) {
	h := r.Histograms.Intended
	q, ok := latencyNames[summary]
	switch {
	case r.Completed == 0 || h.Count() == 0 || !ok && summary != mean:
		return math.NaN(), false
	case summary == mean:
		return latency.Milliseconds(h.Mean()), true
	}
	return latency.Milliseconds(h.Quantile(q)), true
}

// byEndpoint is the prefix of what Artillery's plugin metrics-by-endpoint
// measures: the latency of one request's name, or of one path.
const byEndpoint = "plugins.metrics-by-endpoint.response_time."

// endpoint parts NAME.p99 into the name of a request and the summary; false
// where it is not of that shape.
func endpoint(rest string) (name, summary string, ok bool) {
	i := strings.LastIndexByte(rest, '.')
	if i <= 0 {
		return "", "", false
	}
	name, summary = rest[:i], rest[i+1:]
	if j := strings.LastIndex(name, " ("); j >= 0 && strings.HasSuffix(name, ")") {
		name = name[j+2 : len(name)-1]
	}
	_, ok = latencyNames[summary]
	return name, summary, ok || summary == mean
}

// endpointTime gives NAME.p99, where NAME is a request's name in the report,
// its path, or Artillery's "path (name)".
func (r *Report) endpointTime(rest string) (float64, bool) {
	name, summary, ok := endpoint(rest)
	if !ok {
		return math.NaN(), false
	}
	for i := range r.Names {
		n := &r.Names[i]
		_, path, _ := strings.Cut(n.Name, " ")
		if n.Name != name && path != name {
			continue
		}
		if n.Completed == 0 || n.Intended.Count == 0 {
			break
		}
		d, ok := map[string]time.Duration{
			"min": n.Intended.Min, mean: n.Intended.Mean, "median": n.Intended.P50, "p50": n.Intended.P50,
			"p75": n.Intended.P75, "p90": n.Intended.P90, "p95": n.Intended.P95, "p99": n.Intended.P99,
			"p999": n.Intended.P999, "max": n.Intended.Max,
		}[summary]
		return latency.Milliseconds(d), ok
	}
	return math.NaN(), false
}

// KnownMetric reports whether a report can have a metric of that name, be it only
// once there was a response.
func KnownMetric(name string) bool {
	if rest, ok := strings.CutPrefix(name, responseTime); ok {
		_, quantile := latencyNames[rest]
		return quantile || rest == mean
	}
	if rest, ok := strings.CutPrefix(name, byEndpoint); ok {
		_, _, ok = endpoint(rest)
		return ok
	}
	_, ok := new(Report).Metric(name)
	return ok
}

// ApdexCounts are the counts of an Apdex index (Apdex Alliance, technical
// specification 1.1): requests whose latency from the intended time is within
// the threshold satisfy, those within four times it are tolerated and count
// half, all others frustrate, and so do those without a response.
type ApdexCounts struct {
	Threshold  float64 `json:"threshold_ms"`
	Satisfied  int64   `json:"satisfied"`
	Tolerated  int64   `json:"tolerated"`
	Frustrated int64   `json:"frustrated"`
}

// ComputeApdex sets the report's Apdex index and its counts.
func (r *Report) ComputeApdex(threshold time.Duration) {
	of := &ApdexCounts{Threshold: latency.Milliseconds(threshold)}
	for _, b := range r.Histograms.Intended.Bars() {
		switch {
		case b.To <= threshold:
			of.Satisfied += b.Count
		case b.To <= 4*threshold:
			of.Tolerated += b.Count
		}
	}
	of.Frustrated = max(r.Requests-r.Unfinished-of.Satisfied-of.Tolerated, 0)
	score := 0.0
	if all := of.Satisfied + of.Tolerated + of.Frustrated; all > 0 {
		score = (float64(of.Satisfied) + float64(of.Tolerated)/2) / float64(all)
	}
	r.Apdex, r.ApdexCounts = &score, of
}

// apdexLine is the index on one line, empty where the plan does not ask for it.
func (r *Report) apdexLine() string {
	if r.Apdex == nil || r.ApdexCounts == nil {
		return ""
	}
	return fmt.Sprintf("Apdex %.2f at %.4g ms: %d satisfied, %d tolerated, %d frustrated",
		*r.Apdex, r.ApdexCounts.Threshold, r.ApdexCounts.Satisfied, r.ApdexCounts.Tolerated, r.ApdexCounts.Frustrated)
}
