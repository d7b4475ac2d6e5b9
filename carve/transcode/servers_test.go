package transcode_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"connectrpc.com/connect"
	"github.com/twitchtv/twirp"

	"whittle"
	"whittle/carve/transcode"
	"whittle/internal/fatal"
	"whittle/systems/count/rpc"
)

// carved counts to a hundred times what it is asked, so that a wrong number
// on either way shows.
type carved struct{ fault func(message string) error }

func (c carved) Count(_ context.Context, in *rpc.Times) (*rpc.Sum, error) {
	if in.GetTimes() < 0 {
		return nil, c.fault("times is below 0")
	}
	return &rpc.Sum{Sum: int64(in.GetTimes()) * 100}, nil
}

// servers are the generated handlers of the count contract, as others run them.
func servers(t *testing.T) map[whittle.Protocol]*httptest.Server {
	twirped := rpc.NewCarvedServer(carved{func(m string) error { return twirp.InvalidArgument.Error(m) }})
	path, connected := rpc.NewCarvedHandler(carved{func(m string) error {
		return connect.NewError(connect.CodeInvalidArgument, &plainError{m})
	}})
	mux := http.NewServeMux()
	mux.Handle(path, connected)
	out := map[whittle.Protocol]*httptest.Server{}
	for protocol, h := range map[whittle.Protocol]http.Handler{
		whittle.Twirp: twirped, whittle.TwirpJSON: twirped, whittle.Connect: mux, whittle.GRPC: mux,
	} {
		out[protocol] = serve(t, h, protocol == whittle.GRPC)
	}
	return out
}

func serve(t *testing.T, h http.Handler, http2 bool) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(!http2)
	s.Config.Protocols.SetUnencryptedHTTP2(http2)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// refusing answers every call with an error.
type refusing func() error

func (r refusing) Count(context.Context, *rpc.Times) (*rpc.Sum, error) { return nil, r() }

type plainError struct{ text string }

func (e *plainError) Error() string { return e.text }

func call(t *testing.T, base string, http2 bool, r *whittle.Request) *whittle.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), r.Method, base+r.Target, bytes.NewReader(r.Body))
	fatal.If(t, err)
	req.Header = http.Header(r.Header)
	transport := &http.Transport{Protocols: new(http.Protocols), DisableCompression: true}
	transport.Protocols.SetHTTP1(!http2)
	transport.Protocols.SetUnencryptedHTTP2(http2)
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	fatal.If(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fatal.If(t, err)
	return &whittle.Response{Status: resp.StatusCode, Header: whittle.Header(resp.Header), Trailer: whittle.Header(resp.Trailer), Body: body}
}

// TestGeneratedServers asks the code that twirp and connect generate, in each
// protocol, what the monolith's clients ask.
func TestGeneratedServers(t *testing.T) {
	descriptor, err := os.ReadFile("../../systems/count/count.binpb")
	fatal.If(t, err)
	for protocol, server := range servers(t) {
		for _, c := range []struct {
			name, template, body string
			method               string
			status               int
			want                 string
		}{
			{"text", "Counted to {{.Sum}} \n", `{"times":2147483647}`, "Count", 200, "Counted to 214748364700 \n"},
			{"text from zero", "Counted to {{.Sum}} \n", `{"times":0}`, "Count", 200, "Counted to 0 \n"},
			{"JSON", "", `{"times":"7","by":["ann"]}`, "Count", 200, `{"Sum":700}`},
			{"JSON from nothing", "", ``, "Count", 200, `{"Sum":0}`},
			{"the caller's fault", "", `{"times":-1}`, "Count", 400, "invalid_argument: times is below 0\n"},
		} {
			t.Run(string(protocol)+" "+c.name, func(t *testing.T) {
				tr, err := transcode.New(whittle.RPC{
					Protocol: protocol, Descriptor: descriptor, Method: "twirp.carved.Carved/Count", Template: c.template,
				}, transcode.Timeout(30e9))
				fatal.If(t, err)
				req, err := tr.Request(&whittle.Request{
					Method: "POST", Target: "/Count", Body: []byte(c.body), Header: whittle.Header{"Content-Type": {"application/json; charset=utf-8"}},
				})
				fatal.If(t, err)
				a := tr.Response(call(t, server.URL, tr.HTTP2(), req))
				if a.Failure != "" || a.Status != c.status || string(a.Body) != c.want {
					t.Errorf("answer %d %q, failure %q (%s); want %d %q", a.Status, a.Body, a.Failure, a.Detail, c.status, c.want)
				}
			})
		}
	}
}

// TestWrongServer: a candidate that does not know the procedure is at fault,
// and never tells a user 404.
func TestWrongServer(t *testing.T) {
	descriptor, err := os.ReadFile("../../systems/count/count.binpb")
	fatal.If(t, err)
	for protocol, server := range servers(t) {
		tr, err := transcode.New(whittle.RPC{Protocol: protocol, Prefix: "/elsewhere", Descriptor: descriptor, Method: "twirp.carved.Carved/Count"})
		fatal.If(t, err)
		req, err := tr.Request(&whittle.Request{Method: "POST", Target: "/Count"})
		fatal.If(t, err)
		if a := tr.Response(call(t, server.URL, tr.HTTP2(), req)); a.OK() || a.Status != 501 {
			t.Errorf("%s: answer %d %q, failure %q (%s); want 501", protocol, a.Status, a.Body, a.Failure, a.Detail)
		}
	}
}
