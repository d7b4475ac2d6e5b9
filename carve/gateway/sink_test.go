package gateway

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"whittle"
	"whittle/carve/gateway/extproc"
	"whittle/carve/gateway/listener"
)

// host keeps by method the Host and the header that a side got last.
type host struct {
	mu   sync.Mutex // guards seen
	seen map[string]http.Header
}

func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen == nil {
		h.seen = map[string]http.Header{}
	}
	h.seen[r.Method] = r.Header.Clone()
	h.seen[r.Method].Set("Host", r.Host)
	_, _ = io.WriteString(w, "fine")
}

// A mirror gets 204 whatever becomes of its request: while both sides hang, with a body above
// the bound, with a write. What may be asked is asked of both sides, in either order, without
// the mirror's marks.
func TestSinkAsksBothSides(t *testing.T) {
	open204 := func(spec whittle.Route, monolith, candidate http.Handler) *fixture {
		s := open(t, spec, monolith, candidate)
		s.listens(listener.Listener{Sink: true})
		return s
	}
	t.Run("marks, orders and the contract", func(t *testing.T) {
		var monolith, candidate host
		s := open204(everything(), &monolith, &candidate)
		for range 40 {
			r := s.sends(http.MethodGet, "", "X-Envoy-Expected-Rq-Timeout-Ms", "15000", "X-User", "ann", "Keep-Alive", "timeout=5")
			r.Host = "shop.example-shadow:8080"
			s.gets(r)
		}
		s.gets(s.sends(http.MethodPost, "a write"))
		s.gets(s.sends(http.MethodGet, strings.Repeat("x", 100<<10)))
		r := s.sends(http.MethodGet, "")
		r.URL.RawQuery = "code=1&state=2"
		s.gets(r)
		l := s.rests()
		if l.Total != 43 || l.Compared != 40 || l.Skipped[whittle.SkipNotSafe] != 2 || l.Skipped[whittle.SkipTooLarge] != 1 {
			t.Errorf("%+v", l)
		}
		for side, h := range map[string]*host{"monolith": &monolith, "candidate": &candidate} {
			got := h.seen[http.MethodGet]
			if got.Get("Host") != "shop.example:8080" || got.Get("X-Envoy-Expected-Rq-Timeout-Ms") != "" || got.Get("Keep-Alive") != "" || got.Get("X-User") != "ann" || len(h.seen) != 1 {
				t.Errorf("the %s got %v", side, h.seen)
			}
		}
		first := map[whittle.Side]int{}
		for _, x := range s.seen() {
			if !x.Unserved || x.Monolith.Status != 200 || x.Candidate.Status != 200 || x.FirstChance != 0.5 {
				t.Fatalf("%+v", x)
			}
			first[x.First()]++
		}
		if len(first) != 2 || len(s.reported()) != 0 {
			t.Errorf("asked first: %v; users' outcomes: %v", first, s.reported())
		}
	})
	t.Run("what is larger than the bound is compared on neither side", func(t *testing.T) {
		large := says(200, strings.Repeat("x", 65<<10))
		s := open204(everything(), large, large)
		for range 10 {
			s.gets(s.sends(http.MethodGet, ""))
		}
		s.rests()
		for _, x := range s.seen() {
			if x.Monolith.Failure != whittle.FailedTooLarge || x.Candidate.Failure != whittle.FailedTooLarge {
				t.Errorf("%v, %v", x.Monolith.Failure, x.Candidate.Failure)
			}
		}
	})
	t.Run("at once, also where a queue that is full sheds", func(t *testing.T) {
		release := make(chan struct{})
		hangs := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release })
		spec := everything()
		spec.Mirror.Queue, spec.Mirror.Concurrency = 3, 2
		s := open204(spec, hangs, hangs)
		for range 10 {
			if status, _ := s.gets(s.sends(http.MethodGet, "")); status != http.StatusNoContent {
				t.Fatalf("status %d", status)
			}
		}
		waits(t, time.Minute, func() bool { return s.g.Ledger(s.route).Shed == 5 })
		close(release)
		if l := s.rests(); l.Total != 10 || l.Compared != 5 || l.Shed != 5 {
			t.Errorf("%+v", l)
		}
	})
	t.Run("no route", func(t *testing.T) {
		var monolith host
		s := open204(everything(), &monolith, says(200, "fine"))
		r := s.sends(http.MethodPost, "a body that nobody wants")
		r.URL.Path = "/other"
		if status, _ := s.gets(r); status != http.StatusNoContent || len(monolith.seen) != 0 {
			t.Errorf("status %d, the monolith got %v", status, monolith.seen)
		}
	})
}

// told is one message of Envoy's filter, as gRPC frames it: fields are a header's, body else.
func told(kind extproc.Kind, end bool, cluster, body string, fields ...string) []byte {
	bytesOf := func(b []byte, n protowire.Number, v []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), v)
	}
	yes := func(b []byte, n protowire.Number) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), 1)
	}
	var list []byte
	for i := 0; i+1 < len(fields); i += 2 {
		list = bytesOf(list, 1, bytesOf(bytesOf(nil, 1, []byte(fields[i])), 3, []byte(fields[i+1])))
	}
	part, last := bytesOf(nil, 1, list), protowire.Number(3)
	if kind == extproc.RequestBody || kind == extproc.ResponseBody {
		part, last = bytesOf(nil, 1, []byte(body)), 2
	}
	if end {
		part = yes(part, last)
	}
	m := yes(bytesOf(nil, protowire.Number(kind), part), 10)
	if cluster != "" {
		field := bytesOf(bytesOf(nil, 1, []byte("xds.cluster_name")), 2, bytesOf(nil, 3, []byte(cluster)))
		m = bytesOf(m, 9, bytesOf(bytesOf(nil, 1, []byte("envoy.filters.http.ext_proc")), 2, bytesOf(nil, 1, field)))
	}
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(m))), m...)
}

// observes serves the fixture's gateway to an ext_proc filter, and gives a way to send it a stream.
func (s *fixture) observes() (stream func(messages ...[]byte)) {
	s.listens(listener.Listener{Candidates: []string{"new"}})
	h2c := speaking(s.t, true)
	return func(messages ...[]byte) {
		s.t.Helper()
		resp, b := askBy(s.t, h2c, http.MethodPost, s.url+extproc.Procedure, string(bytes.Join(messages, nil)), "Content-Type", "application/grpc")
		if b != "" || resp.Header.Get("Grpc-Status")+resp.Trailer.Get("Grpc-Status") != "0" {
			s.t.Errorf("%q, %v, %v", b, resp.Header, resp.Trailer)
		}
	}
}

// What goes by at Envoy is an exchange: the side that served is known by its cluster, and only
// the other one is asked. What is lost on the way is unknown, and the ledger adds up.
func TestObserverAsksTheOtherSide(t *testing.T) {
	monolith, candidate := &counted{Handler: says(200, "fine")}, &counted{Handler: says(200, "fine")}
	s := open(t, everything(), monolith, candidate)
	stream := s.observes()
	s.apply(5000, whittle.PhaseShift)
	request := func(end bool, method, path string) []byte {
		return told(extproc.RequestHeaders, end, "", "", ":method", method, ":path", path, ":authority", "shop.example", "x-user", "ann")
	}
	head := func(end bool, cluster, status string) []byte {
		return told(extproc.ResponseHeaders, end, cluster, "", ":status", status, "content-type", "text/plain; charset=utf-8")
	}
	body := func(text string) []byte { return told(extproc.ResponseBody, true, "", text) }

	stream(request(true, "GET", "/work?a=1"), head(false, "old", "200"), told(extproc.ResponseBody, false, "", "fi"), body("ne"))
	stream(request(true, "GET", "/work?a=2"), head(false, "new", "200"), body("fine"))
	stream(request(false, "GET", "/work"), told(extproc.RequestBody, true, "", "asked"), head(false, "old", "200"), body("fine"))
	stream(request(false, "POST", "/work"), told(extproc.RequestBody, true, "", "write"), head(false, "new", "200"), body("fine"))
	stream(request(true, "GET", "/work"), head(true, "new", "503"))
	stream(request(true, "GET", "/other"), head(false, "old", "200"), body("fine"))
	stream(request(true, "GET", "/work"), head(false, "old", "200"), told(extproc.ResponseBody, false, "", "half"))
	stream(request(true, "GET", "/work"))
	stream([]byte("no message at all"))
	stream()
	l := s.rests()
	if l.Total != 7 || l.Total != l.Sum() || l.Compared != 4 || l.Skipped[whittle.SkipUnknown] != 2 || l.Skipped[whittle.SkipNotSafe] != 1 {
		t.Errorf("%+v", l)
	}
	if monolith.count() != 2 || candidate.count() != 2 {
		t.Errorf("the monolith was asked %d times, the candidate %d times", monolith.count(), candidate.count())
	}
	seen := map[string]*whittle.Exchange{}
	for _, x := range s.seen() {
		seen[x.Request.Target+x.Served.String()+string(x.Request.Body)] = x
		if x.Unserved || x.Request.Host != "shop.example" || x.Request.Header.Get("X-User") != "ann" {
			t.Errorf("%+v", x)
		}
	}
	for key, want := range map[string]int{"/work?a=1monolith": 200, "/work?a=2candidate": 200, "/workmonolithasked": 200, "/workcandidate": 503} {
		x := seen[key]
		if x == nil {
			t.Errorf("%s was not seen: %v", key, seen)
			continue
		}
		own, other := &x.Monolith, &x.Candidate
		if x.Served == whittle.Candidate {
			own, other = other, own
		}
		if own.Status != want || other.Status != 200 || want == 200 && (string(own.Body) != "fine" || string(other.Body) != "fine") {
			t.Errorf("%s: %+v", key, x)
		}
	}
	if bad, _ := s.failed(); len(s.reported()) != 5 || bad != 1 {
		t.Errorf("%d outcomes, %d bad ones of the candidate", len(s.reported()), bad)
	}
}

// Bad responses of the candidate in a row trip the breaker, as through the gateway.
func TestObserverTrips(t *testing.T) {
	s := open(t, everything(), says(200, "fine"), says(200, "fine"))
	stream := s.observes()
	s.apply(5000, whittle.PhaseShift)
	for range 5 {
		stream(told(extproc.RequestHeaders, true, "", "", ":method", "GET", ":path", "/work", ":authority", "h"), told(extproc.ResponseHeaders, true, "new", "", ":status", "500"))
	}
	waits(t, time.Minute, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.trips) == 1
	})
	s.rests()
}
