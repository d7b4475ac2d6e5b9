package comparetest

import (
	"fmt"
	"strings"
)

// Orders is a JSON body of n entries, for benchmarks; spaced writes the same with
// other white space.
func Orders(n int, spaced bool) string {
	var b strings.Builder
	colon := ":"
	if spaced {
		colon = ": "
	}
	fmt.Fprintf(&b, `{"total"%s%d,"items":[`, colon, n)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id"%[1]s%[2]d,"name"%[1]s"item number %[2]d","price"%[1]s%[2]d.50,"tags"%[1]s["a","b"],"stock"%[1]strue}`, colon, i)
	}
	return b.String() + "]}"
}
