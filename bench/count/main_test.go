package main

import (
	"testing"

	"whittle/internal/table"
)

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
