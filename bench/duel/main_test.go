package main

import (
	"encoding/json"
	"math"
	"testing"

	"whittle/internal/fatal"
)

func TestVerdictIsRead(t *testing.T) {
	v := verdict{}
	const text = `{"verdict":"x","void":"","pairs":24,"figures":[
		{"key":"median","ratio":1.03,"low":1.01,"high":1.05,"p":0.004,"different":true},
		{"key":"p99","ratio":1.2,"low":0.7,"high":null,"p":0.4,"different":false}]}`
	fatal.If(t, json.Unmarshal([]byte(text), &v))
	if keys := v.different(); len(keys) != 1 || keys[0] != "median" {
		t.Errorf("called different: %v", keys)
	}
	if f, ok := v.figure("median"); !ok || *f.Ratio != 1.03 || *f.Low != 1.01 {
		t.Errorf("the median: %v, %v", f, ok)
	}
	if _, ok := v.figure("p99"); ok {
		t.Error("an interval without an end was taken for one")
	}
}

func TestTailIsThatOfTheBinomial(t *testing.T) {
	for _, c := range []struct {
		k, n int
		want float64
	}{{0, 200, 1}, {1, 2, 1 - .95*.95}, {2, 2, .0025}, {11, 200, 0.417}} {
		if got := tail(c.k, c.n); math.Abs(got-c.want) > 1e-3 {
			t.Errorf("%d or more of %d: %v, want %v", c.k, c.n, got, c.want)
		}
	}
}

// Work is steps, not time: three percent more steps are three percent more.
func TestWorkIsNotLeftOut(t *testing.T) {
	if a, b := busy(1000), busy(1000); a != b || a == 0 {
		t.Errorf("%d and %d", a, b)
	}
	if n := calibrate(1_000_000); n < 1000 {
		t.Errorf("%d rounds of work in a millisecond", n)
	}
}
