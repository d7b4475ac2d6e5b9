package collect

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"whittle/internal/fatal"
	"whittle/profile"
)

// heard passes the connections at an address on to another, and collects what comes back.
func heard(t *testing.T, to string) (at string, said func() string) {
	t.Helper()
	line, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	var all bytes.Buffer
	over := make(chan struct{})
	go func() {
		defer close(over)
		client, err := line.Accept()
		if err != nil {
			return
		}
		defer client.Close()
		server, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		defer server.Close()
		go func() {
			io.Copy(server, client)
			server.Close()
		}()
		io.Copy(client, io.TeeReader(server, &all))
	}()
	said = func() string {
		line.Close()
		<-over
		return all.String()
	}
	t.Cleanup(func() { line.Close() })
	return line.Addr().String(), said
}

// A process that is asked for its scripts pauses at no debugger statement of its own.
func TestNothingPausesAtADebuggerStatement(t *testing.T) {
	pid := script(t, "console.log(); const again = () => { debugger; setImmediate(again) }; again()")
	s, err := Open(t.Context(), strconv.Itoa(pid))
	fatal.If(t, err)
	defer s.Close(t.Context())
	u, err := url.Parse(s.Address())
	fatal.If(t, err)
	at, said := heard(t, u.Host)
	u.Host = at
	i, err := dialInspector(t.Context(), u.String(), false)
	fatal.If(t, err)
	of := &sources{ctx: t.Context(), i: i, r: newRoutes()}
	of.fetch([]*profile.Function{{Script: "1"}, {Script: "2"}, {Script: "3"}})
	if err := i.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if all := said(); !strings.Contains(all, "Debugger.scriptParsed") || strings.Contains(all, "Debugger.paused") {
		t.Errorf("it was not asked, or paused: %.300s", all)
	}
}

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
