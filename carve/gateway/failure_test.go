package gateway

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"whittle"
)

// A connection that fails while it is made has told the candidate nothing, and
// whatever was asked may be asked elsewhere. One that turns into noise after the
// request may have done what was asked: then it must not be done twice.
func TestOnlyAFailedHandshakeIsAFailureToConnect(t *testing.T) {
	for _, tt := range []struct {
		name string
		// serves has the connection before the handshake.
		serves func(raw net.Conn, conf *tls.Config)
		want   whittle.Failure
	}{
		{"no TLS spoken", func(raw net.Conn, _ *tls.Config) {
			_, _ = io.WriteString(raw, "220 mail ready\r\n")
			_, _ = io.Copy(io.Discard, raw)
		}, whittle.FailedConnect},
		{"noise after the request", func(raw net.Conn, conf *tls.Config) {
			c := tls.Server(raw, conf)
			r, err := http.ReadRequest(bufio.NewReader(c))
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)                      // else it may fail under way, which is another failure
			_, _ = io.WriteString(raw, "\x17\x09\x09\x00\x05noise") // a record of no version there is
			_, _ = io.Copy(io.Discard, raw)
		}, whittle.FailedMalform},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
			conf := srv.TLS.Clone()
			srv.Close()
			conf.NextProtos = []string{"http/1.1"}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var serving sync.WaitGroup
			serving.Go(func() {
				for {
					raw, err := l.Accept()
					if err != nil {
						return
					}
					serving.Go(func() {
						defer raw.Close()
						tt.serves(raw, conf)
					})
				}
			})
			defer serving.Wait()
			defer l.Close()
			u := upstreamAt("https://" + l.Addr().String())
			u.Insecure = true
			spec := everything()
			spec.Candidate = &u
			var monolith atomic.Int32
			s := open(t, spec, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { monolith.Add(1) }), nil)
			s.apply(whittle.All, whittle.PhaseShift)
			status, _ := s.gets(s.sends("POST", "once"))
			fellBack := tt.want == whittle.FailedConnect
			if fellBack != (monolith.Load() == 1) || fellBack != (status == http.StatusOK) {
				t.Errorf("the user got %d, the monolith was asked %d times", status, monolith.Load())
			}
			s.rests()
			for _, o := range s.reported() {
				if o.Side == whittle.Candidate && o.Failure != tt.want {
					t.Errorf("the candidate's failure is %q, want %q", o.Failure, tt.want)
				}
			}
		})
	}
}
