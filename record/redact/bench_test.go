package redact

import (
	"fmt"
	"strings"
	"testing"

	"whittle"
)

// BenchmarkResponse measures the speed over bodies of each kind, in MB/s.
func BenchmarkResponse(b *testing.B) {
	var clean, secrets, html strings.Builder
	for i := range 200 {
		sep := ","
		if i == 0 {
			sep = "["
		}
		fmt.Fprintf(&clean, `%s{"id":%d,"name":"item number %d","price":%d.50,"tags":["red","large"],"at":"2026-11-21T10:11:12Z","url":"https://example.com/items/%d"}`, sep, i, i, i, i)
		fmt.Fprintf(&secrets, `%s{"id":%d,"name":"item number %d","email":"user%d@example.com","token":"abc%d","price":%d.50,"tags":["red","large"]}`, sep, i, i, i, i, i)
		fmt.Fprintf(&html, `<li class="item item-%d"><a href="/items/%d?from=list&amp;page=2">Item number %d</a> costs 12.50 today: buy it.</li>`+"\n", i, i, i)
	}
	clean.WriteByte(']')
	secrets.WriteByte(']')
	r := mustNew(b, Rules{})
	for _, c := range []struct{ name, kind, body string }{
		{"json", "application/json", clean.String()},
		{"json with 400 secrets", "application/json", secrets.String()},
		{"html", "text/html", html.String()},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.body)))
			b.ReportAllocs()
			for b.Loop() {
				a := whittle.Response{Header: whittle.Header{"Content-Type": {c.kind}}, Body: []byte(c.body)}
				r.Response(&a)
			}
		})
	}
}
