// Package simtest is shared by simulation tests: it holds rates that comments and docs
// state, and keeps the tables of docs as measured.
package simtest

import (
	"flag"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

// update writes tables anew that differ from what was measured.
var update = flag.Bool("update", false, "write the tables of docs anew")

// Start is when simulated exchanges begin.
var Start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Main runs the tests of a package of simulations, which make millions of small
// exchanges and keep none of them: by default a third of their time would go into
// collecting a heap of 4 MB.
func Main(m *testing.M) {
	debug.SetGCPercent(1000)
	os.Exit(m.Run())
}

// Quantile sorts a list, which must not be empty, and gives one of its quantiles.
func Quantile(list []int, q float64) int {
	slices.Sort(list)
	return list[min(len(list)-1, int(q*float64(len(list))))]
}

// InDoc holds a table of a page, between two marks, against what was measured; the
// flag -update writes it anew.
func InDoc(t *testing.T, path, start, finish, table string) {
	t.Helper()
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(doc), start)
	old, after, ended := strings.Cut(rest, finish)
	switch {
	case !found || !ended:
		t.Fatalf("%s has no place for the table", path)
	case *update:
		if err := os.WriteFile(path, []byte(before+start+table+finish+after), 0o644); err != nil {
			t.Fatal(err)
		}
	case old != table:
		t.Errorf("the table of %s is not what the program measures; -update writes it anew:\n%s", path, table)
	}
}

// CellInDoc holds one cell of a table of a page against what was measured, where all of
// it would take minutes: the row that begins so, and the cell's number after that
// beginning, from 0. What InDoc writes, it holds.
func CellInDoc(t *testing.T, path, start, finish, row string, cell int, measured string) {
	t.Helper()
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(doc), start)
	table, _, ended := strings.Cut(rest, finish)
	_, line, known := strings.Cut("\n"+table, "\n"+row)
	if !found || !ended || !known {
		t.Fatalf("%s has no row %q", path, row)
	}
	line, _, _ = strings.Cut(line, "\n")
	cells := strings.Split(strings.Trim(line, "| "), "|")
	if cell >= len(cells) || strings.TrimSpace(cells[cell]) != measured {
		t.Errorf("%s, %s, cell %d: the page does not say %q, which is what was measured: %s", path, row, cell, measured, line)
	}
}
