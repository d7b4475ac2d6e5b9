package jsondiff

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"whittle"
	"whittle/carve/compare/comparetest"
)

func BenchmarkJSON(b *testing.B) {
	plain, spaced := comparetest.Orders(50, false), comparetest.Orders(50, true)
	cases := []struct {
		name, a, b string
		c          whittle.Comparison
	}{
		{"same bytes", plain, plain, whittle.Comparison{}},
		{"same values", plain, spaced, whittle.Comparison{}},
		{"one value differs", plain, strings.Replace(plain, "49.50", "49.51", 1), whittle.Comparison{}},
		{"unordered", plain, spaced, whittle.Comparison{Unordered: []string{"$.items"}}},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			j := jsonDifferOf(b, c.c)
			x, y := []byte(c.a), []byte(c.b)
			b.SetBytes(int64(len(x) + len(y)))
			b.ReportAllocs()
			for b.Loop() {
				j.Diff(x, y)
			}
		})
	}
	b.Run("encoding/json and DeepEqual", func(b *testing.B) {
		b.SetBytes(int64(len(plain) + len(spaced)))
		b.ReportAllocs()
		for b.Loop() {
			var x, y any
			if json.Unmarshal([]byte(plain), &x) != nil || json.Unmarshal([]byte(spaced), &y) != nil || !reflect.DeepEqual(x, y) {
				b.Fatal("not the same")
			}
		}
	})
}
