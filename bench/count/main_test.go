package main

import (
	"math"
	"os"
	"runtime"
	"testing"

	"whittle/bench/table"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		v    []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{4, 1}, 2.5}, {[]float64{9, 1, 2}, 2}} {
		if got := median(c.v); got != c.want {
			t.Errorf("median(%v) = %v, want %v", c.v, got, c.want)
		}
	}
	if !math.IsNaN(median(nil)) {
		t.Error("the median of nothing is a number")
	}
}

func TestReport(t *testing.T) {
	rows := report(map[string][]float64{ours: {10, 12, 11}, published: {110, 99, 121}, node: {220, 231, 242}}).Rows()
	want := []table.Row{
		{Subject: ours, Metric: "cpu per 10M draws, median", Value: 11, Unit: "ms"},
		{Subject: published, Metric: "cpu per 10M draws, median", Value: 110, Unit: "ms"},
		{Subject: node, Metric: "cpu per 10M draws, median", Value: 231, Unit: "ms"},
		{Subject: published, Metric: "times the cpu of count", Value: 10, Unit: "x"},
		{Subject: node, Metric: "times the cpu of count", Value: 21, Unit: "x"},
	}
	if len(rows) != 9+len(want) {
		t.Fatalf("%d rows, want %d", len(rows), 9+len(want))
	}
	for i, w := range want {
		if rows[9+i] != w {
			t.Errorf("row %d = %v, want %v", 9+i, rows[9+i], w)
		}
	}
}

func TestCPUTimeGrowsWithWork(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux")
	}
	before, err := cpuTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	x := 1.
	for range 1_000_000 {
		x = math.Sqrt(x + 1)
	}
	after, err := cpuTime(os.Getpid())
	if err != nil || after <= before || x < 1 {
		t.Errorf("before %v, after %v, %v", before, after, err)
	}
	if _, err := cpuTime(1 << 23); err == nil {
		t.Error("a process id above any has a CPU clock")
	}
}
