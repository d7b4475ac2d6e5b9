package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whittle/load"
)

const root = "../.."

// The published figures are compared with runs of the plans' own files.
func TestAnUnchangedPlanIsSentAsItIs(t *testing.T) {
	s := settings{root: root, folder: t.TempDir()}
	for _, sc := range setups {
		path, err := sc.file(s)
		if err != nil {
			t.Fatal(err)
		}
		if unchanged := path == filepath.Join(root, sc.plan); unchanged != (sc.change == nil) {
			t.Errorf("%s: %s", sc.name, path)
		}
		p, err := load.ReadPlan(path)
		if err != nil {
			t.Fatalf("%s: %v", sc.name, err)
		}
		if n := p.Phases[0].Planned(); n != 200 {
			t.Errorf("%s: %d arrivals, want the published 200", sc.name, n)
		}
		want := 10 * time.Second
		if sc.name == waiting {
			want = 120 * time.Second
		}
		if p.HTTP.Timeout != want {
			t.Errorf("%s: users wait %v, want %v", sc.name, p.HTTP.Timeout, want)
		}
		if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), "times: 1000000\n") != (sc.name == lighter) {
			t.Errorf("%s: other work than the published: %v\n%s", sc.name, err, text)
		}
	}
}

func TestAPlanIsScaledDown(t *testing.T) {
	s := settings{root: root, folder: t.TempDir(), seconds: 3, patience: 2 * time.Second}
	path, err := setups[0].file(s)
	if err != nil {
		t.Fatal(err)
	}
	p, err := load.ReadPlan(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := p.Phases[0].Planned(); n != 60 || p.HTTP.Timeout != 2*time.Second {
		t.Errorf("%d arrivals, a patience of %v", n, p.HTTP.Timeout)
	}
}

// The words carry the figures that they are about.
func TestTheWordsNameBothSides(t *testing.T) {
	done := []*setup{{name: before}, {name: waiting, then: published{median: 16351.4, p99: 32614.5}}, {name: after, then: published{median: 44.3, p99: 54}}}
	done[0].report.Errors = map[string]int64{"timeout": 120}
	done[1].report.Median, done[1].report.CPUPerRequest = 12_000, 180
	done[2].report.Median, done[2].report.CPUPerRequest = 20, 9
	text := strings.Join(words(done), "\n")
	for _, want := range []string{"120 requests timed out", "median 16.4 s", "median 12.0 s", "600 times lower; as published, 369 times", "20 times less"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
