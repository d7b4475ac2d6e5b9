// Package front is the HTTP side of the ingestion service, an http.Handler. It
// responds when the outcome of every event is known. It reports success only
// after stream.Append has returned it. Requests that can be refused by their
// header are refused before the body is read.
package front

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"whittle"
	"whittle/systems/ingest/dedup"
	"whittle/systems/ingest/event"
	"whittle/systems/ingest/stream"
)

// Limits bound what a client may send and what all of them may hold. A zero
// field means its default.
type Limits struct {
	// Event bounds what belongs to an event and to a batch. The body of a single
	// event has the bound of an event.
	Event event.Limits
	// Import is the largest body of POST /import that is kept as it is, in
	// bytes. Default 500 KiB. The stream's own bound holds too.
	Import int
	// InFlight bounds the bytes of all bodies in memory, being read or being worked on.
	// JSON counts twice. Default 12 MiB.
	InFlight int64
	// Wait is how long a request may wait for its part of InFlight before it is
	// refused. Default 2 s.
	Wait time.Duration
	// Append is how long the stream may take before the outcome is reported as
	// unknown. Default 30 s.
	Append time.Duration
	// Header, Body and Idle bound the time for a request's header, for its body, and
	// between two requests. Default 10 s, 30 s, 2 min.
	Header, Body, Idle time.Duration
	// Conns is how many connections are open at once; more wait to be
	// accepted. Default 4096.
	Conns int
}

func (l Limits) orDefault() Limits {
	l.Event.Event = cmp.Or(max(l.Event.Event, 0), 32<<10)
	l.Event.Batch = cmp.Or(max(l.Event.Batch, 0), 500<<10)
	l.Import = cmp.Or(max(l.Import, 0), 500<<10)
	l.InFlight = cmp.Or(max(l.InFlight, 0), 12<<20)
	l.Wait = cmp.Or(max(l.Wait, 0), 2*time.Second)
	l.Append = cmp.Or(max(l.Append, 0), 30*time.Second)
	l.Header = cmp.Or(max(l.Header, 0), 10*time.Second)
	l.Body = cmp.Or(max(l.Body, 0), 30*time.Second)
	l.Idle = cmp.Or(max(l.Idle, 0), 2*time.Minute)
	l.Conns = cmp.Or(max(l.Conns, 0), 4096)
	l.Event.Merged = cmp.Or(max(l.Event.Merged, 0), 4*l.Event.Batch)
	// What could not come in with the whole room to itself never could.
	l.InFlight = max(l.InFlight, l.largest(), int64(l.Event.Merged+2*slack))
	return l
}

// largest is the cost of the largest body.
func (l *Limits) largest() int64 {
	return int64(2*(max(l.Event.Event, l.Event.Batch, l.Import)+slack+1) + requestOverhead)
}

// Options are what a Front is made of.
type Options struct {
	// Stream keeps the events. It must not be nil.
	Stream stream.Stream
	// Seen knows the events that the stream holds. Nil: duplicates are kept.
	Seen *dedup.Window
	// Dead keeps what was rejected, as dead letters (package deadletter). Nil:
	// nothing of it is kept.
	Dead stream.Stream
	// Keys holds the write keys. Nil: every key is accepted, and none is
	// needed.
	Keys *Keys
	// Limits bound what comes in.
	Limits Limits
	// Origins are the web origins whose pages may read the responses, such as
	// "https://example.com"; "*" is any. Empty: any.
	Origins []string
	// Proxies are the trusted proxies, whose X-Forwarded-For is used. Empty:
	// none.
	Proxies []netip.Prefix
	// Metrics is where the front's are registered. Nil: nowhere.
	Metrics prometheus.Registerer
	// Log gets what an operator has to know. Nil: nowhere.
	Log *slog.Logger
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
}

// Front is the handler. All methods may be called from many goroutines at once.
type Front struct {
	o       Options
	limits  Limits
	cors    cors
	metrics *metrics
	sources sources
	memory  *semaphore.Weighted // bounds the bytes of bodies
	// cores holds an element for each large body that is being parsed.
	cores chan struct{}
	// appendBytes is the bytes on their way to the stream, which it does not know of
	// yet; activeRequests is the requests.
	appendBytes, activeRequests atomic.Int64
	outage                      outage
	failureLog                  throttle     // of dead letters
	noIDs                       atomic.Int64 // duplicates whose id is none
	noIDLog                     throttle
	deadlines                   deadlines
}

// New returns a Front.
func New(o Options) (*Front, error) {
	if o.Stream == nil {
		return nil, whittle.Errorf(whittle.Internal, "make front: no stream")
	}
	c, err := newCORS(o.Origins)
	if err != nil {
		return nil, err
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	f := &Front{o: o, limits: o.Limits.orDefault(), cors: c}
	f.cores = make(chan struct{}, runtime.GOMAXPROCS(0))
	f.deadlines.limit = f.limits.Append
	f.memory = semaphore.NewWeighted(f.limits.InFlight)
	f.metrics = newMetrics(o.Metrics, f)
	f.sources.metrics = f.metrics
	return f, nil
}

// routes are the paths and what each takes.
var routes = func() map[string]event.Kind {
	m := map[string]event.Kind{"/import": event.Import}
	for _, name := range []string{
		"track", "identify", "page", "screen", "group", "alias", "batch", "import",
		"t", "i", "p", "s", "g", "a", "b",
	} {
		kind, ok := event.KindOf(name)
		if !ok {
			panic("no kind of event is called " + name)
		}
		m["/v1/"+name] = kind
	}
	// Where RudderStack's browser SDK sends its beacons.
	m["/beacon/v1/batch"] = event.Bulk
	// The older name of Segment's batch: always a batch, unlike POST /import.
	m["/v1/import"] = event.Bulk
	return m
}()

// settingsKey gives the write key whose settings a path asks for. SDKs that ask for
// settings first (Segment's for Kotlin) find where to send in them.
func settingsKey(path string) (key string, ok bool) {
	key, begins := strings.CutPrefix(strings.TrimPrefix(path, "/v1"), "/projects/")
	key, ends := strings.CutSuffix(key, "/settings")
	return key, begins && ends && plain(key, maxKey) && !strings.Contains(key, "/")
}

// sendSettings names this server as the one that takes the events. Such an SDK that
// gets no settings sends to Segment, whatever host it was given.
func (f *Front) sendSettings(w http.ResponseWriter, r *http.Request, key, id string) {
	h := f.mark(w, r, id)
	h["Content-Type"], h["Cache-Control"] = jsonType, []string{"no-store"}
	type destinations map[string]map[string]string
	_ = json.NewEncoder(w).Encode(map[string]destinations{ // it fails where the client has gone
		"integrations": {"Segment.io": {"apiKey": key, "apiHost": r.Host + "/v1"}},
	})
}

// ServeHTTP implements http.Handler.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := requestID(r.Header)
	kind, known := routes[r.URL.Path]
	if !known { // Segment's Java SDK sends to /v1/import/
		kind, known = routes[strings.TrimSuffix(r.URL.Path, "/")]
	}
	switch {
	case !known:
		if key, ok := settingsKey(r.URL.Path); ok && r.Method == http.MethodGet {
			f.sendSettings(w, r, key, id)
			return
		}
		f.refuse(w, r, kind, id, refusal{status: http.StatusNotFound, reason: "there is no such endpoint: POST /import, or /v1/ with track, identify, page, screen, group, alias or batch"})
	case r.Method == http.MethodOptions:
		f.cors.preflight(f.mark(w, r, id), r.Header)
		w.WriteHeader(http.StatusNoContent)
	case r.Method != http.MethodPost:
		w.Header()["Allow"] = allowed
		f.refuse(w, r, kind, id, refusal{status: http.StatusMethodNotAllowed, reason: "events are sent by POST"})
	default:
		f.serve(w, r, kind, id, nil)
	}
}

// serve takes a request's events. d is the request where it is direct, or nil.
func (f *Front) serve(w http.ResponseWriter, r *http.Request, kind event.Kind, id string, d *direct) {
	f.activeRequests.Add(1)
	defer f.activeRequests.Add(-1)
	c := newCall(call{f: f, kind: kind, id: id, received: f.o.Now(), address: f.clientAddress(r), source: f.stranger(), direct: d})
	defer c.release()
	c.respond(w, r, c.handle(w, r))
	c.finished = true
}

// mark sets the fields that every response has.
func (f *Front) mark(w http.ResponseWriter, r *http.Request, id string) http.Header {
	h := w.Header()
	h["X-Request-Id"] = []string{id}
	h["X-Content-Type-Options"] = nosniff
	f.cors.mark(h, r.Header)
	return h
}

var (
	nosniff = []string{"nosniff"}
	allowed = []string{"POST, OPTIONS"}
)

// Warning says what is odd about what comes in; empty: nothing is.
func (f *Front) Warning() string {
	if n := f.noIDs.Load(); n > 0 {
		return fmt.Sprintf("%d events were called duplicates by a messageId that is none, such as null, undefined or zeros", n)
	}
	return ""
}

// Ready reports whether an event of any size can be stored at the moment: nil,
// or the reason why not.
func (f *Front) Ready() error {
	capacity := f.o.Stream.Capacity()
	largest := max(f.limits.Import, f.limits.Event.Event)
	if capacity.Err == nil && capacity.Free < int64(largest) {
		return whittle.Errorf(whittle.ResourceExhausted, "the stream has room for %d bytes, the largest event is %d", capacity.Free, largest)
	}
	return cmp.Or(capacity.Err, capacity.Failing)
}
