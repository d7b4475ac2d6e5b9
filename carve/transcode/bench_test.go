package transcode

import (
	"testing"

	"whittle"
)

func BenchmarkRequest(b *testing.B) {
	for _, short := range []bool{true, false} {
		b.Run(map[bool]string{true: "short", false: "protojson"}[short], func(b *testing.B) {
			tr := shop(b, whittle.Twirp, "Plain")
			if !short {
				tr.flat = nil
			}
			r := post("/Count", `{"i32": 10000000}`)
			for name, value := range map[string]string{"Host": "x", "User-Agent": "load", "X-User": "ann", "Accept": "*/*", "Content-Length": "19"} {
				r.Header[name] = []string{value}
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := tr.Request(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkResponse(b *testing.B) {
	for name, template := range map[string]string{"json": "", "fields": "Counted to {{.i64}} \n", "template": "{{if .i64}}Counted to {{.i64}}{{end}} \n"} {
		b.Run(name, func(b *testing.B) {
			tr := newTranscoder(b, whittle.RPC{Protocol: whittle.Twirp, Descriptor: contract(b), Method: "shop.v1.Shop/Plain", Template: template})
			a := response(200, "application/protobuf", string(wire(b, tr, `{"i64":"500047951"}`)))
			a.Header["Date"] = []string{"Sat, 21 Nov 2026 03:00:00 GMT"}
			b.ReportAllocs()
			for b.Loop() {
				if got := tr.Response(a); got.Failure != "" {
					b.Fatal(got.Detail)
				}
			}
		})
	}
}
