package duel

import (
	"errors"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/load"
)

// What cannot be compared is an error before anything is sent: nobody listens there.
func TestRequestsThatAreNoComparisonAreRefused(t *testing.T) {
	const a, b = "http://127.0.0.1:1/x", "http://127.0.0.1:2/x"
	some := load.Workload{Rate: 1, Duration: time.Second}
	gate, err := ParseGates([]string{"errors ratio surely > 1"})
	if err != nil {
		t.Fatal(err)
	}
	for want, q := range map[string]Request{
		"is a URL":            {A: a, B: "report.json"},
		"no such file":        {A: "none.json", B: "none.json"},
		"how much":            {A: a, B: b},
		"either a rate":       {A: a, B: b, What: some, Users: []int{2}},
		"the same path":       {A: a, B: b + "/y", What: some},
		"--users 0":           {A: a, B: b, Users: []int{0}},
		"--users -3":          {A: a, B: b, Users: []int{5, -3}},
		"not below 0":         {A: a, B: b, What: some, Runs: -1},
		"--rate is below 0":   {A: a, B: b, What: load.Workload{Rate: -1, Duration: time.Second}},
		"--method goes":       {A: a, B: b, Users: []int{1}, What: load.Workload{Plan: "p.yml", Request: load.Request{Method: "PUT"}}},
		`"errors ratio > 1"`:  {A: a, B: b, Users: []int{1, 2}, Gates: gate},
		"needs a duration":    {A: a, B: b, What: load.Workload{Rate: 1}},
		"a pool of -1":        {A: a, B: b, What: some, Options: load.Options{Pool: -1}},
		"blocks of 5ms are n": {A: a, B: b, What: some, Block: 5 * time.Millisecond},
	} {
		_, err := q.Run(t.Context())
		code := whittle.CodeOf(err)
		if err == nil || code != whittle.Invalid && code != whittle.NotFound || !strings.Contains(err.Error()+hintOf(err), want) {
			t.Errorf("%s: %v (%v)", want, err, code)
		}
	}
}

func hintOf(err error) string {
	if e, ok := errors.AsType[*whittle.Error](err); ok {
		return e.Hint
	}
	return ""
}
