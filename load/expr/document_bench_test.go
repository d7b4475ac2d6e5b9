package expr

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkDocument reads what a load run captures from: a short response and
// a list of 200 objects.
func BenchmarkDocument(b *testing.B) {
	var list strings.Builder
	for i := range 200 {
		fmt.Fprintf(&list, `,{"id":%d,"name":"item number %d","price":%d.50,"tags":["red","large"],"at":"2026-11-21T10:11:12Z","note":"a\nb"}`, i, i, i)
	}
	for _, c := range []struct{ name, text string }{{"small", `{"id":17,"token":"abcdef","items":[1,2,3]}`}, {"list", "[" + list.String()[1:] + "]"}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := ParseDocument(c.text); !ok {
					b.Fatal("no document")
				}
			}
		})
	}
}
