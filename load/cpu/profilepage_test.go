package cpu

import (
	"context"
	"strings"
	"testing"
	"time"
)

// A profile that fails now and then leaves a gap, which the others fill.
func TestGapsBetweenProfilesAreFilled(t *testing.T) {
	p := &profilePage{began: time.Now().Add(-4 * time.Second), sum: time.Second, profiled: 2 * time.Second, wall: 4 * time.Second}
	p.add(nil, context.DeadlineExceeded)
	if d, gone := p.Used(); d != 2*time.Second || !gone {
		t.Errorf("%v, gone %v: half of the time was profiled, and cost a second", d, gone)
	}
	if note := p.Note(); !strings.Contains(note, "of 100 samples: right to about 20 %") {
		t.Error(note)
	}
}

func TestWhichURLsAreProfiles(t *testing.T) {
	for u, want := range map[string]bool{
		"http://h:6060/debug/pprof": true, "http://h/debug/pprof/": true, "http://h/debug/pprof/profile?seconds=30": true,
		"http://h/metrics": false, "http://h/debug/pprofile": false, "http://h": false, "%": false,
	} {
		if IsProfileURL(u) != want {
			t.Errorf("%s: %v", u, !want)
		}
	}
}
