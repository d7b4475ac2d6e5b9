package kinesistest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"whittle"
)

// Faults are the shares of write calls (PutRecord, PutRecords) that go wrong,
// each 0 to 1 and all together at most 1. The zero value lets everything pass.
type Faults struct {
	Throttle float64 // the call is refused with ProvisionedThroughputExceededException
	Internal float64 // 500, without effect
	Lost     float64 // 500 after the call took effect
	Hang     float64 // never acknowledged, without effect
	HangKept float64 // never acknowledged, after the call took effect
	Cut      float64 // the response breaks off, after the call took effect
	Partial  float64 // a 200 in which some records failed (PutRecords only)
	// PartialOf is the share of records that fail in such a call.
	PartialOf float64
	// Refuse names records that are always throttled, by partition key. Nil: none.
	Refuse func(partitionKey string) bool
}

// Proxy stands in front of a Kinesis API and injects faults.
type Proxy struct {
	// URL is its endpoint.
	URL string

	target string
	server *http.Server
	client *http.Client
	closed chan struct{} // ends hung responses
	served chan struct{}

	mu     sync.Mutex // guards the following
	faults Faults
	random *rand.Rand
	counts map[string]int
}

// maxBody bounds a call and a response that the proxy holds.
const maxBody = 32 << 20

// NewProxy begins to listen on loopback. The seed fixes the order of the
// faults, as far as that of the calls is fixed.
func NewProxy(ctx context.Context, target string, seed uint64) (*Proxy, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "listen for the fault proxy: %w", err)
	}
	p := &Proxy{
		URL:    "http://" + l.Addr().String(),
		target: target,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 30 * time.Second},
		closed: make(chan struct{}),
		served: make(chan struct{}),
		random: rand.New(rand.NewPCG(seed, 0x6b696e65736973)),
		counts: map[string]int{},
	}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(p.served)
		_ = p.server.Serve(l)
	}()
	return p, nil
}

// Set changes what goes wrong from the next call on.
func (p *Proxy) Set(f Faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = f
}

// Counts says how often each fault was injected, by name, with "records" for
// those that failed in a 200 and "calls" for all write calls.
func (p *Proxy) Counts() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}

// Close ends all connections, hung ones too, and waits for them.
func (p *Proxy) Close() error {
	if !p.close() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	err := p.server.Shutdown(ctx)
	if err != nil {
		err = p.server.Close()
	}
	<-p.served
	p.client.CloseIdleConnections()
	return err
}

// close ends hung responses; false: they have been ended before.
func (p *Proxy) close() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.closed:
		return false
	default:
		close(p.closed)
		return true
	}
}

// ServeHTTP passes a call on, with the fault that falls to it.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if !strings.HasPrefix(operation, "PutRecord") {
		p.pass(w, r, body)
		return
	}
	switch fault := p.draw(operation); fault {
	case "throttle":
		refuse(w, http.StatusBadRequest, throughputExceeded)
	case "internal":
		refuse(w, http.StatusInternalServerError, "InternalFailure")
	case "lost":
		_, _ = p.forward(r, body)
		refuse(w, http.StatusInternalServerError, "InternalFailure")
	case "hang", "hang kept":
		if fault == "hang kept" {
			_, _ = p.forward(r, body)
		}
		select {
		case <-r.Context().Done():
		case <-p.closed:
		}
		panic(http.ErrAbortHandler)
	case "cut":
		p.cut(w, r, body)
	case "partial":
		p.partial(w, r, body)
	default:
		p.pass(w, r, body)
	}
}

// draw says what happens to a call; "": nothing.
func (p *Proxy) draw(operation string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts["calls"]++
	f, at := p.faults, p.random.Float64()
	name := ""
	for _, c := range []struct {
		name  string
		share float64
	}{
		{"throttle", f.Throttle},
		{"internal", f.Internal},
		{"lost", f.Lost},
		{"hang", f.Hang},
		{"hang kept", f.HangKept},
		{"cut", f.Cut},
		{"partial", f.Partial},
	} {
		if at -= c.share; at < 0 {
			name = c.name
			break
		}
	}
	if operation != "PutRecords" && name == "partial" {
		name = ""
	}
	if operation == "PutRecords" && name == "" && f.Refuse != nil {
		name = "partial"
	}
	if name != "" && name != "partial" {
		p.counts[name]++
	}
	return name
}

const throughputExceeded = "ProvisionedThroughputExceededException"

func refuse(w http.ResponseWriter, status int, kind string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	w.Header().Set("X-Amzn-ErrorType", kind)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"__type": kind, "message": "injected"})
}

// response is what the API said.
type response struct {
	status int
	header http.Header
	body   []byte
}

// forward makes the call and gives the whole response. It takes effect even if
// the caller has gone.
func (p *Proxy) forward(r *http.Request, body []byte) (response, error) {
	out, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), r.Method, p.target+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return response{}, err
	}
	out.Header = r.Header.Clone()
	out.Header.Del("Accept-Encoding")
	resp, err := p.client.Do(out)
	if err != nil {
		return response{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	return response{status: resp.StatusCode, header: resp.Header, body: text}, err
}

func (p *Proxy) pass(w http.ResponseWriter, r *http.Request, body []byte) {
	said, err := p.forward(r, body)
	if err != nil {
		panic(http.ErrAbortHandler) // as if the API itself had hung up
	}
	said.write(w, said.body)
}

func (a response) write(w http.ResponseWriter, body []byte) {
	maps.Copy(w.Header(), a.header)
	w.Header().Del("Content-Length")
	w.WriteHeader(a.status)
	_, _ = w.Write(body)
}

// cut responds with the first half of what the API said, and hangs up.
func (p *Proxy) cut(w http.ResponseWriter, r *http.Request, body []byte) {
	said, err := p.forward(r, body)
	if err == nil {
		said.write(w, said.body[:len(said.body)/2])
		_ = http.NewResponseController(w).Flush()
	}
	panic(http.ErrAbortHandler)
}
