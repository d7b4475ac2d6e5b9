package gateway

import (
	"cmp"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
	"whittle/carve/gateway/bodycopy"
	"whittle/carve/gateway/forward"
	"whittle/carve/gateway/upstream"
	"whittle/internal/httpfield"
)

const (
	defaultRecordBody = 1 << 20
	// recordMemory bounds the copies being made for the log, in bytes; they
	// also count against the bound on all copies.
	recordMemory = 32 << 20
	// recordTurn is how long a connection is in the sample or out of it.
	recordTurn = time.Minute
)

// records is the state of recording.
type records struct {
	budget  bodycopy.Budget
	held    atomic.Int64
	maxBody atomic.Int64
	// rest is the share of requests without a route, in basis points.
	rest   atomic.Uint32
	counts recordCounts
}

// recordCounts says what became of the requests in the sample.
type recordCounts struct {
	taken, full, outOfMemory, streaming, canceled atomic.Int64
}

// SetRecording sets the share of the requests without a route that are
// recorded, which is 0 until then, and the bound of each body's copy, in bytes,
// above which it is left out. A bound of 0: 1 MiB.
func (g *Gateway) SetRecording(rest whittle.Share, maxBody int64) {
	g.records.rest.Store(uint32(min(rest, whittle.All)))
	g.records.maxBody.Store(maxBody)
}

// Records says what became of the requests that were to be recorded.
type Records struct {
	// Taken were handed to Record, and it had room.
	Taken int64
	// Shed found no room: for the copy, or with whoever records.
	Shed int64
	// Skipped were event streams, upgrades, or given up by their client.
	Skipped int64
}

// Records counts what was recorded so far.
func (g *Gateway) Records() Records {
	c := &g.records.counts
	return Records{
		Taken: c.taken.Load(), Shed: c.full.Load() + c.outOfMemory.Load(), Skipped: c.streaming.Load() + c.canceled.Load(),
	}
}

var descRecords = prometheus.NewDesc("whittle_record_requests_total",
	"What became of the requests in the recorded sample: taken, full (the recorder's queue), out_of_memory (for the copy), streaming, canceled.",
	[]string{"fate"}, nil)

func (s *records) collect(to upstream.Scrape) {
	for fate, n := range map[string]*atomic.Int64{
		"taken": &s.counts.taken, "full": &s.counts.full, "out_of_memory": &s.counts.outOfMemory,
		"streaming": &s.counts.streaming, "canceled": &s.counts.canceled,
	} {
		to.Counter(descRecords, n.Load(), fate)
	}
}

// recording copies one exchange for the log: the user's request, and the response, whichever
// side gives it.
type recording struct {
	g       *Gateway
	w       http.ResponseWriter // the client's
	entry   *entry
	at      time.Time
	conn    uint64
	r       *http.Request
	length  int64
	target  string
	header  whittle.Header
	request bodycopy.Copy
	ended   atomic.Bool // the request's body was read to its end

	status   int
	head     whittle.Header
	response bodycopy.Copy
}

// newRecording begins a copy where the request is in the sample of that share; nil where it
// is not.
func (g *Gateway) newRecording(w http.ResponseWriter, c *tracked, share whittle.Share) *recording {
	if c.request.Looped || c.preview || c.request.Origin.Sink { // of a mirror: nobody gets a response
		return nil
	}
	r := &c.request
	if !recordedTurn(r.ConnNumber, r.RemoteAddr, c.at).in(share, forRecord) {
		return nil
	}
	if r.Streams {
		g.records.counts.streaming.Add(1)
		return nil
	}
	s := &g.records
	most := cmp.Or(s.maxBody.Load(), defaultRecordBody)
	rec := &recording{
		g: g, w: w, entry: c.entry, at: c.at, conn: r.ConnNumber, r: r.Request, length: r.Length, target: r.RequestURI,
		header:   endToEnd(r.Header, r.Named),
		request:  bodycopy.Copy{Limit: most, Budget: &s.budget},
		response: bodycopy.Copy{Limit: most, Budget: &s.budget},
	}
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &forward.Observed{ReadCloser: r.Body, See: func(p []byte, err error) {
			rec.request.Add(p)
			if errors.Is(err, io.EOF) {
				rec.ended.Store(true)
			}
		}}
	}
	return rec
}

// recordedTurn decides for a connection and a period whether its requests are in the
// sample. So a connection's requests are recorded without gaps and in order, yet a
// proxy with few connections is not always in or always out.
func recordedTurn(conn uint64, peer string, at time.Time) position {
	turn := uint64(at.UnixNano() / int64(recordTurn))
	if conn == 0 {
		return hashOf(fnvOffset^turn*fnvPrime, peer)
	}
	return position(mix(conn*forShare ^ turn*forSample))
}

// endToEnd copies the fields of a header that are not for one connection only:
// those that hop by hop or are named by its Connection field.
func endToEnd(h http.Header, named []string) whittle.Header {
	out := make(whittle.Header, len(h))
	for name, values := range h {
		if len(values) > 0 && !httpfield.HopByHop(name) && (named == nil || !slices.Contains(named, name)) {
			out[name] = values
		}
	}
	return out
}

// observe gives the writer by which the response is seen.
func (c *recording) observe() http.ResponseWriter {
	return &forward.Observer{ResponseWriter: c.w, Head: c.begin, Body: c.response.Add}
}

// begin keeps the head of the final response.
func (c *recording) begin(status int) {
	h := c.w.Header()
	c.status, c.head = status, endToEnd(h, httpfield.ConnectionNames(h))
	if forward.IsStream(h) {
		c.response.Drop() // it may go on for hours
	}
}

// drop releases the copies. It may be called more than once.
func (c *recording) drop() {
	c.request.Drop()
	c.response.Drop()
}

// finish hands the exchange to Record, or counts the reason why it cannot.
func (c *recording) finish(res *forward.Result) {
	counts := &c.g.records.counts
	switch {
	case res.Streamed:
		counts.streaming.Add(1)
		return
	case res.Failure.Neutral():
		counts.canceled.Add(1)
		return
	case res.Failure == whittle.NoFailure && !res.Abort:
		forward.End(c.w) // the rest is not the user's to wait for
	}
	x := &whittle.Exchange{
		Route: c.entry.name, Conn: c.conn, At: c.at, Served: res.Side,
		Request: whittle.Request{Method: c.r.Method, Target: c.target, Host: c.r.Host, Header: c.header},
	}
	a := whittle.Response{Latency: res.Latency, Failure: res.Failure, Detail: res.Detail}
	ok := c.body(&c.request, &x.Request.Body, &x.Request.Truncated, c.readWhole)
	if ok && res.Failure == whittle.NoFailure {
		a.Status, a.Header, a.Trailer = c.status, c.head, c.trailer()
		ok = c.body(&c.response, &a.Body, &a.Truncated, nil)
	}
	defer c.g.records.budget.Give(int64(len(x.Request.Body) + len(a.Body)))
	if !ok {
		counts.outOfMemory.Add(1)
		return
	}
	if x.Served == whittle.Candidate {
		x.Candidate = a
	} else {
		x.Monolith = a
	}
	if c.g.opts.Record(x) {
		counts.taken.Add(1)
	} else {
		counts.full.Add(1)
	}
}

// readWhole reports whether all of the request's body has been read, of so many
// bytes.
func (c *recording) readWhole(size int64) bool {
	return c.length >= 0 && size == c.length || c.length < 0 && c.ended.Load()
}

// body moves a copy into memory of its own; false: there was no memory. A body that was
// too long, or is not whole, is left out and marked as truncated.
func (c *recording) body(from *bodycopy.Copy, into *[]byte, truncated *bool, whole func(size int64) bool) bool {
	state, size := from.Now()
	switch {
	case state == bodycopy.Exhausted:
		return false
	case state == bodycopy.Cut, whole != nil && !whole(size):
		*truncated = true
		return true
	}
	body, ok := from.Flatten()
	if len(body) > 0 {
		*into = body
	}
	return ok
}

// trailer is what followed the response's body, nil for nothing.
func (c *recording) trailer() whittle.Header {
	h := maps.Clone(c.w.Header())
	var out whittle.Header
	for name, values := range trailersOf(h) {
		if out == nil {
			out = whittle.Header{}
		}
		out[strings.TrimPrefix(name, http.TrailerPrefix)] = values
	}
	return out
}
