package gateway

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"

	"whittle"
	"whittle/internal/fatal"
)

// saying answers with a body in a content coding; "" is none, "lies" one that
// the body is not in.
func saying(t *testing.T, body, coding string) http.Handler {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "br":
		w = brotli.NewWriter(&out)
	}
	if w == nil {
		out.WriteString(body)
	} else {
		_, _ = io.WriteString(w, body)
		_ = w.Close()
	}
	name := strings.Replace(coding, "lies", "gzip", 1)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if name != "" {
			w.Header().Set("Content-Encoding", name)
		}
		_, _ = w.Write(out.Bytes())
	})
}

// What is compared is what two sides say, however each of them packs it; what
// the user gets is as the monolith packed it.
func TestResponsesAreComparedWithoutTheirCoding(t *testing.T) {
	const body = `{"id": 7, "name": "the same"}`
	const all = "gzip, br, compress"
	for name, tt := range map[string]struct {
		monolith, candidate string
		accept              string
		skip                string
		failure             whittle.Failure
		unasked             string // the coding that the exchange still names
	}{
		"one compresses":         {"gzip", "", all, "", "", ""},
		"each in its way":        {"br", "gzip", all, "", "", ""},
		"whatever there is":      {"br", "gzip", "*", "", "", ""},
		"the candidate lies":     {"gzip", "lies", all, "", whittle.FailedMalform, ""},
		"an unknown one":         {"compress", "", all, whittle.SkipEncoded, "", ""},
		"the monolith lies":      {"lies", "", all, whittle.SkipEncoded, "", ""},
		"the candidate's is odd": {"", "compress", all, whittle.SkipEncoded, "", ""},
		"unasked":                {"", "gzip", "identity", "", "", "gzip"},
		"another was asked for":  {"", "gzip", "br;q=1.0", "", "", "gzip"},
		"refused":                {"", "gzip", "gzip;q=0, *", "", "", "gzip"},
		"odd and unasked":        {"", "compress", "gzip", "", "", "compress"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := everything()
			spec.Safe = true
			s := open(t, spec, saying(t, body, tt.monolith), saying(t, body, tt.candidate))
			s.apply(0, whittle.PhaseShadow)
			resp, got := askBy(t, http.DefaultTransport, http.MethodGet, s.url+"/work", "", "Accept-Encoding", tt.accept)
			if want := strings.Replace(tt.monolith, "lies", "gzip", 1); resp.Header.Get("Content-Encoding") != want {
				t.Errorf("the user got %q, not %q", resp.Header.Get("Content-Encoding"), want)
			}
			if tt.monolith == "gzip" {
				z, err := gzip.NewReader(strings.NewReader(got))
				if err != nil {
					t.Fatalf("the user's body: %v", err)
				}
				if b, err := io.ReadAll(z); err != nil || string(b) != body {
					t.Errorf("the user got %q (%v)", b, err)
				}
			}
			l := s.rests()
			if tt.skip != "" {
				fatal.Same(t, l.Skipped[tt.skip], 1, "the ledger is %+v", l)
				return
			}
			x := s.seen()
			if len(x) != 1 {
				t.Fatalf("%d exchanges; %+v", len(x), l)
			}
			if m := &x[0].Monolith; string(m.Body) != body || m.Header.Get("Content-Encoding") != "" {
				t.Errorf("the monolith's response is %q with %v", m.Body, m.Header)
			}
			if c := &x[0].Candidate; c.Failure != tt.failure || tt.failure == "" && string(c.Body) != body || tt.failure == "" && c.Header.Get("Content-Encoding") != tt.unasked {
				t.Errorf("the candidate's response is %q with %v, failure %q (%s)", c.Body, c.Header, c.Failure, c.Detail)
			}
		})
	}
}
