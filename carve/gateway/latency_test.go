package gateway

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
)

// slowClient takes its time over each piece that it sends or takes, and says
// how much that was in all.
type slowClient struct {
	http.ResponseWriter
	body io.Reader
	// sending and taking say for what it is slow.
	sending, taking bool
	took            time.Duration
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

// short is how long the upstreams of these tests may be silent.
const short = 200 * time.Millisecond

func impatient(url string) whittle.Upstream {
	return whittle.Upstream{
		URL: url, Timeout: time.Minute, MaxConns: 1, Insecure: true,
		ReadTimeout: short, WriteTimeout: short, StreamTimeout: time.Hour,
	}
}

// hanging is a server of HTTP/1.1 and h2c, and one by TLS, whose handlers end
// with the test.
func hanging(t *testing.T, secure bool, h func(w http.ResponseWriter, r *http.Request, end <-chan struct{})) *httptest.Server {
	end := make(chan struct{})
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h(w, r, end) }))
	srv.Config.ErrorLog = unmirroredLog
	srv.Config.Protocols = new(http.Protocols)
	srv.Config.Protocols.SetHTTP1(true)
	srv.Config.Protocols.SetUnencryptedHTTP2(true)
	if secure {
		srv.StartTLS()
	} else {
		srv.Start()
	}
	t.Cleanup(srv.Close)
	t.Cleanup(func() { close(end) })
	return srv
}

// TestAnUploadThatNobodyTakesIsGivenUp: an upstream that reads no more of a long
// body is a 504, and keeps no connection.
func TestAnUploadThatNobodyTakesIsGivenUp(t *testing.T) {
	upload := strings.Repeat("x", 20<<20)
	upstream := hanging(t, false, func(_ http.ResponseWriter, r *http.Request, end <-chan struct{}) {
		if r.Method == http.MethodPost {
			<-end
		}
	}).URL
	for _, how := range []string{"http", "h2c"} {
		t.Run(how, func(t *testing.T) {
			_, url := running(t, Options{Monolith: impatient(strings.Replace(upstream, "http:", how+":", 1))})
			if status, _ := ask(t, http.MethodPost, url+"/", upload); status != http.StatusGatewayTimeout {
				t.Errorf("status %d, want 504", status)
			}
			if status, _ := ask(t, http.MethodGet, url+"/", ""); status != http.StatusOK {
				t.Errorf("afterwards: %d", status)
			}
		})
	}
}

// TestWhatIsQuietByNatureIsNotGivenUp: an event stream may be silent for longer,
// and so may a client that is slow with its upload.
func TestStreamsThatMayBeSilentAreNotGivenUp(t *testing.T) {
	for _, how := range []string{"http", "https", "h2c"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel() // they wait
			next := make(chan struct{})
			srv := hanging(t, how == "https", func(w http.ResponseWriter, r *http.Request, end <-chan struct{}) {
				_ = http.NewResponseController(w).EnableFullDuplex()
				if r.Method == http.MethodPost { // an early response
					_ = http.NewResponseController(w).Flush()
					n, err := io.Copy(io.Discard, r.Body)
					_, _ = io.WriteString(w, "done")
					if n != 10<<10 || err != nil {
						t.Errorf("%d bytes came, %v", n, err)
					}
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "data: 1\n\n")
				_ = http.NewResponseController(w).Flush()
				select {
				case <-next:
				case <-end:
				}
				_, _ = io.WriteString(w, "data: 2\n\n")
			})
			_, url := running(t, Options{Monolith: impatient(strings.Replace(srv.URL, "http:", strings.TrimSuffix(how, "s")+":", 1))})
			resp, err := http.Get(url + "/")
			fatal.If(t, err)
			first := make([]byte, len("data: 1\n\n"))
			_, err = io.ReadFull(resp.Body, first)
			fatal.If(t, err)
			<-time.After(4 * short)
			close(next)
			rest, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if string(rest) != "data: 2\n\n" || err != nil {
				t.Errorf("the stream went on with %q, %v", rest, err)
			}
			body, slow := io.Pipe()
			go func() { // it takes longer between its pieces than an upstream may
				for range 2 {
					<-time.After(4 * short)
					_, _ = slow.Write(make([]byte, 5<<10)) // what fails is seen at the other end
				}
				_ = slow.Close()
			}()
			resp, err = http.Post(url+"/", "text/plain", body)
			fatal.If(t, err)
			text, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if string(text) != "done" || err != nil {
				t.Errorf("the slow upload got %d %q, %v", resp.StatusCode, text, err)
			}
		})
	}
}
