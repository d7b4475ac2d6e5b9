package export

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/snappy"
	"google.golang.org/protobuf/encoding/protowire"
)

// encodePrometheus writes a snapshot as a WriteRequest of remote write 1.0.
func encodePrometheus(s *Snapshot, labels []attribute) ([]byte, error) {
	w := prometheusWriter{at: s.At.UnixMilli()}
	for _, a := range labels {
		// As Prometheus itself does with OTLP's resources.
		switch a.name {
		case "service.name":
			a.name = "job"
		case "service.instance.id":
			a.name = "instance"
		}
		w.labels = append(w.labels, a)
	}
	for _, m := range s.metrics() {
		name := m.prometheusName()
		for i := range m.points {
			p := &m.points[i]
			if p.buckets == nil {
				w.series(name, p.attributes, p.value)
				continue
			}
			n := int64(0)
			for k, c := range p.buckets.counts {
				n += c
				le := "+Inf"
				if k < len(bounds) {
					le = strconv.FormatFloat(bounds[k], 'g', -1, 64)
				}
				w.series(name+"_bucket", p.attributes, float64(n), attribute{name: "le", value: le})
			}
			w.series(name+"_count", p.attributes, float64(n))
			w.series(name+"_sum", p.attributes, p.buckets.sum)
		}
	}
	return snappy.Encode(nil, w.out), nil
}

// prometheusName is the metric's name as Prometheus translates those of OTLP: by
// underscores, with the unit and, where it is a counter, "total".
func (m *metric) prometheusName() string {
	name := prometheusLabel(m.name)
	switch m.unit {
	case "s":
		name += "_seconds"
	case "By":
		name += "_bytes"
	}
	if m.sum {
		name += "_total"
	}
	return name
}

// prometheusLabel is a name of letters, digits and underscores.
func prometheusLabel(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, name)
	if name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name
}

// prometheusWriter writes the series of one moment.
type prometheusWriter struct {
	out    []byte
	at     int64
	labels []attribute
}

// series writes a series with one sample: WriteRequest.timeseries is 1; of a series
// labels are 1 and samples 2; of a label the name is 1 and the value 2; of a sample the
// value is 1 and the time 2. Labels are sorted.
func (w *prometheusWriter) series(name string, of []attribute, value float64, more ...attribute) {
	all := slices.Concat(w.labels, of, more, []attribute{{name: "__name__", value: name}})
	for i := range all {
		all[i].name = prometheusLabel(all[i].name)
	}
	slices.SortStableFunc(all, func(a, b attribute) int { return cmp.Compare(a.name, b.name) })
	all = slices.CompactFunc(all, func(a, b attribute) bool { return a.name == b.name })
	var series []byte
	for _, a := range all {
		if a.value == "" {
			continue // which is the same as no label
		}
		label := protowire.AppendTag(nil, 1, protowire.BytesType)
		label = protowire.AppendString(label, a.name)
		label = protowire.AppendTag(label, 2, protowire.BytesType)
		label = protowire.AppendString(label, strings.ToValidUTF8(a.value, "�"))
		series = protowire.AppendTag(series, 1, protowire.BytesType)
		series = protowire.AppendBytes(series, label)
	}
	sample := protowire.AppendTag(nil, 1, protowire.Fixed64Type)
	sample = protowire.AppendFixed64(sample, math.Float64bits(value))
	sample = protowire.AppendTag(sample, 2, protowire.VarintType)
	sample = protowire.AppendVarint(sample, uint64(w.at))
	series = protowire.AppendTag(series, 2, protowire.BytesType)
	series = protowire.AppendBytes(series, sample)
	w.out = protowire.AppendTag(w.out, 1, protowire.BytesType)
	w.out = protowire.AppendBytes(w.out, series)
}
