package report

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

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
var MetricNames = "http.response_time.{min,max,mean,median,p50,p75,p90,p95,p99,p999}, the same of http.response_time.success, http.requests, http.responses, " +
	"http.request_rate, http.codes.N, http.downloaded_bytes, vusers.{created,completed,failed,skipped}, errors.{" +
	strings.Join(slices.Concat(kinds, slices.Sorted(maps.Values(artilleryErrors))), ",") + "}"

// Metric returns a figure by its Artillery name. It is false, and the figure NaN,
// for an unknown name, and for latencies without any response: 0 ms would keep any
// bound.
func (r *Report) Metric(name string) (float64, bool) {
	if rest, ok := strings.CutPrefix(name, responseTime); ok {
		return r.responseTime(rest)
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
}

// succeeded begins the name of a summary that leaves out requests that failed.
const succeeded = "success."

// responseTime returns a summary of all latencies, or of those of successes. Timeouts are
// among the former, and by themselves are no responses.
func (r *Report) responseTime(summary string) (float64, bool) {
	h := r.Histograms.Intended
	summary, good := strings.CutPrefix(summary, succeeded)
	if good {
		h = r.Histograms.Succeeded
	}
	q, ok := latencyNames[summary]
	switch {
	case r.Completed == 0 || h.Count() == 0 || !ok && summary != mean:
		return math.NaN(), false
	case summary == mean:
		return latency.Milliseconds(h.Mean()), true
	}
	return latency.Milliseconds(h.Quantile(q)), true
}

// KnownMetric reports whether a report can have a metric of that name, be it only
// once there was a response.
func KnownMetric(name string) bool {
	if rest, ok := strings.CutPrefix(name, responseTime); ok {
		rest = strings.TrimPrefix(rest, succeeded)
		_, quantile := latencyNames[rest]
		return quantile || rest == mean
	}
	_, ok := new(Report).Metric(name)
	return ok
}
