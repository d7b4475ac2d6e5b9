package load

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whittle"
)

func TestWorkloadsAreReadOrRefused(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	yml, body := file("p.yml", small), file("body", "hello")
	const u = "http://h.example/x"
	for _, c := range []struct {
		name string
		w    Workload
		want string // empty: it is read
		code whittle.Code
	}{
		{"a plan", Workload{Plan: yml}, "", 0},
		{"a plan under a rate", Workload{Plan: yml, Rate: 2, Duration: time.Second}, "", 0},
		{"a plan by users", Workload{Plan: yml, Users: 2, Loops: 3}, "", 0},
		{"a URL", Workload{Plan: u}, "", 0},
		{"a URL with a file", Workload{Plan: u, Request: Request{BodyFile: body}}, "", 0},
		{"a rate without an end", Workload{Plan: yml, Rate: 2}, "--rate needs --duration", whittle.Invalid},
		{"a duration of nothing", Workload{Plan: yml, Duration: time.Second}, "go with --users or --rate", whittle.Invalid},
		{"a method of a plan", Workload{Plan: yml, Request: Request{Method: "PUT"}}, "--method goes with a URL", whittle.Invalid},
		{"two bodies", Workload{Plan: u, Request: Request{Body: "x", BodyFile: body}}, "either --body", whittle.Invalid},
		{"no such file", Workload{Plan: u, Request: Request{BodyFile: filepath.Join(dir, "none")}}, "read body", whittle.NotFound},
		{"both models", Workload{Plan: u, Rate: 1, Duration: time.Second, Users: 1}, "either --rate", whittle.Invalid},
		{"a negative rate", Workload{Plan: u, Rate: -1, Duration: time.Second}, "--rate is below 0", whittle.Invalid},
		{"no number", Workload{Plan: u, Rate: math.NaN(), Duration: time.Second}, "--rate is below 0", whittle.Invalid},
		{"an infinite rate", Workload{Plan: yml, Rate: math.Inf(1), Duration: time.Second}, "is above", whittle.Invalid},
		{"negative users", Workload{Plan: yml, Users: -1}, "--users is below 0", whittle.Invalid},
		{"negative loops", Workload{Plan: u, Loops: -1}, "--loops is below 0", whittle.Invalid},
		{"a negative duration", Workload{Plan: u, Rate: 1, Duration: -1}, "--duration is below 0", whittle.Invalid},
		{"a negative ramp", Workload{Plan: u, Users: 1, Ramp: -1}, "--ramp is below 0", whittle.Invalid},
		{"a negative timeout", Workload{Plan: u, Request: Request{Timeout: -1}}, "--timeout is below 0", whittle.Invalid},
	} {
		p, err := c.w.Read()
		if c.want == "" {
			if err != nil || p == nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err == nil || whittle.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
