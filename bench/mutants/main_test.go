package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRun: each survivor needs its argument, each argument its survivor, and enough
// has to be killed.
func TestRun(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	write := func(name, text string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	write("room/one/x.go", "package one\n\n\tif a < b {\n\tif c < d {\n\tcase e < f:\n")
	mutations := func(statuses ...string) string {
		list := make([]string, len(statuses))
		for i, s := range statuses {
			list[i] = `{"type":"BOUNDARY","status":"` + s + `","line":` + string(rune('3'+i)) + `}`
		}
		return `{"files":[{"file_name":"x.go","mutations":[` + strings.Join(list, ",") + `]}]}`
	}
	const first, second = "room/one/x.go BOUNDARY | if a < b { | equal is as good", "room/one/x.go BOUNDARY | if c < d { | nobody sees it"
	for name, c := range map[string]struct {
		report, argued string
		least          float64
		want           string // "" where all is well
	}{
		"all killed":      {mutations("KILLED", "TIMED OUT"), "", 100, ""},
		"argued":          {mutations("LIVED", "KILLED"), "# why\n\n" + first, 50, ""},
		"not argued":      {mutations("LIVED", "KILLED"), "", 50, "not argued for: room/one/x.go BOUNDARY if a < b {"},
		"never run":       {mutations("NOT COVERED", "KILLED"), "", 50, "not argued for: room/one/x.go BOUNDARY if a < b {"},
		"too few":         {mutations("LIVED", "KILLED"), first, 95, "fewer than 95 %"},
		"argued and dead": {mutations("LIVED", "KILLED"), first + "\n" + second, 50, "does not live: room/one/x.go BOUNDARY if c < d {"},
		"in a case":       {mutations("KILLED", "KILLED", "NOT COVERED"), "", 100, ""},
		"lives in a case": {mutations("KILLED", "KILLED", "LIVED"), "", 50, "not argued for: room/one/x.go BOUNDARY case e < f:"},
		"none":            {mutations(), "", 95, "fewer than 95 %"},
		"no argument":     {mutations("KILLED"), "room/one/x.go BOUNDARY | if a < b {", 95, "is not: file KIND"},
		"no report":       {"{", "", 95, "read room-one.json"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := run(&out, c.least, write("argued.txt", c.argued), []string{write("room-one.json", c.report)})
			if (err == nil) != (c.want == "") {
				t.Errorf("%v\n%s", err, out.String())
			}
			if text := out.String(); err != nil && !strings.Contains(text+err.Error(), c.want) {
				t.Errorf("want %q, got %v\n%s", c.want, err, text)
			}
		})
	}
}
