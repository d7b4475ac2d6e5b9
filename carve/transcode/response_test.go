package transcode

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"whittle"
	"whittle/internal/fatal"
)

func framed(b []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(b))), b...)
}

func response(status int, contentType, body string) *whittle.Response {
	return &whittle.Response{
		Status: status, Header: whittle.Header{"Content-Type": {contentType}}, Body: []byte(body), Latency: time.Second,
	}
}

func TestResponseTemplate(t *testing.T) {
	rpc := whittle.RPC{
		Protocol: whittle.GRPC, Descriptor: contract(t), Method: "shop.v1.Shop/Plain",
		ContentType: "text/html; charset=utf-8", Status: 201,
	}
	for _, c := range []struct{ method, template, json, want string }{
		{"Plain", "Counted to {{.i64}} \n", `{"i64":"500047951"}`, "Counted to 500047951 \n"},
		{"Plain", "Counted to {{.i64}} \n", `{}`, "Counted to 0 \n"},
		{"Plain", "{{.fullName}}|{{.full_name}}|{{.yes_no}}|{{.u64}}", `{"fullName":"<é>","yesNo":true,"u64":"18446744073709551615"}`, "<é>|<é>|true|18446744073709551615"},
		{"Plain", `{{html .full_name}}{{if .yes_no}} yes{{end}} {{printf "%05d" .i32}}`, `{"fullName":"<","i32":7}`, "&lt; 00007"},
		{"Rich", `{{.ratio}} {{.single}} {{printf "%.2f" .ratio}} {{if gt .ratio 0.5}}more{{end}}`, `{"ratio":1000000,"single":0.1}`, "1000000 0.1 1000000.00 more"},
		{
			"Rich", "{{.color}} {{.raw}} {{range .tags}}[{{.}}]{{end}}{{with .inner}}{{.user_id}}{{end}}{{range $k, $v := .counts}}{{$k}}={{$v}}{{end}}",
			`{"color":"RED","raw":"AQI=","tags":["a","b"],"inner":{"userId":"3"},"counts":{"5":"6"}}`, "RED AQI= [a][b]35=6",
		},
	} {
		t.Run(c.template, func(t *testing.T) {
			rpc.Template, rpc.Method = c.template, "shop.v1.Shop/"+c.method
			tr := newTranscoder(t, rpc)
			in := response(200, "application/grpc", string(framed(wire(t, tr, c.json))))
			in.Trailer = whittle.Header{"Grpc-Status": {"0"}}
			a := tr.Response(in)
			if a.Status != 201 || a.Header.Get("Content-Type") != rpc.ContentType || string(a.Body) != c.want || a.Trailer != nil {
				t.Errorf("answer %+v with body %q, want %q", a, a.Body, c.want)
			}
		})
	}
}

func TestResponseErrors(t *testing.T) {
	ok := whittle.Header{"Grpc-Status": {"0"}}
	grpc := func(status int, body string, header, trailer whittle.Header) *whittle.Response {
		a := response(status, "application/grpc", body)
		maps.Copy(a.Header, header)
		a.Trailer = trailer
		return a
	}
	page, encoded := response(200, "text/html", ""), response(200, "application/protobuf", "")
	page.Trailer, encoded.Header["Content-Encoding"] = ok, []string{"gzip"}
	wrongNumber := string(protowire.AppendString(protowire.AppendTag(nil, 8, protowire.BytesType), "\xff"))
	for _, c := range []struct {
		name     string
		protocol whittle.Protocol
		in       *whittle.Response
		status   int // 0: it is malformed
		body     string
		detail   string
	}{
		{
			"Twirp, the caller's fault", whittle.Twirp,
			response(400, "application/json", `{"code":"invalid_argument","msg":"times is below 0","meta":{"argument":"times"}}`),
			400, "invalid_argument: times is below 0\n", "twirp invalid_argument: times is below 0",
		},
		{"Twirp, its own fault", whittle.TwirpJSON, response(500, "application/json", `{"code":"internal","msg":"secret"}`), 500, "internal\n", "twirp+json internal: secret"},
		{"Twirp, no such procedure", whittle.Twirp, response(404, "application/json", `{"code":"bad_route","msg":"no handler"}`), 501, "bad_route\n", "no handler"},
		{"Connect", whittle.Connect, response(404, "application/json", `{"code":"not_found","message":"no user 7"}`), 404, "not_found: no user 7\n", "connect not_found"},
		{"Connect, out of turn", whittle.Connect, response(409, "application/json", `{"code":"aborted"}`), 409, "aborted\n", "aborted"},
		{"a proxy in between", whittle.Connect, response(502, "text/html", `<h1>Bad gateway</h1>`), 503, "unavailable\n", "HTTP status 502"},
		{"a server that is something else", whittle.Twirp, response(404, "text/plain", `404 page not found`), 501, "unimplemented\n", "HTTP status 404"},
		{"a redirect", whittle.Twirp, response(302, "text/plain", ``), 500, "unknown\n", "HTTP status 302"},
		{"an unknown code", whittle.Twirp, response(429, "application/json", `{"code":"hm"}`), 503, "unavailable\n", "HTTP status 429"},
		{"gRPC trailers", whittle.GRPC, grpc(200, "", nil, whittle.Header{"Grpc-Status": {"5"}, "Grpc-Message": {"no%20such%C3%A9%zz%"}}), 404, "not_found: no suché%zz%\n", "grpc not_found"},
		{"gRPC trailers only", whittle.GRPC, grpc(200, "", whittle.Header{"Grpc-Status": {"14"}, "Grpc-Message": {"down"}}, nil), 503, "unavailable\n", "down"},
		{"gRPC canceled by itself", whittle.GRPC, grpc(200, "", whittle.Header{"Grpc-Status": {"1"}}, nil), 503, "canceled\n", "canceled"},
		{"gRPC code of the future", whittle.GRPC, grpc(200, "", whittle.Header{"Grpc-Status": {"99"}}, nil), 500, "unknown\n", "unknown"},
		{"gRPC refused", whittle.GRPC, grpc(401, "", nil, nil), 401, "unauthenticated: HTTP status 401\n", "401"},

		{"another media type", whittle.Twirp, response(200, "text/html", ""), 0, "", ""},
		{"JSON for protobuf", whittle.Connect, response(200, "application/json", "{}"), 0, "", ""},
		{"protobuf for JSON", whittle.TwirpJSON, response(200, "application/protobuf", ""), 0, "", ""},
		{"JSON that is none", whittle.TwirpJSON, response(200, "application/json", "{"), 0, "", ""},
		{"compressed", whittle.Twirp, encoded, 0, "", ""},
		{"noise", whittle.Twirp, response(200, "application/protobuf", "\xff\xff\xff"), 0, "", ""},
		{"text that is not UTF-8", whittle.Connect, response(200, "application/proto", wrongNumber), 0, "", ""},
		{"gRPC without a status", whittle.GRPC, grpc(200, string(framed(nil)), nil, nil), 0, "", ""},
		{"gRPC with a status in words", whittle.GRPC, grpc(200, string(framed(nil)), nil, whittle.Header{"Grpc-Status": {"OK"}}), 0, "", ""},
		{"gRPC without a message", whittle.GRPC, grpc(200, "", nil, ok), 0, "", ""},
		{"gRPC cut short", whittle.GRPC, grpc(200, "\x00\x00\x00\x00\x09abc", nil, ok), 0, "", ""},
		{"gRPC with two messages", whittle.GRPC, grpc(200, string(framed(nil))+string(framed(nil)), nil, ok), 0, "", ""},
		{"gRPC compressed", whittle.GRPC, grpc(200, "\x01\x00\x00\x00\x00", nil, ok), 0, "", ""},
		{"gRPC as a page", whittle.GRPC, page, 0, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := shop(t, c.protocol, "Plain").Response(c.in)
			failure := map[bool]whittle.Failure{true: whittle.FailedMalform}[c.status == 0]
			if a.Failure != failure || a.Status != c.status || string(a.Body) != c.body || a.Detail == "" || !strings.Contains(a.Detail, c.detail) {
				t.Errorf("got %d %q (%s), failure %q; want %d %q (%s)", a.Status, a.Body, a.Detail, a.Failure, c.status, c.body, c.detail)
			}
			if c.status > 0 && a.Header.Get("Content-Type") != "text/plain; charset=utf-8" || a.Latency != time.Second {
				t.Errorf("answer %+v", a)
			}
		})
	}
	tr := shop(t, whittle.Twirp, "Plain")
	fatal.Same(t, tr.Response(&whittle.Response{Status: 200, Truncated: true}).Failure, whittle.FailedTooLarge, "half a response")
	failed := whittle.Response{Failure: whittle.FailedTimeout, Detail: "5s", Latency: 5 * time.Second}
	if a := tr.Response(&failed); !reflect.DeepEqual(a, failed) {
		t.Errorf("a failure became %+v", a)
	}
}

// TestResponseIsBounded: a short response can stand for a long one, and is refused
// where it does.
func TestResponseIsBounded(t *testing.T) {
	tr := newTranscoder(t, whittle.RPC{
		Protocol: whittle.Twirp, Descriptor: contract(t), Method: "shop.v1.Shop/Rich",
		Template: "{{range .tags}}" + strings.Repeat("x", 1<<16) + "{{end}}",
	})
	var b []byte
	for range 1000 {
		b = protowire.AppendString(protowire.AppendTag(b, 5, protowire.BytesType), "")
	}
	if a := tr.Response(response(200, "application/protobuf", string(b))); a.Failure != whittle.FailedMalform {
		t.Errorf("%d bytes were rendered of %d", len(a.Body), len(b))
	}
	var deep []byte
	for range 2 * maxDepth {
		deep = protowire.AppendBytes(protowire.AppendTag(nil, 7, protowire.BytesType), deep)
	}
	if a := shop(t, whittle.Twirp, "Rich").Response(response(200, "application/protobuf", string(deep))); a.Failure != whittle.FailedMalform {
		t.Error("depths were rendered")
	}
}

// FuzzResponse: whatever comes, there is a bounded answer, and it is JSON where
// it says so.
func FuzzResponse(f *testing.F) {
	trs := map[whittle.Protocol]*Transcoder{}
	for _, p := range []whittle.Protocol{whittle.Twirp, whittle.TwirpJSON, whittle.Connect, whittle.GRPC} {
		trs[p] = shop(f, p, "Rich")
	}
	good := wire(f, trs[whittle.Twirp], `{"userId":"1","free":{"a":1},"at":"2026-01-02T03:04:05Z","counts":{"1":"2"},"inner":{}}`)
	f.Add(200, "application/protobuf", "0", good)
	f.Add(200, "application/proto", "", good)
	f.Add(200, "application/grpc", "0", framed(good))
	f.Add(200, "application/json", "", []byte(`{"userId":"1"}`))
	f.Add(400, "application/json", "13", []byte(`{"code":"not_found","msg":"x"}`))
	f.Add(200, "application/protobuf", "", []byte("\x42\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f"))
	f.Fuzz(func(t *testing.T, status int, contentType, grpcStatus string, body []byte) {
		for _, tr := range trs {
			in := response(status, contentType, string(body))
			in.Trailer = whittle.Header{"Grpc-Status": {grpcStatus}}
			a := tr.Response(in)
			switch {
			case len(a.Body) > maxRendered+maxMessage:
				t.Fatalf("%d bytes", len(a.Body))
			case a.Failure != "" && (a.Status != 0 || a.Detail == ""):
				t.Fatalf("failed, with status %d and detail %q", a.Status, a.Detail)
			case a.Failure == "" && a.Header.Get("Content-Type") == "application/json" && !json.Valid(a.Body):
				t.Fatalf("not JSON: %q", a.Body)
			}
		}
	})
}
