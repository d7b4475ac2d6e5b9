package promquery

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"whittle"
	"whittle/carve/config"
	"whittle/internal/fatal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "0123456789abcdef"

var alone = whittle.SideQuery{Candidate: "c"}

// readOnce puts one query to a server.
func readOnce(t *testing.T, url string, q whittle.Query) whittle.QueryReading {
	t.Helper()
	r := run{Poller: &Poller{Redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "redacted") }}}
	c := newClient(whittle.Prometheus{URL: url, Token: token, Timeout: 5 * time.Second})
	if strings.HasSuffix(q.Name, "slow") {
		c.server.Timeout = 50 * time.Millisecond
	}
	defer c.close()
	return r.read(t.Context(), c, &q)
}

// success is a response with a result.
func success(kind, result string) string {
	return fmt.Sprintf(`{"status":"success","data":{"resultType":%q,"result":%s}}`, kind, result)
}

// TestResponses has what servers send: each is a figure or a reason why there is none, in
// one bounded line.
func TestResponses(t *testing.T) {
	vector := func(values ...string) string {
		var list []string
		for _, v := range values {
			list = append(list, `{"metric":{"app":"new"},"value":[1700000000.781,`+v+`]}`)
		}
		return success("vector", "["+strings.Join(list, ",")+"]")
	}
	for name, tt := range map[string]struct {
		status int
		body   string
		value  float64
		none   bool
		why    string
	}{
		"a vector":           {200, vector(`"7.5"`), 7.5, false, ""},
		"a scalar":           {200, success("scalar", `[1700000000,"3"]`), 3, false, ""},
		"an exponent":        {200, vector(`"1.2e+06"`), 1.2e6, false, ""},
		"NaN":                {200, vector(`"NaN"`), math.NaN(), false, ""},
		"infinite":           {200, vector(`"+Inf"`), math.Inf(1), false, ""},
		"no series":          {200, success("vector", "[]"), 0, true, ""},
		"null for no series": {200, success("vector", "null"), 0, true, ""},
		"two series":         {200, vector(`"1"`, `"2"`), 0, false, "2 series where one is wanted: sum them up in the query"},
		"a matrix":           {200, success("matrix", "[]"), 0, false, "the result is a matrix, not a number: write an instant query"},
		"a string":           {200, success("string", `[1,"x"]`), 0, false, "the result is a string, not a number: write an instant query"},
		"a histogram":        {200, success("vector", `[{"metric":{},"histogram":[1,{}]}]`), 0, false, "the result is a histogram, not a number"},
		"a bad query": {400, `{"status":"error","errorType":"bad_data","error":"invalid parameter \"query\": 1:4: ` +
			`parse error: password hunter2"}`, 0, false, `the server refuses it: bad_data: invalid parameter "query": 1:4: parse error: password redacted`},
		"a time-out of its own": {503, `{"status":"error","errorType":"timeout","error":"query timed out"}`, 0, false, "the server refuses it: timeout: query timed out"},
		"too many samples":      {422, `{"status":"error","errorType":"execution","error":"too many\n\u001b[31msamples"}`, 0, false, "the server refuses it: execution: too many  [31msamples"},
		"a partial response":    {200, `{"status":"success","warnings":["store 3 is down"],"data":{"resultType":"vector","result":[]}}`, 0, false, "the server warns: store 3 is down"},
		"with notes":            {200, `{"status":"success","infos":["metric might not be a counter"],"data":{"resultType":"scalar","result":[1,"3"]}}`, 3, false, ""},
		"an error in words":     {502, "Bad Gateway", 0, false, "the server responds 502"},
		"no permission":         {401, "", 0, false, "the server responds 401"},
		"a redirect":            {302, "", 0, false, "the server responds 302"},
		"a page":                {200, "<html>login</html>", 0, false, "the response is not that of a Prometheus server"},
		"empty":                 {200, "", 0, false, "the response is not that of a Prometheus server"},
		"cut off":               {200, vector(`"7.5"`)[:60], 0, false, "the response is not that of a Prometheus server"},
		"no status":             {200, `{"data":{"resultType":"scalar","result":[1,"3"]}}`, 0, false, "the response is not that of a Prometheus server"},
		"a number as a number":  {200, vector(`7.5`), 0, false, "the response is not that of a Prometheus server"},
		"no number":             {200, vector(`"seven"`), 0, false, "the response is not that of a Prometheus server"},
		"three parts":           {200, success("scalar", `[1,"2","3"]`), 0, false, "the response is not that of a Prometheus server"},
		"a time before time":    {200, success("scalar", `[-5,"2"]`), 0, false, "the response is not that of a Prometheus server"},
		"a huge time":           {200, success("scalar", `[1e300,"2"]`), 0, false, "the response is not that of a Prometheus server"},
		"a long error": {400, `{"status":"error","errorType":"bad_data","error":"` +
			strings.Repeat("é", 5000) + `"}`, 0, false, "the server refuses it: bad_data: " + strings.Repeat("é", 200) + "…"},
		"without end": {200, success("vector", "["+strings.Repeat(" ", 2<<20)+"]"), 0, false, "the server's response is longer than 1 MiB: sum the series up in the query"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+token || r.URL.Path != "/p/api/v1/query" || r.Method != http.MethodPost || r.FormValue("query") != "c" {
				t.Errorf("asked by %s %s %v", r.Method, r.URL, r.Form)
			}
			if tt.status == 302 {
				w.Header().Set("Location", "http://127.0.0.1:1/")
			}
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		}))
		got := readOnce(t, s.URL+"/p", whittle.Query{Value: alone, Every: time.Minute})
		s.Close()
		same := got.Value.Candidate == tt.value || math.IsNaN(tt.value) && math.IsNaN(got.Value.Candidate)
		if got.Missing != tt.why || tt.why == "" && (!same || got.Value.NoCandidate != tt.none) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestNoServer: nobody listens, it is silent, or it breaks off.
func TestNoServer(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer silent.Close()
	breaks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "{")
	}))
	defer breaks.Close()
	for url, why := range map[string]string{
		"http://127.0.0.1:1": "the server cannot be asked: dial tcp 127.0.0.1:1: connect",
		silent.URL:           "no response within 50ms",
		breaks.URL:           "the server cannot be asked: unexpected EOF",
	} {
		got := readOnce(t, url, whittle.Query{Name: "slow", Value: alone, Every: time.Minute})
		if !strings.HasPrefix(got.Missing, why) || strings.Contains(got.Missing, token) {
			t.Errorf("%s: %q", url, got.Missing)
		}
	}
}

// responder is a fake server with a result for each query.
type responder struct {
	*httptest.Server
	mu    sync.Mutex // guards the following
	of    map[string]string
	times []string
}

func newResponder(t *testing.T, of map[string]string) *responder {
	a := &responder{of: of}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.times = append(a.times, r.FormValue("time"))
		_, _ = io.WriteString(w, success("vector", a.of[r.FormValue("query")]))
	}))
	t.Cleanup(a.Close)
	return a
}

// TestSides reads both sides by two queries and by a label, at one moment; bad events
// without a series are 0 where there is a total.
func TestSides(t *testing.T) {
	const at = `"value":[1700000000.25,`
	a := newResponder(t, map[string]string{
		"none": `[]`,
		"mt":   `[{"metric":{},` + at + `"100"]}]`, "ct": `[{"metric":{},` + at + `"10"]}]`, "mb": `[]`, "cb": `[]`,
		"by":  `[{"metric":{"app":"old"},` + at + `"1"]},{"metric":{"app":"new"},` + at + `"2"]},{"metric":{"app":"other"},` + at + `"3"]}]`,
		"two": `[{"metric":{"app":"old","pod":"a"},` + at + `"1"]},{"metric":{"app":"old","pod":"b"},` + at + `"2"]}]`,
		"old": `[{"metric":{"app":"old"},` + at + `"1"]},{"metric":{"app":"new"},"value":[1699999000,"2"]}]`,
	})
	label := func(q string) whittle.SideQuery {
		return whittle.SideQuery{Both: q, Label: "app", Monolith: "old", Candidate: "new"}
	}
	got := readOnce(t, a.URL, whittle.Query{Total: whittle.SideQuery{Monolith: "mt", Candidate: "ct"}, Bad: whittle.SideQuery{Monolith: "mb", Candidate: "cb"}, Every: time.Minute})
	if got.Missing != "" || got.Total != (whittle.SideValues{Monolith: 100, Candidate: 10}) || got.Bad != (whittle.SideValues{}) || !got.NoBad || !got.At.Equal(time.UnixMilli(1700000000250)) {
		t.Errorf("%+v", got)
	}
	fatal.Same(t, strings.Join(a.times, " "), " 1700000000.250 1700000000.250 1700000000.250", "asked of the times")
	got = readOnce(t, a.URL, whittle.Query{Value: label("by"), Every: time.Minute})
	if got.Missing != "" || got.Value != (whittle.SideValues{Monolith: 1, Candidate: 2}) {
		t.Errorf("%+v", got)
	}
	for q, why := range map[string]string{
		"two": `2 series with app="old" where one is wanted: sum them up in the query`, "old": "a figure is 16m40s old",
	} {
		if got = readOnce(t, a.URL, whittle.Query{Value: label(q), Every: time.Minute}); got.Missing != why {
			t.Errorf("%s: %+v", q, got)
		}
	}
	got = readOnce(t, a.URL, whittle.Query{Total: whittle.SideQuery{Monolith: "mt", Candidate: "none"}, Bad: whittle.SideQuery{Monolith: "mb", Candidate: "cb"}, Every: time.Minute})
	if got.Missing != "" || !got.Total.NoCandidate || !got.Bad.NoCandidate || got.Bad.NoMonolith {
		t.Errorf("without a total: %+v", got)
	}
}

// TestPoller: each query in its interval, by the config in force; a reason is logged once,
// and the end waits for nobody.
func TestPoller(t *testing.T) {
	var broken atomic.Bool
	entered := make(chan struct{}, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("query") == "hangs" {
			entered <- struct{}{}
			<-r.Context().Done()
			return
		}
		if broken.Load() {
			w.WriteHeader(500)
			return
		}
		_, _ = io.WriteString(w, success("scalar", `[1,"3"]`))
	}))
	defer s.Close()
	var file atomic.Pointer[config.File]
	with := func(queries ...whittle.Query) *config.File {
		return &config.File{Prometheus: &whittle.Prometheus{URL: s.URL, Timeout: time.Minute}, Routes: []whittle.Route{{Name: "GET /a", Queries: queries}}}
	}
	q := whittle.Query{Name: "q", Value: alone, Every: time.Second}
	file.Store(&config.File{Routes: with(q).Routes}) // no server: nothing is asked
	read := make(chan whittle.QueryReading, 100)
	var log strings.Builder
	var logged sync.Mutex
	p := &Poller{
		Config: file.Load, Log: slog.New(slog.NewTextHandler(writer(func(b []byte) (int, error) {
			logged.Lock()
			defer logged.Unlock()
			return log.Write(b)
		}), nil)),
		Reading: func(route, query string, r whittle.QueryReading) {
			if route != "GET /a" || query != "q" {
				t.Errorf("a reading of %s, %s", route, query)
			}
			read <- r
		},
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	file.Store(with(q))
	if r := <-read; r.Missing != "" || r.Value.Candidate != 3 {
		t.Errorf("%+v", r)
	}
	broken.Store(true)
	for range 2 {
		if r := <-read; r.Missing != "the server responds 500" {
			t.Errorf("%+v", r)
		}
	}
	file.Store(with(whittle.Query{Name: "hung", Value: whittle.SideQuery{Candidate: "hangs"}, Every: time.Second}))
	<-entered
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	fatal.Same(t, strings.Count(log.String(), "gives no data"), 1, "the times that it was logged: %s", log.String())
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }
