package jsondiff

import (
	"math/big"
	"strings"
	"testing"

	"whittle"
	"whittle/carve/compare/jsondoc"
)

// FuzzDecimal holds the reading of numbers against math/big.
func FuzzDecimal(f *testing.F) {
	for _, s := range [][2]string{{"1e2", "100"}, {"-0", "0"}, {"0.10", "1e-1"}, {"123456789012345678901", "123456789012345678902"}} {
		f.Add(s[0], s[1])
	}
	j := jsonDifferOf(f, whittle.Comparison{})
	f.Fuzz(func(t *testing.T, a, b string) {
		x, okX := rational(a)
		y, okY := rational(b)
		if !okX || !okY {
			return
		}
		if got, want := j.sameNumber([]byte(a), []byte(b)), x.Cmp(y) == 0; got != want {
			t.Fatalf("%s and %s: same %v, expected %v", a, b, got, want)
		}
	})
}

// rational reads a JSON number of a modest exponent.
func rational(s string) (*big.Rat, bool) {
	var d jsondoc.Document
	if len(s) > 200 || d.Scan([]byte(s)) != jsondoc.Scanned || d.Nodes[0].Kind != jsondoc.Number || strings.TrimSpace(s) != s {
		return nil, false
	}
	if x := jsondoc.ParseDecimal(nil, []byte(s)); x.Exp > 1000 || x.Exp < -1000 {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}
