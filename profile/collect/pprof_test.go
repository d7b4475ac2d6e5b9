package collect

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"whittle/internal/fatal"
	"whittle/profile"
)

// pprof's pages may be another runtime's, as of Rust's pprof-rs: they are refused, since
// their functions are not Go's.
func TestPprofOfAnotherRuntime(t *testing.T) {
	own := &pprof.Function{ID: 1, Name: "shop::price", Filename: "/srv/shop/src/main.rs"}
	library := &pprof.Function{ID: 2, Name: "<hyper::Conn as core::future::Future>::poll", Filename: "/root/.cargo/registry/src/hyper-1/src/conn.rs"}
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}, Function: []*pprof.Function{own, library},
		Location: []*pprof.Location{{ID: 1, Line: []pprof.Line{{Function: own, Line: 7}}}, {ID: 2, Line: []pprof.Line{{Function: library}}}}, DurationNanos: 1e9,
	}
	p.Sample = []*pprof.Sample{{Location: p.Location, Value: []int64{100, 1e9}}}
	var raw bytes.Buffer
	fatal.If(t, p.Write(&raw))
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/cmdline", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "/usr/bin/shop") })
	mux.HandleFunc("/debug/pprof/profile", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(raw.Bytes()) })
	s := httptest.NewServer(mux)
	defer s.Close()
	defer client.CloseIdleConnections()
	source, err := Open(t.Context(), s.URL)
	fatal.If(t, err)
	if _, err := source.Take(t.Context(), profile.CPU, time.Second); err == nil || !strings.Contains(err.Error(), "not a Go program's") {
		t.Errorf("%v", err)
	}
}
