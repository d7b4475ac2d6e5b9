package gateway

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"whittle"
)

// slowClient takes its time over each piece that it sends or takes, and says
// how much that was in all.
type slowClient struct {
	http.ResponseWriter
	body io.Reader
	// sending and taking say for what it is slow.
	sending, taking bool
	took            time.Duration
	// looks is called while something is being written.
	looks func()
}

const clientPause = 20 * time.Millisecond

func (c *slowClient) wait() {
	at := time.Now()
	<-time.After(clientPause)
	c.took += time.Since(at)
}

func (c *slowClient) Read(p []byte) (int, error) {
	if c.sending {
		c.sending = false // the rest comes at once
		c.wait()
	}
	return c.body.Read(p)
}

func (c *slowClient) Close() error { return nil }

func (c *slowClient) Write(p []byte) (int, error) {
	if c.looks != nil {
		c.looks()
	}
	if c.taking && c.took < 5*clientPause { // the rest at once
		c.wait()
	}
	return c.ResponseWriter.Write(p)
}

func (c *slowClient) Flush() {}

// What the client takes to send its request and to take the response is not the
// upstream's. No bound on the machine's speed is needed: whatever the request
// took in all, the client's part of it is in no latency.
func TestLatencyIsTheUpstreamsAlone(t *testing.T) {
	for _, tt := range []struct {
		name            string
		sent, responded int
		chunked         bool
		sending, taking bool
	}{
		{"short upload", 1 << 10, 10, false, true, false},
		{"long upload", 40 << 10, 10, false, true, false},
		{"short response", 0, 1 << 10, false, false, true},
		{"chunked response", 0, 1 << 10, true, false, true},
		{"long response", 0, 300 << 10, false, false, true},
		{"long upload, long response", 40 << 10, 300 << 10, true, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, everything(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if tt.chunked {
					_ = http.NewResponseController(w).Flush()
				}
				_, _ = io.WriteString(w, strings.Repeat("x", tt.responded))
			}), says(200, ""))
			s.apply(0, whittle.PhaseOff)
			rec := httptest.NewRecorder()
			c := &slowClient{ResponseWriter: rec, body: strings.NewReader(strings.Repeat("y", tt.sent)), sending: tt.sending, taking: tt.taking}
			r := httptest.NewRequest(http.MethodPost, "/work", http.NoBody)
			if tt.sent > 0 {
				r.Body, r.ContentLength = c, int64(tt.sent)
			}
			at := time.Now()
			s.g.ServeHTTP(c, r)
			all := time.Since(at)
			if rec.Code != 200 || rec.Body.Len() != tt.responded || c.took < clientPause {
				t.Fatalf("the client got %d and %d bytes, and waited %v", rec.Code, rec.Body.Len(), c.took)
			}
			if o := s.reported()[0]; o.Latency <= 0 || o.Latency > all-c.took {
				t.Errorf("latency %v of a request that took %v, its client %v of that", o.Latency, all, c.took)
			}
		})
	}
}
