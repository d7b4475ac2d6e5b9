package jmeter

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/load/plan"
)

// The plugin's own runs gave the times: when each user's first and last request came.
func TestUsersOfASteppingGroupComeAndGoAsByThePlugin(t *testing.T) {
	type users struct {
		n           int
		delay, hold time.Duration
	}
	const s = time.Second
	for _, c := range []struct {
		total, first, step, every, ramp, flight, out, off int
		want                                              []users
	}{
		{total: 2, first: 1, step: 1, every: 1, flight: 2, out: 2, off: 1, want: []users{{1, 0, 3 * s}, {1, s, 2 * s}}},
		{total: 2, first: 1, step: 1, every: 1, flight: 0, out: 1, off: 1, want: []users{{1, 0, s}, {1, s, s}}},
		{total: 3, step: 2, every: 1, ramp: 1, flight: 0, out: 1, off: 1, want: []users{{1, 0, 5 * s / 2}, {1, s / 2, 3 * s}, {1, 2 * s, 5 * s / 2}}},
		{total: 4, step: 4, every: 1, flight: 0, out: 1, off: 1, want: []users{{1, 0, s}, {1, 0, 2 * s}, {1, 0, 3 * s}}}, // the first goes before it has come
		{total: 5, first: 2, step: 2, every: 1, ramp: 1, flight: 1, out: 2, off: 1, want: []users{{2, 0, 11 * s / 2}, {2, 2 * s, 9 * s / 2}, {1, 4 * s, 7 * s / 2}}},
	} {
		var properties strings.Builder
		for name, n := range map[string]int{
			"ThreadGroup.num_threads": c.total, "Start users count burst": c.first, "Start users count": c.step, "Start users period": c.every,
			"rampUp": c.ramp, "flighttime": c.flight, "Stop users count": c.out, "Stop users period": c.off,
		} {
			fmt.Fprintf(&properties, `<stringProp name="%s">%d</stringProp>`, name, n)
		}
		p, err := Parse("p.jmx", []byte(testPlan(`<`+steppingGroup+`>`+properties.String()+`</`+steppingGroup+`><hashTree>`+sampler("/", "")+`</hashTree>`)), plan.Source{})
		fatal.If(t, err)
		var got []users
		for _, g := range p.Groups {
			got = append(got, users{g.Users, g.Delay, g.Duration})
			if !g.Fresh {
				t.Error("its users keep their connections from loop to loop")
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
