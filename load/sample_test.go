package load

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"whittle/internal/fatal"
	"whittle/load/report"
)

// One error of each kind is reported with its text, made safe for a terminal.
func TestErrorsAreReportedWithASample(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	refusing := "http://" + l.Addr().String()
	l.Close()
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }))
	defer failing.Close()
	strange := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
			_, _ = c.Write([]byte("\x1b[2Jnot HTTP\r\n\r\n"))
			_ = c.Close()
		}
	}))
	defer strange.Close()
	for _, c := range []struct{ target, kind, want string }{
		{refusing, report.ErrorRefused, "connection refused"},
		{"http://nobody.invalid", report.ErrorDNS, "nobody.invalid"},
		{failing.URL, report.ErrorServer, "status 503"},
		{strange.URL, report.ErrorMalformed, "not"},
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
