package main

import "testing"

func TestWrkOutput(t *testing.T) {
	const out = `Running 4s test @ http://127.0.0.1:1/api/small
  Latency Distribution
     50%  870.00us
     75%    1.20ms
     99%   12.44ms
  103444 requests in 4.00s, 20.00MB read
Requests/sec:  25794.10
`
	for name, want := range map[string]string{"requests": "103444", "p50": "870.00us", "p99": "12.44ms", "rate": "25794.10"} {
		if m := wrkLines[name].FindStringSubmatch(out); m == nil || m[1] != want {
			t.Errorf("%s: %q, want %q", name, m, want)
		}
	}
	if wrkLines["errors"].MatchString(out) || !wrkLines["errors"].MatchString(out+"  Socket errors: connect 0, read 2, write 0, timeout 0\n") {
		t.Error("errors are not distinguished from none")
	}
}
