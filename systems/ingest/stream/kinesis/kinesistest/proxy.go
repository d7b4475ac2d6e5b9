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
	"slices"
	"strings"
	"sync"
	"testing"
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

	target string
	client http.Client
	closed chan struct{} // ends hung responses

	mu     sync.Mutex // guards the following
	faults Faults
	random *rand.Rand
	counts map[string]int
}

// NewProxy listens on loopback until the test ends.
func NewProxy(t testing.TB, target string) *Proxy {
	p := &Proxy{
		target: target,
		client: http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
		closed: make(chan struct{}),
		random: rand.New(rand.NewPCG(11, 0)),
		counts: map[string]int{},
	}
	server := httptest.NewServer(p)
	p.URL = server.URL
	t.Cleanup(func() {
		close(p.closed)
		server.Close()
		p.client.CloseIdleConnections()
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
		said.body = said.body[:len(said.body)/2]
		said.write(w)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	default:
		said.write(w)
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

// response is what the API said.
type response struct {
	status int
	header http.Header
	body   []byte
}

// forward makes the call and gives the whole response. It takes effect even if
// the caller has gone. Where there is no response, the proxy hangs up as the API did.
func (p *Proxy) forward(r *http.Request, body []byte) response {
	out, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), r.Method, p.target+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	out.Header = r.Header.Clone()
	out.Header.Del("Accept-Encoding")
	resp, err := p.client.Do(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return response{status: resp.StatusCode, header: resp.Header, body: text}
}

func (a response) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.Header().Del("Content-Length")
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
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
	said := response{status: http.StatusOK, header: http.Header{"Content-Type": {"application/x-amz-json-1.1"}}}
	merged := map[string]any{"Records": []any(nil)}
	if len(through) > 0 {
		call["Records"] = through
		if said = p.forward(r, encode(call)); said.status != http.StatusOK {
			said.write(w)
			return
		}
		decode(said.body, &merged)
	}
	results := merged["Records"].([]any)
	for i := range records {
		if code, ok := failed[i]; ok {
			results = slices.Insert(results, i, any(map[string]string{"ErrorCode": code, "ErrorMessage": "injected"}))
		}
	}
	merged["Records"], merged["FailedRecordCount"] = results, len(failed)
	said.body = encode(merged)
	said.write(w)
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
