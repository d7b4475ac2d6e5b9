package gateway

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/internal/rawtest"
)

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
	upload := bytes.Repeat([]byte("x"), 20<<20)
	for _, how := range []string{"http", "h2c"} {
		t.Run(how, func(t *testing.T) {
			var url string
			if how == "h2c" {
				url = strings.Replace(hanging(t, false, func(_ http.ResponseWriter, r *http.Request, end <-chan struct{}) {
					if r.Method == http.MethodPost {
						<-end
					}
				}).URL, "http:", "h2c:", 1)
			} else {
				url = rawtest.Serve(t, func(c net.Conn, _ int) {
					r, err := http.ReadRequest(bufio.NewReader(c))
					if err == nil && r.Method == http.MethodPost {
						<-t.Context().Done()
						return
					}
					_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
				})
			}
			ls, urls := facing(t, 1)
			behind(t, ls[0], Options{Monolith: impatient(url)})
			resp, err := http.Post(urls[0]+"/", "text/plain", bytes.NewReader(upload))
			fatal.If(t, err)
			resp.Body.Close()
			if resp.StatusCode != http.StatusGatewayTimeout {
				t.Errorf("status %d, want 504", resp.StatusCode)
			}
			if status, _ := ask(t, http.MethodGet, urls[0]+"/", ""); status != http.StatusOK {
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
			ls, urls := facing(t, 1)
			behind(t, ls[0], Options{Monolith: impatient(strings.Replace(srv.URL, "http:", strings.TrimSuffix(how, "s")+":", 1))})
			resp, err := http.Get(urls[0] + "/")
			fatal.If(t, err)
			first := make([]byte, len("data: 1\n\n"))
			if _, err := io.ReadFull(resp.Body, first); err != nil {
				t.Fatal(err)
			}
			<-time.After(4 * short)
			close(next)
			rest, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if string(rest) != "data: 2\n\n" || err != nil {
				t.Errorf("the stream went on with %q, %v", rest, err)
			}
			body := &slowUpload{pieces: []string{strings.Repeat("x", 5<<10), strings.Repeat("y", 5<<10)}}
			resp, err = http.Post(urls[0]+"/", "text/plain", body)
			fatal.If(t, err)
			text, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if string(text) != "done" || err != nil {
				t.Errorf("the slow upload got %d %q, %v", resp.StatusCode, text, err)
			}
		})
	}
}

// slowUpload takes longer between its pieces than an upstream may.
type slowUpload struct{ pieces []string }

func (s *slowUpload) Read(p []byte) (int, error) {
	if len(s.pieces) == 0 {
		return 0, io.EOF
	}
	<-time.After(4 * short)
	n := copy(p, s.pieces[0])
	if s.pieces[0] = s.pieces[0][n:]; s.pieces[0] == "" {
		s.pieces = s.pieces[1:]
	}
	if n == 0 {
		return 0, errors.New("no room")
	}
	return n, nil
}
