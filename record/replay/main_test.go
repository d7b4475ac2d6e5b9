package replay

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"whittle"
	"whittle/internal/fatal"
	"whittle/record/capture"
	"whittle/record/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// began is when every recording of these tests begins.
var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// made is a log of n entries that are made when they are read.
type made struct {
	n  int
	at func(i int) *capture.Entry
}

func (m made) Name() string     { return "a test's log" }
func (m made) Damage() []string { return nil }
func (m made) Entries(context.Context) iter.Seq2[*capture.Entry, error] {
	return func(yield func(*capture.Entry, error) bool) {
		for i := range m.n {
			if !yield(m.at(i), nil) {
				return
			}
		}
	}
}

// written is a journal's folder with the entries of a log, and what is said about them.
func written(t *testing.T, log Log, about []byte) string {
	t.Helper()
	dir := t.TempDir()
	w, err := journal.Create(dir, journal.Options{MaxAge: -1, About: about})
	fatal.If(t, err)
	for e, err := range log.Entries(t.Context()) {
		fatal.If(t, err)
		fatal.If(t, w.Append(e))
	}
	fatal.If(t, w.Close())
	return dir
}

func kept(list ...*capture.Entry) Log {
	return made{len(list), func(i int) *capture.Entry { return list[i].Clone() }}
}

// get is a GET that the monolith responded with JSON.
func get(i int, target, body string) *capture.Entry {
	return &capture.Entry{
		Conn: 1, At: began.Add(time.Duration(i) * time.Millisecond),
		Request:  whittle.Request{Method: "GET", Target: target, Host: "shop.example", Header: whittle.Header{"Accept-Encoding": {"gzip"}}},
		Response: responseOf(body),
	}
}

func responseOf(body string) whittle.Response {
	return whittle.Response{
		Status: 200, Header: whittle.Header{"Content-Type": {"application/json"}}, Body: []byte(body), Latency: 500 * time.Microsecond,
	}
}

// serve is a candidate that responds with JSON.
func serve(t *testing.T, response func(r *http.Request) string) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := response(r)
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, body)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func run(t *testing.T, log Log, o Options) *Report {
	t.Helper()
	r, err := Run(t.Context(), log, o)
	fatal.If(t, err)
	fatal.Same(t, r.Ledger.Sum(), r.Ledger.Total, "the ledger does not add up: %+v", r.Ledger)
	return r
}
