package export

import (
	"encoding/json"
	"strconv"
	"time"
)

// The JSON form of OTLP's ExportMetricsServiceRequest; whole numbers of 64 bits are texts
// there.
type (
	otlpRequest struct {
		ResourceMetrics []otlpResource `json:"resourceMetrics"`
	}
	otlpResource struct {
		Resource struct {
			Attributes []otlpAttribute `json:"attributes"`
		} `json:"resource"`
		ScopeMetrics []otlpScope `json:"scopeMetrics"`
	}
	otlpScope struct {
		Scope struct {
			Name string `json:"name"`
		} `json:"scope"`
		Metrics []otlpMetric `json:"metrics"`
	}
	otlpMetric struct {
		Name        string    `json:"name"`
		Description string    `json:"description"`
		Unit        string    `json:"unit"`
		Histogram   *otlpData `json:"histogram,omitempty"`
		Sum         *otlpData `json:"sum,omitempty"`
		Gauge       *otlpData `json:"gauge,omitempty"`
	}
	otlpData struct {
		DataPoints  []otlpPoint `json:"dataPoints"`
		Temporality int         `json:"aggregationTemporality,omitempty"`
		Monotonic   bool        `json:"isMonotonic,omitempty"`
	}
	otlpPoint struct {
		Attributes []otlpAttribute `json:"attributes,omitempty"`
		Start      string          `json:"startTimeUnixNano"`
		Time       string          `json:"timeUnixNano"`
		Number     *float64        `json:"asDouble,omitempty"`
		Count      string          `json:"count,omitempty"`
		Sum        *float64        `json:"sum,omitempty"`
		Counts     []string        `json:"bucketCounts,omitempty"`
		Bounds     []float64       `json:"explicitBounds,omitempty"`
	}
	otlpAttribute struct {
		Key   string            `json:"key"`
		Value map[string]string `json:"value"`
	}
)

// cumulative is OTLP's AGGREGATION_TEMPORALITY_CUMULATIVE.
const cumulative = 2

// encodeOTLP writes a snapshot as OTLP's JSON.
func encodeOTLP(s *Snapshot, labels []attribute) ([]byte, error) {
	var r otlpResource
	r.Resource.Attributes = otlpAttributes(labels)
	var scope otlpScope
	scope.Scope.Name = "whittle/load"
	for _, m := range s.metrics() {
		data := &otlpData{}
		out := otlpMetric{Name: m.name, Description: m.help, Unit: m.unit}
		switch {
		case len(m.points) == 0:
			continue // no request has ended as yet
		case m.points[0].buckets != nil:
			out.Histogram, data.Temporality = data, cumulative
		case m.sum:
			out.Sum, data.Temporality, data.Monotonic = data, cumulative, true
		default:
			out.Gauge = data
		}
		for i := range m.points {
			data.DataPoints = append(data.DataPoints, m.points[i].otlp(s))
		}
		scope.Metrics = append(scope.Metrics, out)
	}
	r.ScopeMetrics = []otlpScope{scope}
	return json.Marshal(otlpRequest{[]otlpResource{r}})
}

func (p *point) otlp(s *Snapshot) otlpPoint {
	nanos := func(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
	out := otlpPoint{Attributes: otlpAttributes(p.attributes), Start: nanos(s.Start), Time: nanos(s.At)}
	if p.buckets == nil {
		out.Number = &p.value
		return out
	}
	out.Count, out.Sum, out.Bounds = strconv.FormatInt(p.buckets.count(), 10), &p.buckets.sum, bounds[:]
	for _, n := range p.buckets.counts {
		out.Counts = append(out.Counts, strconv.FormatInt(n, 10))
	}
	return out
}

func otlpAttributes(all []attribute) []otlpAttribute {
	out := []otlpAttribute{}
	for _, a := range all {
		kind := "stringValue"
		if a.number {
			kind = "intValue"
		}
		out = append(out, otlpAttribute{a.name, map[string]string{kind: a.value}})
	}
	return out
}
