package transcode_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/twitchtv/twirp"
	"google.golang.org/protobuf/types/known/structpb"

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

// negative are the servers that refuse a number below 0.
func negative(t *testing.T) map[whittle.Protocol]*httptest.Server {
	return servers(t, func(m string) error { return twirp.InvalidArgument.Error(m) },
		func(m string) error { return connect.NewError(connect.CodeInvalidArgument, errors.New(m)) })
}

// servers are the generated handlers of the count contract, as others run them, by protocol.
func servers(t *testing.T, twirps, connects func(message string) error) map[whittle.Protocol]*httptest.Server {
	t.Helper()
	twirped := rpc.NewCarvedServer(carved{twirps})
	path, connected := rpc.NewCarvedHandler(carved{connects})
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

// answered is what the user gets where a server of the count contract is asked.
func answered(t *testing.T, server *httptest.Server, contract whittle.RPC, body string) whittle.Response {
	t.Helper()
	contract.Descriptor = []byte(fatal.Read(t, descriptor))
	contract.Method = "twirp.carved.Carved/Count"
	tr, err := transcode.New(contract, transcode.Timeout(30e9))
	fatal.If(t, err)
	req, err := tr.Request(&whittle.Request{
		Method: "POST", Target: "/Count", Body: []byte(body), Header: whittle.Header{"Content-Type": {"application/json; charset=utf-8"}},
	})
	fatal.If(t, err)
	return tr.Response(call(t, server.URL, tr.HTTP2(), req))
}

const descriptor = "../../systems/count/count.binpb"

// TestGeneratedServers asks the code that twirp and connect generate, in each
// protocol, what the monolith's clients ask.
func TestGeneratedServers(t *testing.T) {
	for protocol, server := range negative(t) {
		for _, c := range []struct {
			name, template, body string
			status               int
			want                 string
		}{
			{"text", "Counted to {{.Sum}} \n", `{"times":2147483647}`, 200, "Counted to 214748364700 \n"},
			{"text from zero", "Counted to {{.Sum}} \n", `{"times":0}`, 200, "Counted to 0 \n"},
			{"JSON", "", `{"times":"7","by":["ann"]}`, 200, `{"Sum":700}`},
			{"JSON from nothing", "", ``, 200, `{"Sum":0}`},
			{"the caller's fault", "", `{"times":-1}`, 400, "invalid_argument: times is below 0\n"},
		} {
			t.Run(string(protocol)+" "+c.name, func(t *testing.T) {
				a := answered(t, server, whittle.RPC{Protocol: protocol, Template: c.template}, c.body)
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
	for protocol, server := range negative(t) {
		if a := answered(t, server, whittle.RPC{Protocol: protocol, Prefix: "/elsewhere"}, ""); a.OK() || a.Status != 501 {
			t.Errorf("%s: answer %d %q, failure %q (%s); want 501", protocol, a.Status, a.Body, a.Failure, a.Detail)
		}
	}
}

// carrying are the generated servers, which refuse a number below 0 by an error
// that carries the members.
func carrying(t *testing.T, members map[string]any) map[whittle.Protocol]*httptest.Server {
	t.Helper()
	return servers(t, func(message string) error {
		e := twirp.NewError(twirp.NotFound, message)
		for k, v := range members {
			e = e.WithMeta(k, v.(string))
		}
		return e
	}, func(message string) error {
		e := connect.NewError(connect.CodeNotFound, errors.New(message))
		s, err := structpb.NewStruct(members)
		if err != nil {
			t.Error(err)
		}
		d, err := connect.NewErrorDetail(s)
		if err != nil {
			t.Error(err)
		}
		e.AddDetail(d)
		return e
	})
}

// TestVerbatim holds that an error's response reaches the user as it was, over
// every protocol, from servers that others generate.
func TestVerbatim(t *testing.T) {
	const plain = "not_found: times is below 0\n"
	long := strings.Repeat("long ", 12<<10)
	for _, c := range []struct {
		name        string
		members     map[string]any
		off         bool
		status      int
		contentType string
		body        string
	}{
		{"a failure in JSON", map[string]any{
			"http_status": "404", "http_content_type": "application/json", "http_body": `{"error":"no user 7","é":"😀"}`,
		}, false, 404, "application/json", `{"error":"no user 7","é":"😀"}`},
		{"bytes", map[string]any{"http_status": "418", "http_content_type": "image/png", "http_body_base64": base64.StdEncoding.EncodeToString([]byte("\x00\xff"))}, false, 418, "image/png", "\x00\xff"},
		{"nothing but a status", map[string]any{"http_status": "204"}, false, 204, "", ""},
		{"a success of another form", map[string]any{"http_status": "200", "http_content_type": "text/plain", "http_body": "so it is"}, false, 200, "text/plain", "so it is"},
		{"60 KiB", map[string]any{"http_status": "500", "http_content_type": "text/plain", "http_body": long}, false, 500, "text/plain", long},
		{"not asked for", map[string]any{"http_status": "500", "http_body": "x"}, true, 404, "text/plain; charset=utf-8", plain},
		{"no response", map[string]any{"other": "x"}, false, 404, "text/plain; charset=utf-8", plain},
		{"a status that is none", map[string]any{"http_status": "99", "http_body": "x"}, false, 404, "text/plain; charset=utf-8", plain},
		{"a header in the type", map[string]any{"http_status": "200", "http_content_type": "text/plain\r\nX-A: b"}, false, 404, "text/plain; charset=utf-8", plain},
		{"no base64", map[string]any{"http_status": "200", "http_body_base64": "*"}, false, 404, "text/plain; charset=utf-8", plain},
		{"a body where there is none", map[string]any{"http_status": "304", "http_body": "x"}, false, 404, "text/plain; charset=utf-8", plain},
	} {
		for protocol, server := range carrying(t, c.members) {
			t.Run(c.name+" "+string(protocol), func(t *testing.T) {
				a := answered(t, server, whittle.RPC{Protocol: protocol, Verbatim: !c.off}, `{"times":-1}`)
				if a.Failure != "" || a.Status != c.status || a.Header.Get("Content-Type") != c.contentType || string(a.Body) != c.body {
					t.Errorf("%s %s: %d %q %.100q, want %d %q %.100q", a.Failure, a.Detail, a.Status, a.Header.Get("Content-Type"), a.Body, c.status, c.contentType, c.body)
				}
			})
		}
	}
}

// FuzzVerbatim: whatever an error carries, users get a status that HTTP has and
// a content type that fits a header.
func FuzzVerbatim(f *testing.F) {
	contract := []byte(fatal.Read(f, descriptor))
	f.Add([]byte(`{"code":"not_found","meta":{"http_status":"404","http_body":"x"}}`), "", false)
	f.Add([]byte(`{"code":"not_found","details":[{"type":"google.protobuf.Struct","value":"CgA"}]}`), "", false)
	f.Add([]byte{}, "CAUSABoA", true)
	var trs [2]*transcode.Transcoder
	for i, p := range []whittle.Protocol{whittle.Connect, whittle.GRPC} {
		var err error
		trs[i], err = transcode.New(whittle.RPC{Protocol: p, Descriptor: contract, Method: "twirp.carved.Carved/Count", Verbatim: true})
		fatal.If(f, err)
	}
	f.Fuzz(func(t *testing.T, body []byte, details string, grpc bool) {
		tr, in := trs[0], whittle.Response{Status: 404, Header: whittle.Header{"Content-Type": {"application/json"}}, Body: body}
		if grpc {
			tr, in = trs[1], whittle.Response{Status: 200, Header: whittle.Header{"Grpc-Status": {"5"}, "Grpc-Status-Details-Bin": {details}}}
		}
		a := tr.Response(&in)
		if a.Failure != "" || a.Status < 200 || a.Status > 599 || strings.ContainsAny(a.Header.Get("Content-Type"), "\r\n\x00") {
			t.Fatalf("%+v", a)
		}
	})
}
