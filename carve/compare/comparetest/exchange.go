// Package comparetest makes the exchanges of simulated services for the tests of
// compare and of its parts.
package comparetest

import (
	"fmt"
	"strings"
	"time"

	"whittle"
)

// Start is when the exchanges that Gave makes begin.
var Start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// Gave is an exchange in which the monolith gave a body to a user's request.
func Gave(second float64, user uint64, target, body string) *whittle.Exchange {
	return &whittle.Exchange{
		At: Start.Add(time.Duration(second * float64(time.Second))), User: user,
		Request:  whittle.Request{Method: "GET", Target: target},
		Monolith: whittle.Response{Status: 200, Body: []byte(body)},
	}
}

// FormComparison compares JSON with learned noise.
var FormComparison = whittle.Comparison{Kind: whittle.JSON, LearnNoise: true, Confidence: 0.99, MinCompared: 300}

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
