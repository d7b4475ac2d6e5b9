package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// list is a report of one file, as gremlins writes it.
func list(t *testing.T, name string, mutants ...mutant) string {
	t.Helper()
	f := file{Name: name}
	for i := range mutants {
		f.Mutations = append(f.Mutations, &mutants[i])
	}
	b, err := json.Marshal(report{Files: []*file{&f, {Name: "below/y.go", Mutations: []*mutant{{Status: "RUNNABLE"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestRun: each survivor needs its argument, each argument its survivor, and enough
// has to be killed.
func TestRun(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "room/one/x.go", "package one\n\nfunc f(a, b int) bool {\n\tif a < b {\n\t\treturn b-a == 1\n\t}\n\treturn false\n}\n")
	mutants := func(statuses ...string) string {
		all := []mutant{
			{Type: "CONDITIONALS_BOUNDARY", Line: 4, Column: 7},
			{Type: "CONDITIONALS_NEGATION", Line: 5, Column: 14},
			{Type: "ARITHMETIC_BASE", Line: 5, Column: 11},
			{Type: "INVERT_NEGATIVES", Line: 5, Column: 11}, // the same change once more
		}
		for i := range all {
			all[i].Status = statuses[min(i, len(statuses)-1)]
		}
		return list(t, "x.go", all...)
	}
	const first, second = "room/one/x.go f | if a <= b { | equal is as good", "room/one/x.go f | return b-a != 1 | nobody sees it"
	for name, c := range map[string]struct {
		report, argued string
		least          float64
		want           string // "" where all is well
	}{
		"all killed":        {mutants("KILLED", "TIMED OUT", "KILLED"), "", 100, ""},
		"argued":            {mutants("LIVED", "KILLED"), "# why\n\n" + first, 66, ""},
		"counted once":      {mutants("LIVED", "KILLED", "KILLED", "LIVED"), first, 67, "fewer than 67 %"},
		"not argued":        {mutants("LIVED", "KILLED"), "", 50, "not argued for: room/one/x.go f | if a <= b {"},
		"another's":         {mutants("LIVED", "KILLED"), strings.Replace(first, " f ", " g ", 1), 50, "not argued for: room/one/x.go f | if a <= b {"},
		"never tried":       {mutants("NOT COVERED", "KILLED"), "", 50, "not argued for: room/one/x.go f | if a <= b {"},
		"too few":           {mutants("LIVED", "KILLED"), first, 95, "fewer than 95 %"},
		"argued and dead":   {mutants("LIVED", "KILLED"), first + "\n" + second, 50, "does not live: room/one/x.go f | return b-a != 1"},
		"does not compile":  {mutants("KILLED", "KILLED", "NOT VIABLE"), "", 100, ""},
		"nothing compiles":  {mutants("NOT VIABLE"), "", 95, "fewer than 95 %"},
		"none":              {list(t, "x.go"), "", 95, "fewer than 95 %"},
		"no argument":       {mutants("KILLED"), "room/one/x.go f | if a <= b {", 95, "is not: file function"},
		"no report":         {"{", "", 95, "read room-one.json"},
		"of another source": {list(t, "x.go", mutant{Type: "ARITHMETIC_BASE", Line: 4, Column: 7}), "", 95, "x.go:4:7 is nothing that ARITHMETIC_BASE changes"},
		"beyond the source": {list(t, "x.go", mutant{Type: "ARITHMETIC_BASE", Line: 99, Column: 7}), "", 95, "has no line 99"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := run(&out, c.least, write(t, "argued.txt", c.argued), []string{write(t, "room-one.json", c.report)})
			if (err == nil) != (c.want == "") {
				t.Errorf("%v\n%s", err, out.String())
			}
			if text := out.String(); err != nil && !strings.Contains(text+err.Error(), c.want) {
				t.Errorf("want %q, got %v\n%s", c.want, err, text)
			}
		})
	}
}

const sum = `package one

// sum adds up what is below 10, and greets.
func sum(list []int) (n int, s string) {
	for i := 0; i < len(list); i++ {
		if list[i] < 10 {
			n += list[i] + 0
		}
	}
	switch {
	case n == 3:
		s = "three" + "!"
	}
	return n, s
}
`

const sumTest = `package one

import "testing"

func TestSum(t *testing.T) {
	if n, _ := sum([]int{1, 2, 11}); n != 3 {
		t.Error(n)
	}
}

func TestGreeting(t *testing.T) {
	if _, s := sum([]int{3}); s != "three!" {
		t.Error(s)
	}
}
`

// TestTry tries mutants on a package: one is killed by a test of the first stage, one
// by a test of the second, one panics, one does not compile, and no test sees the last.
// The source is left as it was.
func TestTry(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "go.mod", "module m\n\ngo 1.26\n")
	write(t, "room/one/x.go", sum)
	write(t, "room/one/x_test.go", sumTest)
	name := write(t, "room-one.json", list(t, "x.go",
		mutant{Type: "CONDITIONALS_NEGATION", Line: 6, Column: 14},
		mutant{Type: "CONDITIONALS_NEGATION", Line: 11, Column: 9, Status: "NOT COVERED"},
		mutant{Type: "INCREMENT_DECREMENT", Line: 5, Column: 30},
		mutant{Type: "ARITHMETIC_BASE", Line: 12, Column: 15},
		mutant{Type: "ARITHMETIC_BASE", Line: 7, Column: 17},
		mutant{Type: "CONDITIONALS_BOUNDARY", Line: 5, Column: 16, Status: "KILLED"}))
	r, err := load(name)
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	p, err := r.prepare(t.Context(), tmp)
	if err != nil {
		t.Fatal(err)
	}
	p.stages = []stage{{[]string{"-test.skip", "Greeting"}, time.Minute}, {[]string{"-test.run", "Greeting"}, time.Minute}}
	built := &room{folder: p.folder, stages: p.stages} // each by itself
	for i, want := range []string{killed, killed, killed, notViable, lived} {
		m := r.Files[0].Mutations[i]
		if woven := p.woven[m] > 0; woven != (want != notViable) {
			t.Errorf("mutant %d is woven in: %v", i, woven)
		}
		for _, p := range []*room{p, built} {
			if got, err := p.try(t.Context(), r.Files[0], m, tmp); got != want || err != nil {
				t.Errorf("mutant %d: %s, %v; not %s", i, got, err, want)
			}
		}
	}
	var out bytes.Buffer
	if err := attempt(t.Context(), &out, 2, false, []string{name}); err != nil {
		t.Fatal(err)
	}
	if r, err = load(name); err != nil {
		t.Fatal(err)
	}
	if dead, alive := r.judge(); dead != 4 || len(alive) != 1 || alive[0].line != "n += list[i] - 0" || strings.Count(out.String(), "lived") != 1 {
		t.Errorf("%d dead, %v alive\n%s", dead, alive, out.String())
	}
	if b, err := os.ReadFile("room/one/x.go"); err != nil || string(b) != sum {
		t.Errorf("the source is another: %v\n%s", err, b)
	}
}

// TestPass: what has not ended is run once more before it is called a loop, and one
// that ends then has the result of its second run.
func TestPass(t *testing.T) {
	tmp := t.TempDir()
	p := &room{folder: tmp}
	for name, c := range map[string]struct{ script, want string }{
		"ends well":  {"exit 0", lived},
		"fails":      {"exit 1", killed},
		"loops":      {"echo panic: test timed out after 1s; exit 2", timedOut},
		"slow once":  {"[ -e slow ] && exit 0; touch slow; echo panic: test timed out after 1s; exit 2", lived},
		"wrong then": {"[ -e wrong ] && exit 1; touch wrong; echo panic: test timed out after 1s; exit 2", killed},
	} {
		script := write(t, filepath.Join(tmp, name), "#!/bin/sh\n"+c.script+"\n")
		if err := os.Chmod(script, 0o700); err != nil {
			t.Fatal(err)
		}
		if got := p.pass(t.Context(), script, 0, stage{limit: time.Minute}); got != c.want {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
	}
}

// TestPrepare: tests that fail without a mutant say nothing about mutants.
func TestPrepare(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "go.mod", "module m\n\ngo 1.26\n")
	write(t, "room/one/x.go", strings.Replace(sum, "return n, s", "return 1, s", 1))
	write(t, "room/one/x_test.go", sumTest)
	r, err := load(write(t, "room-one.json", list(t, "x.go")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.prepare(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "without a mutant") {
		t.Errorf("tests that fail: %v", err)
	}
}

// TestStages: what took long is run behind all else, and has time for as long as the
// whole took, many times over.
func TestStages(t *testing.T) {
	const out = `--- PASS: TestFast (0.00s)
    --- PASS: TestFast/part (7.00s)
--- PASS: TestLong (1.50s)
--- PASS: FuzzLong (0.50s)
`
	both := stages([]byte(out), 3*time.Second)
	if len(both) != 2 || !slices.Equal(both[0].args, []string{"-test.skip", "^(TestLong|FuzzLong)$"}) || !slices.Equal(both[1].args, []string{"-test.run", "^(TestLong|FuzzLong)$"}) {
		t.Errorf("%+v", both)
	}
	if both[0].limit != patience*time.Second || both[1].limit != patience*3*time.Second {
		t.Errorf("%+v", both)
	}
	one := stages([]byte("--- PASS: TestFast (0.01s)\n"), 10*time.Millisecond)
	if len(one) != 1 || one[0].args != nil || one[0].limit != atLeast {
		t.Errorf("%+v", one)
	}
}
