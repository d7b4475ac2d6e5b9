package export

import (
	"strconv"
	"strings"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

const cumulative = metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE

// encodeOTLP writes a snapshot as OTLP's JSON, in which enumerations are numbers. Its
// message has the shape of an ExportMetricsServiceRequest.
func encodeOTLP(s *Snapshot, labels []attribute) ([]byte, error) {
	scope := &metrics.ScopeMetrics{Scope: &common.InstrumentationScope{Name: "whittle/load"}}
	for _, m := range s.metrics() {
		if len(m.points) > 0 { // else no request has ended as yet
			scope.Metrics = append(scope.Metrics, m.otlp(uint64(s.Start.UnixNano()), uint64(s.At.UnixNano())))
		}
	}
	return protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(&metrics.MetricsData{ResourceMetrics: []*metrics.ResourceMetrics{{
		Resource: &resource.Resource{Attributes: otlpAttributes(labels)}, ScopeMetrics: []*metrics.ScopeMetrics{scope},
	}}})
}

// otlp is the metric in a span of time.
func (m *metric) otlp(start, at uint64) *metrics.Metric {
	out := &metrics.Metric{Name: m.name, Description: m.help, Unit: m.unit}
	if m.points[0].buckets != nil {
		h := &metrics.Histogram{AggregationTemporality: cumulative}
		for i := range m.points {
			b := m.points[i].buckets
			p := &metrics.HistogramDataPoint{
				Attributes: otlpAttributes(m.points[i].attributes), StartTimeUnixNano: start, TimeUnixNano: at,
				Count: uint64(b.count()), Sum: &b.sum, ExplicitBounds: bounds[:],
			}
			for _, n := range b.counts {
				p.BucketCounts = append(p.BucketCounts, uint64(n))
			}
			h.DataPoints = append(h.DataPoints, p)
		}
		out.Data = &metrics.Metric_Histogram{Histogram: h}
		return out
	}
	var numbers []*metrics.NumberDataPoint
	for _, p := range m.points {
		numbers = append(numbers, &metrics.NumberDataPoint{
			Attributes: otlpAttributes(p.attributes), StartTimeUnixNano: start, TimeUnixNano: at, Value: &metrics.NumberDataPoint_AsDouble{AsDouble: p.value},
		})
	}
	out.Data = &metrics.Metric_Gauge{Gauge: &metrics.Gauge{DataPoints: numbers}}
	if m.sum {
		out.Data = &metrics.Metric_Sum{Sum: &metrics.Sum{DataPoints: numbers, AggregationTemporality: cumulative, IsMonotonic: true}}
	}
	return out
}

func otlpAttributes(all []attribute) (out []*common.KeyValue) {
	for _, a := range all {
		value := &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: strings.ToValidUTF8(a.value, "�")}}
		if n, err := strconv.ParseInt(a.value, 10, 64); a.number && err == nil {
			value.Value = &common.AnyValue_IntValue{IntValue: n}
		}
		out = append(out, &common.KeyValue{Key: strings.ToValidUTF8(a.name, "�"), Value: value})
	}
	return out
}
