package kinesistest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"whittle/internal/fatal"
)

// The faults of a write call.
const (
	Throttle = "throttle" // refused with ProvisionedThroughputExceededException
	Internal = "internal" // 500, without effect
	Lost     = "lost"     // 500 after the call took effect
	Hang     = "hang"     // never acknowledged, without effect
	HangKept = "hangkept" // never acknowledged, after the call took effect
	Cut      = "cut"      // the response breaks off, after the call took effect
	Partial  = "partial"  // a 200 in which a fifth of the records failed
)

// Faults say what goes wrong. The zero value lets everything pass.
type Faults struct {
	// Shares of the write calls have a fault, each 0 to 1 and all together at most 1.
	Shares map[string]float64
	// Refuse names records that are always throttled, by partition key. Nil: none.
	Refuse func(partitionKey string) bool
}

// Proxy stands in front of a Kinesis API and injects faults.
type Proxy struct {
	// URL is its endpoint.
	URL string

	api    http.Handler  // passes a call on
	closed chan struct{} // ends hung responses

	mu     sync.Mutex // guards the following
	faults Faults
	random *rand.Rand
	counts map[string]int
}

// NewProxy listens on loopback until the test ends.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	at, err := url.Parse(target)
	fatal.If(t, err)
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	p := &Proxy{
		api: &httputil.ReverseProxy{
			Transport: transport,
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(at)
				r.Out.Header.Del("Accept-Encoding") // so that the transport unpacks what it gets
			},
			// Where there is no response, the proxy hangs up as the API did.
			ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		},
		closed: make(chan struct{}),
		random: rand.New(rand.NewPCG(11, 0)),
		counts: map[string]int{},
	}
	server := httptest.NewServer(p)
	p.URL = server.URL
	t.Cleanup(func() {
		close(p.closed)
		server.Close()
		transport.CloseIdleConnections()
	})
	return p
}

// Set changes what goes wrong from the next call on.
func (p *Proxy) Set(f Faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = f
}

// Counts says how often each fault was injected.
func (p *Proxy) Counts() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}

// ServeHTTP passes a call on, with the fault that falls to it.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	fault := ""
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".PutRecords") {
		fault = p.draw()
	}
	switch fault {
	case Throttle:
		refuse(w, http.StatusBadRequest, throughputExceeded)
		return
	case Internal:
		refuse(w, http.StatusInternalServerError, internalFailure)
		return
	case Hang:
		p.hang(r)
	case Partial:
		p.partial(w, r, body)
		return
	}
	said := p.forward(r, body)
	switch fault {
	case Lost:
		refuse(w, http.StatusInternalServerError, internalFailure)
	case HangKept:
		p.hang(r)
	case Cut:
		said.Body.Truncate(said.Body.Len() / 2)
		pass(w, said)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	default:
		pass(w, said)
	}
}

// draw says what happens to a call; "": nothing.
func (p *Proxy) draw() (fault string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.faults.Refuse != nil {
		fault = Partial
	}
	at := p.random.Float64()
	for _, name := range slices.Sorted(maps.Keys(p.faults.Shares)) {
		if at -= p.faults.Shares[name]; at < 0 {
			fault = name
			break
		}
	}
	p.counts[fault]++
	return fault
}

const (
	throughputExceeded = "ProvisionedThroughputExceededException"
	internalFailure    = "InternalFailure"
)

func refuse(w http.ResponseWriter, status int, kind string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	w.Header().Set("X-Amzn-ErrorType", kind)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"__type": kind, "message": "injected"})
}

// hang never responds.
func (p *Proxy) hang(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-p.closed:
	}
	panic(http.ErrAbortHandler)
}

// forward makes the call and gives the whole response. It takes effect even if
// the caller has gone.
func (p *Proxy) forward(r *http.Request, body []byte) *httptest.ResponseRecorder {
	out, said := r.Clone(context.WithoutCancel(r.Context())), httptest.NewRecorder()
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	p.api.ServeHTTP(said, out)
	return said
}

func pass(w http.ResponseWriter, said *httptest.ResponseRecorder) {
	maps.Copy(w.Header(), said.Header())
	w.Header().Del("Content-Length")
	w.WriteHeader(said.Code)
	w.Write(said.Body.Bytes())
}

// partial passes on some of a call's records and merges the response, so that
// the others are seen as failed inside a 200.
func (p *Proxy) partial(w http.ResponseWriter, r *http.Request, body []byte) {
	var call map[string]any
	decode(body, &call)
	failed := map[int]string{} // codes
	var through []any
	records := call["Records"].([]any)
	for i, rec := range records {
		if code := p.failure(rec.(map[string]any)["PartitionKey"].(string)); code != "" {
			failed[i] = code
		} else {
			through = append(through, rec)
		}
	}
	said := httptest.NewRecorder()
	said.Header().Set("Content-Type", "application/x-amz-json-1.1")
	merged := map[string]any{"Records": []any(nil)}
	if len(through) > 0 {
		call["Records"] = through
		if said = p.forward(r, encode(call)); said.Code != http.StatusOK {
			pass(w, said)
			return
		}
		decode(said.Body.Bytes(), &merged)
	}
	results := merged["Records"].([]any)
	for i := range records {
		if code, ok := failed[i]; ok {
			results = slices.Insert(results, i, any(map[string]string{"ErrorCode": code, "ErrorMessage": "injected"}))
		}
	}
	merged["Records"], merged["FailedRecordCount"] = results, len(failed)
	said.Body = bytes.NewBuffer(encode(merged))
	pass(w, said)
}

// failure is the code of a record that fails in a 200; "": it does not.
func (p *Proxy) failure(partitionKey string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.faults.Refuse != nil {
		if p.faults.Refuse(partitionKey) {
			return throughputExceeded
		}
		return ""
	}
	switch at := p.random.Float64(); {
	case at < 0.1:
		return throughputExceeded
	case at < 0.2:
		return internalFailure
	}
	return ""
}

func decode(b []byte, v any) {
	if err := json.Unmarshal(b, v); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// encode writes what always can be written.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
