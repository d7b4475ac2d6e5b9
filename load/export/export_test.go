package export

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/snappy"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"

	"whittle"
)

// sample is a snapshot of three requests, of which one has failed without a response.
func sample() *Snapshot {
	ok := Requests{Outcome: Outcome{Endpoint: "GET /a", Method: "GET", Status: 200}, Sent: 10, Received: 20}
	for _, d := range []time.Duration{time.Millisecond, 2 * time.Millisecond} {
		ok.Duration.Record(d)
		ok.Latency.Record(time.Hour)
	}
	start := time.UnixMilli(1_000_000)
	return &Snapshot{
		Start: start, At: start.Add(time.Second), Started: 3, Active: 1, Finished: 2, Late: time.Millisecond,
		Requests: []Requests{ok, {Outcome: Outcome{Endpoint: "b \xff", Error: "refused"}}},
	}
}

// fields gives the fields of a message in turn.
func fields(t *testing.T, b []byte, each func(n protowire.Number, value []byte)) {
	t.Helper()
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			t.Fatal(protowire.ParseError(size))
		}
		b = b[size:]
		size = protowire.ConsumeFieldValue(n, kind, b)
		if size < 0 {
			t.Fatal(protowire.ParseError(size))
		}
		value := b[:size]
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(b)
		}
		each(n, value)
		b = b[size:]
	}
}

// series reads a WriteRequest: the values by the labels, as Prometheus writes them.
func series(t *testing.T, body []byte) map[string]float64 {
	t.Helper()
	raw, err := snappy.Decode(nil, body)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	fields(t, raw, func(_ protowire.Number, one []byte) {
		var labels []string
		var v float64
		fields(t, one, func(n protowire.Number, b []byte) {
			var parts []string
			fields(t, b, func(k protowire.Number, x []byte) {
				if n == 1 {
					parts = append(parts, string(x))
				} else if k == 1 {
					bits, _ := protowire.ConsumeFixed64(x)
					v = math.Float64frombits(bits)
				} else if at, _ := protowire.ConsumeVarint(x); at != 1_001_000 {
					t.Errorf("of the time %d", at)
				}
			})
			if n == 1 {
				labels = append(labels, strings.Join(parts, "="))
			}
		})
		if !slices.IsSorted(labels) {
			t.Errorf("labels are not sorted: %q", labels)
		}
		out[strings.Join(labels, ",")] = v
	})
	return out
}

func TestRemoteWriteOfASnapshot(t *testing.T) {
	body, err := encodePrometheus(sample(), attributesOf(map[string]string{"service.name": "j", "service.instance.id": "i", "whittle.plan": "p.yml"}, "team=a,, =x,zone.9=1"))
	if err != nil {
		t.Fatal(err)
	}
	got := series(t, body)
	const ok = ",endpoint=GET /a,http_request_method=GET,http_response_status_code=200,instance=i,job=j,"
	for labels, want := range map[string]float64{
		"__name__=http_client_request_duration_seconds_bucket" + ok + "le=0.001,team=a,whittle_plan=p.yml,zone_9=1":                               1,
		"__name__=http_client_request_duration_seconds_bucket" + ok + "le=0.0025,team=a,whittle_plan=p.yml,zone_9=1":                              2,
		"__name__=http_client_request_duration_seconds_bucket" + ok + "le=+Inf,team=a,whittle_plan=p.yml,zone_9=1":                                2,
		"__name__=http_client_request_duration_seconds_count" + ok + "team=a,whittle_plan=p.yml,zone_9=1":                                         2,
		"__name__=http_client_request_duration_seconds_sum" + ok + "team=a,whittle_plan=p.yml,zone_9=1":                                           .003,
		"__name__=whittle_load_request_latency_seconds_bucket" + ok + "le=60,team=a,whittle_plan=p.yml,zone_9=1":                                  0,
		"__name__=whittle_load_request_latency_seconds_sum" + ok + "team=a,whittle_plan=p.yml,zone_9=1":                                           7200,
		"__name__=whittle_load_received_bytes_total" + ok + "team=a,whittle_plan=p.yml,zone_9=1":                                                  20,
		"__name__=whittle_load_users_total,instance=i,job=j,state=started,team=a,whittle_plan=p.yml,zone_9=1":                                     3,
		"__name__=whittle_load_users_active,instance=i,job=j,team=a,whittle_plan=p.yml,zone_9=1":                                                  1,
		"__name__=whittle_load_late_max_seconds,instance=i,job=j,team=a,whittle_plan=p.yml,zone_9=1":                                              .001,
		"__name__=http_client_request_duration_seconds_count,endpoint=b �,error_type=refused,instance=i,job=j,team=a,whittle_plan=p.yml,zone_9=1": 0,
	} {
		if v, there := got[labels]; !there || v != want {
			t.Errorf("%s is %v, %v; want %v", labels, v, there, want)
		}
	}
	if want := 2*2*(len(bounds)+1+2) + 2*2 + 4 + 2; len(got) != want {
		t.Errorf("%d series, want %d", len(got), want)
	}
}

// TestOTLPOfASnapshot reads what is sent by OTLP's own schema, which refuses what it does
// not know.
func TestOTLPOfASnapshot(t *testing.T) {
	for _, s := range []*Snapshot{sample(), {Start: time.Now(), At: time.Now()}} {
		body, err := encodeOTLP(s, attributesOf(map[string]string{"service.name": "j"}, ""))
		if err != nil {
			t.Fatal(err)
		}
		var m metricspb.MetricsData
		if err := protojson.Unmarshal(body, &m); err != nil {
			t.Fatalf("%v:\n%s", err, body)
		}
		got := map[string]string{}
		for _, one := range m.ResourceMetrics[0].ScopeMetrics[0].Metrics {
			switch d := one.Data.(type) {
			case *metricspb.Metric_Histogram:
				p := d.Histogram.DataPoints[0]
				sum := uint64(0)
				for _, n := range p.BucketCounts {
					sum += n
				}
				if len(p.BucketCounts) != len(p.ExplicitBounds)+1 || sum != p.Count {
					t.Errorf("%d buckets of %d bounds, %d of %d", len(p.BucketCounts), len(p.ExplicitBounds), sum, p.Count)
				}
				got[one.Name] = fmt.Sprintf("%s %v %d %.3f %d", one.Unit, d.Histogram.AggregationTemporality, p.Count, p.GetSum(), len(p.Attributes))
			case *metricspb.Metric_Sum:
				got[one.Name] = fmt.Sprintf("%s %v %v %v", one.Unit, d.Sum.AggregationTemporality, d.Sum.IsMonotonic, d.Sum.DataPoints[0].GetAsDouble())
			case *metricspb.Metric_Gauge:
				got[one.Name] = fmt.Sprintf("%s %v", one.Unit, d.Gauge.DataPoints[0].GetAsDouble())
			}
		}
		if len(s.Requests) == 0 {
			continue // that it can be read is enough
		}
		const sums = "AGGREGATION_TEMPORALITY_CUMULATIVE"
		for name, want := range map[string]string{
			"http.client.request.duration": "s " + sums + " 2 0.003 3",
			"whittle.load.request.latency": "s " + sums + " 2 7200.000 3",
			"whittle.load.sent":            "By " + sums + " true 10",
			"whittle.load.users":           "{user} " + sums + " true 3",
			"whittle.load.users.active":    "{user} 1",
			"whittle.load.late.max":        "s 0.001",
		} {
			if got[name] != want {
				t.Errorf("%s is %q, want %q", name, got[name], want)
			}
		}
		if a := m.ResourceMetrics[0].Resource.Attributes; len(a) != 1 || a[0].Value.GetStringValue() != "j" {
			t.Errorf("of %v", a)
		}
	}
}

func TestTargets(t *testing.T) {
	for _, c := range []struct {
		make      func(string, []string) (*Target, error)
		in, url   string
		headers   []string
		want, say string // a header, and what an error says
	}{
		{Prometheus, "http://h:9090", "http://h:9090/api/v1/write", nil, "Content-Encoding: snappy", ""},
		{Prometheus, "http://h:9090/", "http://h:9090/api/v1/write", nil, "X-Prometheus-Remote-Write-Version: 0.1.0", ""},
		{Prometheus, "https://u:p%40w@h/push?x=1", "https://h/push?x=1", []string{"X-Scope-OrgID: a"}, "Authorization: Basic dTpwQHc=", ""},
		{OTLP, "http://h:4318", "http://h:4318/v1/metrics", []string{" X-Scope-OrgID : a"}, "X-Scope-Orgid: a", ""},
		{OTLP, "http://h/api/v1/otlp/", "http://h/api/v1/otlp/v1/metrics", nil, "Content-Type: application/json", ""},
		{OTLP, "http://h/x/v1/metrics", "http://h/x/v1/metrics", nil, "User-Agent: whittle", ""},
		{OTLP, "h:4318", "", nil, "", "is not a URL"},
		{OTLP, "grpc://h:4317", "", nil, "", "is not a URL"},
		{OTLP, "", "", nil, "", "is not a URL"},
		{Prometheus, "http://h", "", []string{"nonsense"}, "", "not of the form"},
		{Prometheus, "http://h", "", []string{"a b: c"}, "", "not of the form"},
		{Prometheus, "http://h", "", []string{"a: c\nd: e"}, "", "not of the form"},
	} {
		got, err := c.make(c.in, c.headers)
		if c.say != "" {
			if whittle.CodeOf(err) != whittle.Invalid || !strings.Contains(err.Error(), c.say) {
				t.Errorf("%s: %v", c.in, err)
			}
			continue
		}
		name, v, _ := strings.Cut(c.want, ": ")
		if err != nil || got.url != c.url || got.header.Get(name) != v || strings.ContainsAny(got.shown, "@?") {
			t.Errorf("%s: %+v, %v", c.in, got, err)
		}
	}
}

// replies gives one response after another; the last of them again and again.
type replies struct {
	codes []int // 0: no response
	asked int
}

func (r *replies) RoundTrip(q *http.Request) (*http.Response, error) {
	if _, err := io.ReadAll(q.Body); err != nil {
		return nil, err
	}
	code := r.codes[min(r.asked, len(r.codes)-1)]
	r.asked++
	if code == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader("why\x1b[31m\n not")), Request: q, Header: http.Header{"Location": {"http://elsewhere/"}}}, nil
}

// TestTheLastExportIsTriedAgain: where that may help, and not for ever.
func TestTheLastExportIsTriedAgain(t *testing.T) {
	for _, c := range []struct {
		codes []int
		asked int
		says  string // empty: nothing is
	}{
		{[]int{200}, 1, ""},
		{[]int{503, 200}, 2, "1 of 2 exports to http://h:4318/v1/metrics failed (status 503 why [31m not); the last one came through"},
		{[]int{0, 429, 204}, 3, "2 of 3 exports"},
		{[]int{0}, 3, "3 of 3 exports to http://h:4318/v1/metrics failed (unexpected EOF); the last one failed too, so what is there is not the whole run"},
		{[]int{400}, 1, "1 of 1 exports to http://h:4318/v1/metrics failed (status 400 why [31m not); the last one failed too"},
		{[]int{302}, 1, "status 302"},
	} {
		synctest.Test(t, func(t *testing.T) {
			to, err := OTLP("http://h:4318", nil)
			if err != nil {
				t.Fatal(err)
			}
			r := &replies{codes: c.codes}
			s := &sender{Target: to, client: &http.Client{Transport: r, CheckRedirect: noRedirect}}
			s.flush(sample())
			if got := s.warning(); r.asked != c.asked || (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
				t.Errorf("%v: asked %d times, %q", c.codes, r.asked, got)
			}
		})
	}
}

// TestFiguresAreSentAgainAndAgain: and once more at the end, which is the whole run.
func TestFiguresAreSentAgainAndAgain(t *testing.T) {
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "10")
	seen := make(chan string, 1000)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if !json.Valid(b) || r.Header.Get("X-A") != "b" {
			t.Errorf("%s %v", b, r.Header)
		}
		seen <- string(b)
	}))
	defer srv.Close()
	to, err := OTLP(srv.URL, []string{"X-A: b"})
	if err != nil {
		t.Fatal(err)
	}
	started := int64(0)
	e := Start([]*Target{to}, map[string]string{"service.name": "whittle-load"}, func() *Snapshot {
		started++
		return &Snapshot{Started: started}
	})
	<-seen
	<-seen
	if w := e.Finish(); w != nil {
		t.Error(w)
	}
	var last string
	for len(seen) > 0 {
		last = <-seen
	}
	if want := fmt.Sprintf(`"asDouble":%d}`, started); !strings.Contains(last, want) {
		t.Errorf("the last has no %s: %s", want, last)
	}
}

// TestResourceAttributesAreDecoded as OpenTelemetry's specification has them.
func TestResourceAttributesAreDecoded(t *testing.T) {
	got := attributesOf(map[string]string{"a": "own"}, "a=b%20c, d = 50% ,e")
	if want := []attribute{{name: "a", value: "b c"}, {name: "d", value: "50%"}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
