// Package comparetest makes the exchanges of simulated services for the tests of
// compare and of its parts.
package comparetest

import (
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
