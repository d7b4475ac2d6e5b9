package export

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
)

// Snapshot is what a run has counted from its start to now.
type Snapshot struct {
	Start, At time.Time
	Requests  []Requests
	// Active virtual users are under way; the others are counted from the start.
	Active, Started, Finished, Failed, Skipped int64
	// Late is the generator's greatest lateness in starting a user so far.
	Late time.Duration
}

// Outcome is what requests that are counted together have in common.
type Outcome struct {
	Endpoint string `json:"-"`                 // the request's name in the report
	Method   string `json:"-"`                 // empty: requests of several methods have that name
	Status   int    `json:"status"`            // 0: no complete response
	Error    string `json:"failure,omitempty"` // an error kind; empty: none
}

// Requests are those of one outcome.
type Requests struct {
	Outcome
	// Duration counts from the sending, as OpenTelemetry's conventions have it; Latency
	// from when the request was due.
	Duration Buckets `json:"duration"`
	Latency  Buckets `json:"latency"`
	Sent     int64   `json:"sent"` // bytes
	Received int64   `json:"received"`
}

// Merge adds what another has counted; the outcome stays.
func (r *Requests) Merge(o *Requests) {
	r.Duration.Merge(&o.Duration)
	r.Latency.Merge(&o.Latency)
	r.Sent += o.Sent
	r.Received += o.Received
}

// bounds are the upper bounds of the buckets, in seconds: those that OpenTelemetry's
// conventions for HTTP advise, and finer and coarser ones.
var bounds = [...]float64{
	.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .075, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 30, 60,
}

// Buckets is a histogram with few fixed buckets. The zero value is empty.
type Buckets struct {
	counts [len(bounds) + 1]int64
	sum    float64 // seconds
}

// MarshalJSON writes the counts and the sum.
func (b Buckets) MarshalJSON() ([]byte, error) {
	counts := b.counts[:]
	for len(counts) > 0 && counts[len(counts)-1] == 0 {
		counts = counts[:len(counts)-1]
	}
	return json.Marshal(bucketsJSON{counts, b.sum})
}

// UnmarshalJSON reads them, and refuses what no Buckets can have counted.
func (b *Buckets) UnmarshalJSON(text []byte) error {
	var o bucketsJSON
	if err := json.Unmarshal(text, &o); err != nil {
		return err
	}
	if len(o.Counts) > len(b.counts) || slices.ContainsFunc(o.Counts, func(n int64) bool { return n < 0 }) {
		return whittle.Errorf(whittle.Invalid, "a histogram has more than %d buckets, or a count below 0", len(b.counts))
	}
	*b = Buckets{sum: o.Sum}
	copy(b.counts[:], o.Counts)
	return nil
}

// bucketsJSON is Buckets as JSON: the counts without the last ones that are 0.
type bucketsJSON struct {
	Counts []int64 `json:"counts"`
	Sum    float64 `json:"sum"`
}

// Record counts a time.
func (b *Buckets) Record(d time.Duration) {
	s := d.Seconds()
	at, _ := slices.BinarySearch(bounds[:], s)
	b.counts[at]++
	b.sum += s
}

// Merge adds what another has counted.
func (b *Buckets) Merge(o *Buckets) {
	for i, n := range o.counts {
		b.counts[i] += n
	}
	b.sum += o.sum
}

func (b *Buckets) count() (n int64) {
	for _, c := range b.counts {
		n += c
	}
	return n
}

// attribute is a name and a value. A name has OpenTelemetry's dots.
type attribute struct {
	name, value string
	number      bool // the value is a whole number
}

// metric is a figure with its points. A histogram's have buckets, a sum's count from the
// start, a gauge's are of now.
type metric struct {
	name, unit, help string
	sum              bool
	points           []point
}

type point struct {
	attributes []attribute
	value      float64
	buckets    *Buckets // nil: a number
}

// metrics are the figures by the names of OpenTelemetry's conventions, or in
// whittle's name space where these have none.
func (s *Snapshot) metrics() []metric {
	duration := metric{name: "http.client.request.duration", unit: "s", help: "Time from sending a request to the last byte of its response."}
	latency := metric{name: "whittle.load.request.latency", unit: "s", help: "Time from when a request was due to the last byte of its response."}
	sent := metric{name: "whittle.load.sent", unit: "By", help: "Bytes sent.", sum: true}
	received := metric{name: "whittle.load.received", unit: "By", help: "Bytes received.", sum: true}
	for i := range s.Requests {
		r := &s.Requests[i]
		of := r.attributes()
		duration.points = append(duration.points, point{attributes: of, buckets: &r.Duration})
		latency.points = append(latency.points, point{attributes: of, buckets: &r.Latency})
		sent.points = append(sent.points, point{attributes: of, value: float64(r.Sent)})
		received.points = append(received.points, point{attributes: of, value: float64(r.Received)})
	}
	users := metric{name: "whittle.load.users", unit: "{user}", help: "Virtual users, by what became of them.", sum: true}
	for _, u := range []struct {
		state string
		n     int64
	}{{"started", s.Started}, {"finished", s.Finished}, {"failed", s.Failed}, {"skipped", s.Skipped}} {
		users.points = append(users.points, point{attributes: []attribute{{name: "state", value: u.state}}, value: float64(u.n)})
	}
	one := func(name, unit, help string, v float64) metric {
		return metric{name: name, unit: unit, help: help, points: []point{{value: v}}}
	}
	return []metric{
		duration, latency, sent, received, users,
		one("whittle.load.users.active", "{user}", "Virtual users under way.", float64(s.Active)),
		one("whittle.load.late.max", "s", "The generator's greatest lateness in starting a virtual user.", s.Late.Seconds()),
	}
}

// attributes are those of the conventions for HTTP clients, and the endpoint.
func (o *Outcome) attributes() []attribute {
	out := []attribute{{name: "endpoint", value: o.Endpoint}}
	if o.Error != "" {
		out = append(out, attribute{name: "error.type", value: o.Error})
	}
	if o.Method != "" {
		out = append(out, attribute{name: "http.request.method", value: o.Method})
	}
	if o.Status > 0 {
		out = append(out, attribute{name: "http.response.status_code", value: strconv.Itoa(o.Status), number: true})
	}
	return out
}

// attributesOf are the labels of all figures, with those of OTEL_RESOURCE_ATTRIBUTES
// ("name=value,name=value", values in percent-encoding), which go before.
func attributesOf(labels map[string]string, variable string) []attribute {
	all := maps.Clone(labels)
	for pair := range strings.SplitSeq(variable, ",") {
		if name, v, ok := strings.Cut(pair, "="); ok && strings.TrimSpace(name) != "" {
			v = strings.TrimSpace(v)
			if plain, err := url.PathUnescape(v); err == nil {
				v = plain
			}
			all[strings.TrimSpace(name)] = v
		}
	}
	var out []attribute
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, attribute{name: name, value: all[name]})
	}
	return out
}
