package load

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/internal/rawtest"
	"whittle/load/report"
	"whittle/load/wire"
)

// readRequest takes one request without a body off a connection.
func readRequest(b *bufio.Reader) error {
	for {
		line, err := b.ReadString('\n')
		if err != nil || line == "\r\n" {
			return err
		}
	}
}

func say(text string) func(net.Conn, int) {
	return func(c net.Conn, _ int) {
		if readRequest(bufio.NewReader(c)) == nil {
			io.WriteString(c, text)
		}
	}
}

// TestASampleSaysWhatFailed: an error's sample names the capture or the condition that a
// response did not meet.
func TestASampleSaysWhatFailed(t *testing.T) {
	url := rawtest.Serve(t, say("HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{\"token\":\"t\"}"))
	for step, want := range map[string]map[string]string{
		"capture: {json: $.id, as: id}":                              {report.ErrorCapture: "a capture of line 3: json $.id (status 200)"},
		"match: {json: $.token, value: u}":                           {report.ErrorExpectation: "a match of line 3: json $.token (status 200)"},
		"expect: [{statusCode: 200}, {hasProperty: id}]":             {report.ErrorExpectation: "expect hasProperty of line 3 (status 200)"},
		"expect: {statusCode: 201}, capture: {json: $.token, as: x}": {report.ErrorExpectation: "expect statusCode of line 3 (status 200)"},
	} {
		p := parsed(t, "\nconfig: {phases: [{duration: 0.1, arrivalCount: 2}]}\nscenarios: [{flow: [{get: {url: /, "+step+"}}]}]")
		if r := run(t, p, Options{Target: url}); !maps.Equal(r.ErrorSamples, want) {
			t.Errorf("%s: %v, want %v", step, r.ErrorSamples, want)
		}
	}
	assertion := `<ResponseAssertion testname="has an id"><collectionProp name="Asserion.test_strings"><stringProp name="1">id</stringProp></collectionProp>` +
		prop("Assertion.test_field", "Assertion.response_data") + prop("Assertion.test_type", "2") + `</ResponseAssertion><hashTree/>`
	r := runJMX(t, jmx(threads(1, 1, get("/", assertion))), nil, Options{Target: url})
	fatal.Same(t, r.ErrorSamples[report.ErrorExpectation], `ResponseAssertion "has an id" (status 200)`, "%v", r.ErrorSamples)
}

// A server may close a kept-alive connection just as the next request is on
// its way. That is nobody's error where the request may be repeated.
func TestAConnectionClosedBetweenRequestsIsReplaced(t *testing.T) {
	url := rawtest.Serve(t, say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
	p := parsed(t, `
config: {phases: [{duration: 0.2, arrivalCount: 20}], http: {pool: 1}}
scenarios: [{flow: [{get: {url: /}}]}]`)
	r := run(t, p, Options{Target: url})
	if r.Completed != 20 || r.Failed != 0 || r.Latency.Connect.Count != 20 {
		t.Errorf("%d completed, %v, %d connections", r.Completed, r.Errors, r.Latency.Connect.Count)
	}
}

func TestArrivalsAboveTheBoundAreSkippedAndCounted(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	srv := serving(t, func(_ http.ResponseWriter, r *http.Request) { <-release })
	p := parsed(t, `
config: {phases: [{duration: 0.5, arrivalCount: 50, maxVusers: 3}], http: {timeout: 60}}
scenarios: [{flow: [{get: {url: /}}]}]`)
	released := false
	r := run(t, p, Options{Target: srv, OnProgress: func(p report.Progress) {
		if released || p.InFlight+p.Skipped < 50 { // not all have come yet
			return
		}
		if p.InFlight != 3 || p.Skipped != 47 {
			t.Errorf("in flight %d, skipped %d, want 3 and 47", p.InFlight, p.Skipped)
		}
		released = true
		close(release)
	}})
	if r.Users != (report.Users{Planned: 50, Started: 3, Skipped: 47, Finished: 3}) || r.Completed != 3 {
		t.Errorf("users %+v, %d completed", r.Users, r.Completed)
	}
}

// A server that keeps idle connections for less than its users think does not
// make their next request fail, though a POST may not be repeated.
func TestAConnectionThatAUserThoughtTooLongIsReplaced(t *testing.T) {
	t.Parallel()
	for _, pool := range []int{0, 1} {
		for _, secure := range []bool{false, true} { // on an event loop, and on a goroutine
			t.Run(fmt.Sprintf("pool %d, TLS %v", pool, secure), func(t *testing.T) {
				t.Parallel()
				srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
				defer srv.Close()
				srv.Config.IdleTimeout = 10 * time.Millisecond
				closed := make(chan struct{}, 2)
				srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
					if s == http.StateClosed {
						closed <- struct{}{}
					}
				}
				if secure {
					srv.StartTLS()
				} else {
					srv.Start()
				}
				p := parsed(t, "config: {tls: {rejectUnauthorized: false}, phases: [{duration: 0.01, arrivalCount: 1}]}\nscenarios: [{flow: [{post: {url: /}}, {think: 600ms}, {log: closed}, {post: {url: /}}]}]")
				r := run(t, p, Options{Target: srv.URL, Pool: pool, OnLog: func(int64, string) { <-closed }})
				if r.Completed != 2 || r.Failed != 0 || r.Latency.Connect.Count != 2 {
					t.Errorf("%d completed, errors %v, %d connections", r.Completed, r.Errors, r.Latency.Connect.Count)
				}
			})
		}
	}
}

// One error of each kind is reported with its text, made safe for a terminal.
func TestErrorsAreReportedWithASample(t *testing.T) {
	failing := serving(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	strange := rawtest.Serve(t, say("\x1b[2Jnot HTTP\r\n\r\n"))
	for _, c := range []struct{ target, kind, want string }{
		{"http://127.0.0.1:1", report.ErrorRefused, "connection refused"},
		{"http://nobody.invalid", report.ErrorDNS, "nobody.invalid"},
		{failing, report.ErrorServer, "status 503"},
		{strange, report.ErrorMalformed, "not"},
	} {
		r := run(t, once(parsed(t, small)), Options{Target: c.target})
		got := r.ErrorSamples[c.kind]
		if r.Errors[c.kind] != 1 || !strings.Contains(got, c.want) || strings.ContainsAny(got, "\x1b\r\n") || len(got) > 3*maxSample {
			t.Errorf("%s: %v, %q", c.target, r.Errors, got)
		}
		var b strings.Builder
		if err := r.WriteSummary(&b); err != nil || !strings.Contains(b.String(), c.kind+", such as: "+got) {
			t.Errorf("%v\n%s", err, b.String())
		}
	}
}

// A name and a password in a URL are sent as basic authentication, to its server alone and
// unless the request has its own, and are in no report.
func TestALoginInAURL(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	var other string
	start := func(name string) string {
		url, _ := startHTTP2(t, false, func(w http.ResponseWriter, r *http.Request) {
			user, password, _ := r.BasicAuth()
			mu.Lock()
			seen = append(seen, strings.TrimSpace(name+r.URL.Path+" "+user+":"+password))
			mu.Unlock()
			switch r.URL.Path {
			case "/away":
				http.Redirect(w, r, other+"/there", http.StatusFound)
			case "/on":
				http.Redirect(w, r, "/there", http.StatusFound)
			}
		})
		return url
	}
	srv := start("srv")
	other = start("other")
	with := func(u string) string { return strings.Replace(u, "://", "://me:p%40ss@", 1) }
	const login = " me:p@ss"
	for _, c := range []struct{ target, flow, want string }{
		{with(srv), "{get: {url: /a}}", "srv/a" + login},
		{with(srv) + "/base", "{post: {url: /a, json: {}}}", "srv/base/a" + login},
		{with(srv), "{get: {url: /a, headers: {Authorization: 'Basic " + base64.StdEncoding.EncodeToString([]byte("x:y")) + "'}}}", "srv/a x:y"},
		{with(srv), "{get: {url: /a, auth: {user: u, pass: v}}}", "srv/a u:v"},
		{with(srv), "{get: {url: '" + other + "/b'}}, {get: {url: /a}}", "other/b :; srv/a" + login},
		{srv, "{get: {url: '" + with(other) + "/b'}}, {get: {url: /a}}", "other/b" + login + "; srv/a :"},
		{srv, "{get: {url: '" + with(other) + "/b/{{ x }}'}}, {get: {url: '" + other + "/c'}}", "other/b/1" + login + "; other/c :"},
		{with(srv), "{get: {url: /on}}", "srv/on" + login + "; srv/there" + login},
		{with(srv), "{get: {url: /away}}", "other/there :; srv/away" + login},
		{with(srv), "{get: {url: '{{ target }}/a'}}", "srv/a" + login},
	} {
		for _, protocol := range []string{wire.HTTP1, wire.HTTP2} {
			seen = nil
			p := parsed(t, "config: {phases: [{duration: 0.01, arrivalCount: 1}], variables: {x: [1]}, target: '"+c.target+"'}\nscenarios: [{flow: ["+c.flow+"]}]")
			r := run(t, p, Options{Protocol: protocol})
			slices.Sort(seen)
			if got := strings.Join(seen, "; "); got != c.want || r.Failed != 0 {
				t.Errorf("%s %s over %s: %q, want %q; %v", c.target, c.flow, protocol, got, c.want, r.ErrorSamples)
			}
			var text, page bytes.Buffer
			b, err := json.Marshal(r)
			if err != nil || r.WriteSummary(&text) != nil || r.WriteHTML(&page) != nil {
				t.Fatal(err)
			}
			for _, out := range []string{string(b), text.String(), page.String()} {
				if strings.Contains(out, "p%40ss") || strings.Contains(out, "p@ss") {
					t.Errorf("%s %s: the password is in\n%.2000s", c.target, c.flow, out)
				}
			}
		}
	}
	// By flags, templates in the path stay what they are.
	seen = nil
	p, err := Workload{Plan: with(srv) + "/{{ $randomNumber(7, 7) }}"}.Read()
	fatal.If(t, err)
	if run(t, p, Options{}); len(seen) != 1 || seen[0] != "srv/7"+login || strings.Contains(p.Name, "@") {
		t.Errorf("%q of %s", seen, p.Name)
	}
}
