package load

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"whittle/load/artillery"
	"whittle/load/plan"
	"whittle/load/report"
)

func TestQuickPlansSendWhatTheirFlagsSay(t *testing.T) {
	var mu sync.Mutex
	var last string
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		last = r.Method + " " + r.RequestURI + " " + r.Header.Get("Content-Type") + " " + r.Header.Get("X-A") + " " + string(b)
	}))
	defer srv.Close()
	few := plan.Closed{Users: 2, Loops: 3}
	thinking, err := artillery.Quick{URL: srv.URL, Closed: few, Think: 20 * time.Millisecond}.Plan()
	if err != nil {
		t.Fatal(err)
	}
	if r := run(t, thinking, Options{MaxLate: time.Minute}); r.Requests != 6 || r.Seconds < .06 {
		t.Errorf("%d requests in %v s with three think times of 20 ms", r.Requests, r.Seconds)
	}
	for _, c := range []struct {
		q                 artillery.Quick
		sent, name, model string
		requests          int64
	}{
		{artillery.Quick{URL: srv.URL, Closed: few}, "GET /   ", "GET /", report.ModelClosed, 6},
		{artillery.Quick{URL: srv.URL}, "GET /   ", "GET /", report.ModelClosed, 1},
		{artillery.Quick{URL: srv.URL + "/Count?x=1", JSON: `{"times":1000}`, Closed: few}, `POST /Count?x=1 application/json  {"times":1000}`, "POST /Count", report.ModelClosed, 6},
		{artillery.Quick{URL: srv.URL, Method: "put", Headers: []string{"X-A: b: c", "Content-Type:text/plain"}, Body: "hi", Rate: 40, Duration: 100 * time.Millisecond}, "PUT / text/plain b: c hi", "PUT /", report.ModelOpen, 4},
		{artillery.Quick{URL: srv.URL, JSON: `{"n":{{ $randomNumber(7, 7) }}}`, Name: "n", Closed: few}, `POST / application/json  {"n":7}`, "n", report.ModelClosed, 6},
	} {
		p, err := c.q.Plan()
		if err != nil {
			t.Errorf("%+v: %v", c.q, err)
			continue
		}
		r := run(t, p, Options{MaxLate: time.Minute})
		if r.Requests != c.requests || r.Completed != c.requests || r.Model != c.model || r.Names[0].Name != c.name || last != c.sent {
			t.Errorf("%+v: %d requests, %s, %q, %q", c.q, r.Requests, r.Model, r.Names[0].Name, last)
		}
	}
}
