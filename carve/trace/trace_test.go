package trace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"whittle"
	"whittle/carve/config"
	"whittle/carve/gateway"
)

// TestTraceFollowsARequest sends requests through a gateway and looks at the
// spans and at what the upstream was told.
func TestTraceFollowsARequest(t *testing.T) {
	traceparents := make(chan string, 1)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		traceparents <- r.Header.Get("Traceparent")
		if r.URL.Path == "/broken" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(upstream.Close)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()

	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	gate := func(monolith string) string {
		g, err := gateway.New(gateway.Options{
			Monolith: whittle.Upstream{URL: monolith, Timeout: 10 * time.Second},
			Routes:   []whittle.Route{{Name: "GET /a", Match: whittle.Match{Method: http.MethodGet, Pattern: "/a"}}},
			Tracer:   newOTelTracer(provider),
		})
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewServer(g)
		t.Cleanup(srv.Close)
		return srv.URL
	}
	up, down := gate(upstream.URL), gate(closed.URL)

	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for i, tc := range []struct {
		method, url, parent, name string
		status                    int
		failed                    bool
		failure                   whittle.Failure
	}{
		{method: "GET", url: up + "/a", name: "GET /a", status: 200},
		{method: "GET", url: up + "/a", parent: parent, name: "GET /a", status: 200},
		{method: "GET", url: up + "/other", parent: parent, name: "GET", status: 200},
		{method: "GET", url: up + "/broken", name: "GET", status: 500, failed: true},
		{method: "BREW", url: up + "/other", name: "_OTHER", status: 200},
		{method: "GET", url: down + "/a", parent: parent, name: "GET /a", status: 502, failed: true, failure: whittle.FailedConnect},
	} {
		req, err := http.NewRequest(tc.method, tc.url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if tc.parent != "" {
			req.Header.Set("traceparent", tc.parent)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		s := ended(t, spans, i+1)
		if s.Name() != tc.name || s.SpanKind() != trace.SpanKindServer {
			t.Errorf("%s: span %q of kind %s", tc.url, s.Name(), s.SpanKind())
		}
		if got := s.Parent(); got.IsValid() != (tc.parent != "") || tc.parent != "" && "00-"+got.TraceID().String()+"-"+got.SpanID().String()+"-01" != tc.parent {
			t.Errorf("%s: its parent is %s-%s", tc.url, got.TraceID(), got.SpanID())
		}
		if tc.failure == "" {
			c := s.SpanContext()
			if got, want := <-traceparents, fmt.Sprintf("00-%s-%s-01", c.TraceID(), c.SpanID()); got != want {
				t.Errorf("%s: the upstream got %q, the span is %q", tc.url, got, want)
			}
		}
		if got := s.Status().Code == codes.Error; got != tc.failed {
			t.Errorf("%s: status %v", tc.url, s.Status())
		}
		has := attribute.NewSet(s.Attributes()...)
		if v, _ := has.Value("http.response.status_code"); v.AsInt64() != int64(tc.status) {
			t.Errorf("%s: attributes %v", tc.url, s.Attributes())
		}
		if v, ok := has.Value("error.type"); ok != (tc.failure != "") || v.AsString() != string(tc.failure) && ok {
			t.Errorf("%s: attributes %v", tc.url, s.Attributes())
		}
	}
}

// ended waits for the nth span: it ends after the response.
func ended(t *testing.T, spans *tracetest.SpanRecorder, n int) sdktrace.ReadOnlySpan {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-time.After(time.Millisecond) {
		if all := spans.Ended(); len(all) >= n {
			if len(all) > n {
				t.Fatalf("%d spans for %d requests", len(all), n)
			}
			return all[n-1]
		}
	}
	t.Fatalf("no span for request %d", n)
	return nil
}

func TestWhoWentAwayIsNoError(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	tr := newOTelTracer(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
	_, s := tr.Start(context.Background(), "GET /a", http.MethodGet, whittle.Header{})
	s.End(0, whittle.FailedCanceled)
	if got := spans.Ended()[0].Status().Code; got != codes.Unset {
		t.Errorf("status %v", got)
	}
}

// TestTracesAreExported: a collector that is busy at first has the spans at the end.
func TestTracesAreExported(t *testing.T) {
	var got []*http.Request
	var spans tracepb.TracesData
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got = append(got, r); len(got) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		b, err := io.ReadAll(r.Body)
		if err = errors.Join(err, proto.Unmarshal(b, &spans)); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(collector.Close)
	tr, stop, err := New(t.Context(), config.Trace{Endpoint: collector.URL, Sample: whittle.All})
	if err != nil {
		t.Fatal(err)
	}
	_, s := tr.Start(t.Context(), "GET /a", http.MethodGet, whittle.Header{})
	s.End(http.StatusOK, whittle.NoFailure)
	if err := stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[1].URL.Path != "/v1/traces" || got[1].Header.Get("Content-Type") != "application/x-protobuf" {
		t.Fatalf("%d requests, the last %+v", len(got), got[len(got)-1])
	}
	if name := spans.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()[0].GetName(); name != "GET /a" {
		t.Errorf("span %q", name)
	}
	if tr, _, err := New(t.Context(), config.Trace{}); tr != nil || err != nil {
		t.Errorf("without an endpoint: %v, %v", tr, err)
	}
}

// TestRefusedSpans: what a collector refuses for good is sent once.
func TestRefusedSpans(t *testing.T) {
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { n++; w.WriteHeader(http.StatusBadRequest) }))
	t.Cleanup(s.Close)
	if err := (&collector{url: s.URL}).UploadTraces(t.Context(), nil); err == nil || n != 1 {
		t.Errorf("%d requests, %v", n, err)
	}
}
