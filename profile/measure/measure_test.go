package measure

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"whittle"
	loaded "whittle/load/report"
	"whittle/profile"
	"whittle/profile/collect"
	"whittle/profile/guard"
)

// A profile of a part of the time had a part of its requests.
func TestPortion(t *testing.T) {
	all := map[string]int64{"POST /Count": 100, "GET /": 3}
	for _, c := range []struct {
		part time.Duration
		want map[string]int64
	}{
		{9 * time.Second, map[string]int64{"POST /Count": 90, "GET /": 3}},
		{5 * time.Second, map[string]int64{"POST /Count": 50, "GET /": 2}},
		{10 * time.Second, all},
		{11 * time.Second, all},
		{0, all},
	} {
		if got := portion(all, c.part, 10*time.Second); !maps.Equal(got, c.want) {
			t.Errorf("%s of 10 s: %v, want %v", c.part, got, c.want)
		}
	}
}

func TestTheGuardTakesAgainWhatHasNoProfile(t *testing.T) {
	s, calls := &subject{target: "7", got: &Measured{}}, 0
	runs, err := guard.Take(1, func(int) (guard.Run, error) {
		if calls++; calls == 1 {
			return guard.Run{}, fmt.Errorf("measure: %w", s.loaded(&loaded.Report{}))
		}
		return guard.Run{Requests: 5}, nil
	})
	if err != nil || calls != 2 || len(runs) != 1 || runs[0].Requests != 5 {
		t.Errorf("after %d calls %+v, %v", calls, runs, err)
	}
	if said, ok := errors.AsType[*whittle.Error](s.loaded(&loaded.Report{})); !ok || said.Code != whittle.FailedPrecondition || said.Hint == "" {
		t.Errorf("it says %+v", said)
	}
}

// Of a cluster's first process, which serves nothing itself, the report says so.
func TestWhoServesForACluster(t *testing.T) {
	m := &Measured{
		Taken:   []*collect.Collected{{Profile: &profile.Profile{Kind: profile.CPU, Runtime: profile.Node}}},
		Workers: []int{11, 12, 13, 14, 15},
	}
	if all := m.Report().Warnings; !slices.ContainsFunc(all, func(w string) bool { return strings.Contains(w, "(11, 12, 13, 14, …)") }) {
		t.Errorf("it says %q", all)
	}
}
