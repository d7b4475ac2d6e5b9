package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/load"
)

func TestEveryToolGetsTheSame(t *testing.T) {
	s := settings{folder: t.TempDir(), duration: 4 * time.Second, conns: 32, rate: 10_000, whittle: "whittle"}
	tools, err := findTools(t.Context(), s, "127.0.0.1:1234", "127.0.0.1:1235")
	fatal.If(t, err)
	for _, x := range tools {
		for _, a := range append(x.saturated, x.paced...) {
			if strings.Contains(a, "{{") {
				t.Errorf("%s: %q was not filled in", x.name, a)
			}
		}
	}
	for _, name := range []string{"paced.yml", "templated.yml"} {
		p, err := load.ReadPlan(filepath.Join(s.folder, name))
		fatal.If(t, err)
		if p.HTTP.Pool != 32 || p.Phases[0].Planned() != 40_000 {
			t.Errorf("%s: pool %d, %d planned", name, p.HTTP.Pool, p.Phases[0].Planned())
		}
	}
}
