package report

import (
	"encoding/json"
	"io"
	"math"
	"strconv"
	"time"

	"whittle"
	"whittle/internal/latency"
)

// artilleryPeriod is the length of Artillery's periods.
const artilleryPeriod = 10 * time.Second

// artilleryReport is the JSON report of Artillery 2.
type artilleryReport struct {
	Aggregate    artilleryPart   `json:"aggregate"`
	Intermediate []artilleryPart `json:"intermediate"`
}

// artilleryPart is a period, or the whole run. Times are in milliseconds since
// 1970; a period's is text in the intermediate parts and a number in the
// aggregate, as Artillery has it.
type artilleryPart struct {
	Counters         map[string]int64            `json:"counters"`
	Rates            map[string]float64          `json:"rates"`
	FirstCounterAt   int64                       `json:"firstCounterAt,omitempty"`
	FirstHistogramAt int64                       `json:"firstHistogramAt,omitempty"`
	LastCounterAt    int64                       `json:"lastCounterAt,omitempty"`
	LastHistogramAt  int64                       `json:"lastHistogramAt,omitempty"`
	FirstMetricAt    int64                       `json:"firstMetricAt,omitempty"`
	LastMetricAt     int64                       `json:"lastMetricAt,omitempty"`
	Period           any                         `json:"period"`
	Summaries        map[string]artillerySummary `json:"summaries"`
	Histograms       map[string]artillerySummary `json:"histograms"`
}

// artillerySummary is a distribution in milliseconds.
type artillerySummary struct {
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Count  int64   `json:"count"`
	Mean   float64 `json:"mean"`
	P50    float64 `json:"p50"`
	Median float64 `json:"median"`
	P75    float64 `json:"p75"`
	P90    float64 `json:"p90"`
	P95    float64 `json:"p95"`
	P99    float64 `json:"p99"`
	P999   float64 `json:"p999"`
}

// summaryOf makes one of so many latencies, to the microsecond.
func summaryOf(count int64, f latency.Figures) artillerySummary {
	round := func(ms float64) float64 { return math.Round(ms*1e3) / 1e3 }
	return artillerySummary{
		Min: f.Min, Max: f.Max, Count: count, Mean: round(f.Mean), P50: round(f.P50), Median: round(f.P50),
		P75: round(f.P75), P90: round(f.P90), P95: round(f.P95), P99: round(f.P99), P999: round(f.P999),
	}
}

// WriteArtillery writes the report in the format of Artillery 2's JSON reports.
// http.response_time counts from the intended send time to the last byte,
// where Artillery's own counts from the actual one to the first;
// whittle.response_time.actual counts from the actual one. Periods are 10 s, or
// as long as the series' windows where those are longer.
func (r *Report) WriteArtillery(w io.Writer) error {
	out := artilleryReport{Aggregate: r.artilleryAggregate(), Intermediate: r.artilleryPeriods()}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(out); err != nil {
		return whittle.Errorf(whittle.Unavailable, "write report: %w", err)
	}
	return nil
}

func (r *Report) artilleryAggregate() artilleryPart {
	sum := Point{
		Requests: r.Requests, Completed: r.Completed, Arrivals: r.Users.Started, Finished: r.Users.Finished, UsersFailed: r.Users.Failed,
		Skipped: r.Users.Skipped, Received: r.Received, Codes: r.Codes, Errors: r.Errors, Span: r.Seconds, Timed: r.Latency.Intended.Count,
	}
	p := r.artilleryPart(&sum)
	first, last := r.Started.UnixMilli(), r.Started.UnixMilli()+int64(r.Seconds*1e3)
	p.times(first, last)
	p.Period = last / artilleryPeriod.Milliseconds() * artilleryPeriod.Milliseconds()
	p.summarize("http.response_time", &r.Latency.Intended)
	p.summarize("whittle.response_time.actual", &r.Latency.Actual)
	p.summarize("whittle.first_byte", &r.Latency.FirstByte)
	for class, h := range r.Histograms.Classes {
		s := h.Snapshot()
		p.summarize("http.response_time."+class, &s)
	}
	for i := range r.Names {
		n := &r.Names[i]
		p.summarize(byEndpoint+n.Name, &n.Intended)
	}
	return p
}

func (p *artilleryPart) times(first, last int64) {
	p.FirstCounterAt, p.FirstMetricAt, p.LastCounterAt, p.LastMetricAt = first, first, last, last
	if p.Counters["http.responses"] > 0 {
		p.FirstHistogramAt, p.LastHistogramAt = first, last
	}
}

// summaries sets a distribution, where there is one, under both of the names
// that Artillery gives it.
func (p *artilleryPart) summaries(name string, s artillerySummary) {
	if s.Count > 0 {
		p.Summaries[name], p.Histograms[name] = s, s
	}
}

func (p *artilleryPart) summarize(name string, s *latency.Snapshot) {
	p.summaries(name, summaryOf(s.Count, s.Figures()))
}

// artilleryPart counts a window or the whole run.
func (r *Report) artilleryPart(w *Point) artilleryPart {
	p := artilleryPart{
		Counters: map[string]int64{}, Rates: map[string]float64{},
		Summaries: map[string]artillerySummary{}, Histograms: map[string]artillerySummary{},
	}
	for name, n := range map[string]int64{
		"vusers.created": w.Arrivals, "vusers.completed": w.Finished - w.UsersFailed, "vusers.failed": w.UsersFailed, "vusers.skipped": w.Skipped,
		"http.requests": w.Requests, "http.responses": w.Completed, "http.downloaded_bytes": w.Received,
	} {
		// Artillery leaves out what never happened, but for failed users.
		if n > 0 || name == "vusers.failed" {
			p.Counters[name] = n
		}
	}
	for code, n := range w.Codes {
		p.Counters["http.codes."+code] = n
	}
	for kind, n := range w.Errors {
		if known, ok := artilleryErrors[kind]; ok {
			kind = known
		}
		p.Counters["errors."+kind] = n
	}
	if w.Span > 0 {
		p.Rates["http.request_rate"] = math.Round(float64(w.Requests) / w.Span)
	}
	return p
}

// artilleryPeriods merges the series' windows into periods.
func (r *Report) artilleryPeriods() []artilleryPart {
	out := []artilleryPart{}
	period := artilleryPeriod.Milliseconds()
	for i := 0; i < len(r.Series); {
		begin := r.Started.UnixMilli() + int64(r.Series[i].At*1e3)
		bucket := begin / period
		var sum Point
		last := begin
		for ; i < len(r.Series); i++ {
			w := &r.Series[i]
			at := r.Started.UnixMilli() + int64(w.At*1e3)
			if at/period != bucket {
				break
			}
			sum.add(w)
			last = at + int64(w.Span*1e3)
		}
		p := r.artilleryPart(&sum)
		p.times(begin, last)
		p.Period = strconv.FormatInt(bucket*period, 10)
		p.summaries("http.response_time", summaryOf(sum.Timed, sum.Figures))
		out = append(out, p)
	}
	return out
}

// add adds what another window counted. Percentiles are the windows' own, weighted by
// their requests: what those of both would be to within the windows' differences.
func (p *Point) add(o *Point) {
	p.Span += o.Span
	p.Requests += o.Requests
	p.Completed += o.Completed
	p.Failed += o.Failed
	p.Arrivals += o.Arrivals
	p.Finished += o.Finished
	p.UsersFailed += o.UsersFailed
	p.Skipped += o.Skipped
	p.Received += o.Received
	p.Codes = sumCounts(p.Codes, o.Codes)
	p.Errors = sumCounts(p.Errors, o.Errors)
	if o.Timed == 0 {
		return
	}
	if p.Timed == 0 || o.Min < p.Min {
		p.Min = o.Min
	}
	p.Max = max(p.Max, o.Max)
	p.Timed += o.Timed
	part := float64(o.Timed) / float64(p.Timed)
	mix := func(to *float64, v float64) { *to += part * (v - *to) }
	mix(&p.Mean, o.Mean)
	mix(&p.P50, o.P50)
	mix(&p.P75, o.P75)
	mix(&p.P90, o.P90)
	mix(&p.P95, o.P95)
	mix(&p.P99, o.P99)
	mix(&p.P999, o.P999)
}

// sumCounts adds the counts of one map to those of another.
func sumCounts(to, from map[string]int64) map[string]int64 {
	if to == nil && len(from) > 0 {
		to = make(map[string]int64, len(from))
	}
	for k, n := range from {
		to[k] += n
	}
	return to
}
